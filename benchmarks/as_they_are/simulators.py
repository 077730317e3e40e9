"""Simulators of the package index in their natural units, which this project did not write; a few lines make each a function of a box.

A simulator that is a sum (of folds, scenarios, seeds, months) has components: f(x, i), whose mean is minimised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Component = Callable[[np.ndarray, int], float]


@dataclass(frozen=True)
class Given:
    """A function of a box: its components, how many, and the sides in the units of the package."""

    component: Component
    n: int
    lower: Any
    upper: Any
    x0: Any = None


def wind_farm() -> Given:
    """PyWake: places of four turbines in a field of 1.2 by 1.2 km, minus the mean power over a wind rose in MW."""
    from py_wake.deficit_models.noj import NOJ
    from py_wake.examples.data.hornsrev1 import V80, Hornsrev1Site

    farm = NOJ(Hornsrev1Site(), V80())
    directions = np.arange(0.0, 360.0, 30.0)

    def component(x: np.ndarray, i: int) -> float:
        power = farm(x[:4], x[4:], wd=directions, ws=[9.0]).Power.values
        return -float(power.sum(axis=0).mean()) / 1e6

    return Given(
        component, 1, np.zeros(8), np.full(8, 1200.0), np.linspace(200.0, 1000.0, 8)[[0, 2, 5, 7, 1, 6, 3, 4]]
    )


def inventory() -> Given:
    """stockpyl: base-stock levels of a serial system of three stages, mean cost of 8 periods over two demand seeds."""
    from stockpyl.sim import simulation
    from stockpyl.supply_chain_network import serial_system

    def component(x: np.ndarray, i: int) -> float:
        network = serial_system(
            3, node_order_in_system=[3, 2, 1], local_holding_cost=[2, 4, 7], shipment_lead_time=[2, 1, 1],
            stockout_cost=[0, 0, 40], demand_type="N", mean=5, standard_deviation=1, policy_type="BS",
            base_stock_level=[float(v) for v in x],
        )  # fmt: skip
        return float(simulation(network, 8, rand_seed=i, progress_bar=False)) / 8

    return Given(component, 2, [0.0, 0.0, 0.0], [40.0, 30.0, 30.0])


def queue() -> Given:
    """Ciw: rates of three service stations in series that share a cost for speed; mean waits over four seeds."""
    import ciw

    def component(x: np.ndarray, i: int) -> float:
        network = ciw.create_network(
            arrival_distributions=[ciw.dists.Exponential(1.0), None, None],
            service_distributions=[ciw.dists.Exponential(float(rate)) for rate in x],
            routing=[[0.0, 1.0, 0.0], [0.0, 0.0, 0.7], [0.1, 0.0, 0.0]],
            number_of_servers=[1, 1, 1],
        )
        ciw.seed(i)
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(40)
        records = simulation.get_all_records()
        return float(np.mean([r.waiting_time + r.service_time for r in records])) + 0.6 * float(x.sum())

    return Given(component, 4, [1.05, 0.8, 0.8], [8.0, 8.0, 8.0])


def combustion() -> Given:
    """Cantera: equivalence ratio, inlet temperature, pressure and dilution of burnt methane: temperature off 2100 K, NO and CO."""
    import cantera

    gas = cantera.Solution("gri30.yaml")

    def component(x: np.ndarray, i: int) -> float:
        ratio, temperature, pressure, dilution = x
        gas.set_equivalence_ratio(ratio, "CH4", f"O2:1, N2:3.76, AR:{dilution}")
        gas.TP = temperature, pressure
        gas.equilibrate("HP")
        return ((gas.T - 2100.0) / 100.0) ** 2 + 200.0 * float(gas["NO"].X[0]) + 50.0 * float(gas["CO"].X[0])

    return Given(component, 1, [0.5, 300.0, 1e5, 0.0], [1.5, 900.0, 3e6, 4.0])


def pendulum() -> Given:
    """Gymnasium: a policy of five numbers that swings a pendulum up and balances it, from four starts."""
    import gymnasium

    environment = gymnasium.make("Pendulum-v1").unwrapped

    def component(x: np.ndarray, i: int) -> float:
        observation, _ = environment.reset(seed=i)
        total = 0.0
        for _ in range(120):
            c, s, v = observation
            energy = 0.5 * v * v + 10.0 * (c - 1.0)
            near = c > x[4]
            push = -x[0] * s - x[1] * v if near else -x[2] * v * energy - x[3] * v
            observation, reward, *_ = environment.step(np.array([np.clip(push, -2.0, 2.0)]))
            total -= reward
        return total / 120

    return Given(component, 4, [0.0, 0.0, -1.0, -1.0, -1.0], [30.0, 10.0, 1.0, 1.0, 1.0])


def folds() -> Given:
    """scikit-learn: log10 C, log10 gamma and epsilon of a support vector regression on diabetes, mean squared errors of five folds."""
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import KFold
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    X, y = load_diabetes(return_X_y=True)
    X, parts = (
        StandardScaler().fit_transform(X)[:150],
        list(KFold(5, shuffle=True, random_state=0).split(X[:150])),
    )

    def component(x: np.ndarray, i: int) -> float:
        train, test = parts[i]
        fitted = SVR(C=10.0 ** x[0], gamma=10.0 ** x[1], epsilon=x[2]).fit(X[train], y[train])
        return float(np.mean((fitted.predict(X[test]) - y[test]) ** 2))

    return Given(component, 5, [-2.0, -4.0, 0.1], [4.0, 1.0, 60.0])


def boosting() -> Given:
    """scikit-learn: learning rate, l2 regularisation, leaves and rows in a leaf of gradient boosting, log loss of three folds."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.metrics import log_loss
    from sklearn.model_selection import KFold

    X, y = load_breast_cancer(return_X_y=True)
    parts = list(KFold(3, shuffle=True, random_state=0).split(X[:120]))

    def component(x: np.ndarray, i: int) -> float:
        train, test = parts[i]
        model = GradientBoostingClassifier(
            n_estimators=6, learning_rate=float(x[0]), subsample=float(x[1]), min_weight_fraction_leaf=float(x[2]),
            max_features=float(x[3]), random_state=0,
        ).fit(X[train], y[train])  # fmt: skip
        return float(log_loss(y[test], model.predict_proba(X[test]), labels=[0, 1]))

    return Given(component, 3, [0.01, 0.3, 0.0, 0.1], [1.0, 1.0, 0.4, 1.0])


def heat_pump() -> Given:
    """CoolProp: evaporation and condensation temperature, superheat and subcooling of R134a: power for 10 kW and the size of exchangers.

    Two-phase states raise: a hidden constraint.
    """
    from CoolProp.CoolProp import PropsSI

    def component(x: np.ndarray, i: int) -> float:
        cold, hot, superheat, subcooling = x
        low, high = (PropsSI("P", "T", T, "Q", 1, "R134a") for T in (cold, hot))
        h1 = PropsSI("H", "T", cold + superheat, "P", low, "R134a")
        s1 = PropsSI("S", "T", cold + superheat, "P", low, "R134a")
        h2 = h1 + (PropsSI("H", "S", s1, "P", high, "R134a") - h1) / 0.7
        h3 = PropsSI("H", "T", hot - subcooling, "P", high, "R134a")
        if hot <= 308.0 or cold >= 275.0:
            raise ValueError("no heat flows that way")
        power = 10e3 * (h2 - h1) / (h2 - h3)
        area = (
            10e3 / (hot - 308.0) + 8e3 / (275.0 - cold) + 200.0 * superheat / 5.0 + 300.0 * subcooling / 5.0
        )
        return power / 1e3 + area / 1e3

    return Given(component, 1, [245.0, 300.0, 0.5, 0.5], [280.0, 360.0, 20.0, 20.0], [255.0, 335.0, 8.0, 8.0])


def solar() -> Given:
    """pvlib: tilt, azimuth, spacing and inverter of a photovoltaic row under a clear sky, cost minus yield over six days."""
    import pandas
    import pvlib

    place = pvlib.location.Location(47.4, 8.5, "Etc/GMT-1", 400)
    days = [
        pandas.date_range(f"2023-{m + 1:02d}-15", periods=48, freq="30min", tz="Etc/GMT-1")
        for m in range(0, 12, 2)
    ]
    tables = [(place.get_solarposition(day), place.get_clearsky(day)) for day in days]
    skies = [tuple({name: table[name].to_numpy() for name in table} for table in both) for both in tables]

    def component(x: np.ndarray, i: int) -> float:
        tilt, azimuth, ratio, inverter = x
        sun, sky = skies[i]
        total = pvlib.irradiance.get_total_irradiance(
            tilt, azimuth, sun["apparent_zenith"], sun["azimuth"], sky["dni"], sky["ghi"], sky["dhi"]
        )["poa_global"]
        shade = np.asarray(pvlib.shading.masking_angle(tilt, ratio, 0.5))
        seen = np.where(sun["apparent_elevation"] > shade, total, 0.3 * total)
        power = np.minimum(np.nan_to_num(seen) * 10.0, inverter)
        price = np.interp(np.arange(48), [0, 14, 24, 36, 47], [0.1, 0.3, 0.08, 0.35, 0.1])
        return float(-(power * price).sum() / 1e3 + 2e-4 * inverter + 6.0 / ratio * 0.2)

    return Given(component, 6, [0.0, 90.0, 0.1, 500.0], [80.0, 270.0, 0.8, 12e3])


def plate() -> Given:
    """scikit-fem: conductivities of six strips of a heated plate, mean temperature and the price of metal."""
    import skfem
    from skfem.helpers import dot, grad

    basis = skfem.Basis(skfem.MeshTri().refined(3), skfem.ElementTriP1())
    boundary = basis.get_dofs(lambda p: p[0] < 1e-9)

    def component(x: np.ndarray, i: int) -> float:
        @skfem.BilinearForm
        def a(u: Any, v: Any, w: Any) -> Any:
            return x[np.minimum((w.x[1] * 6).astype(int), 5)] * dot(grad(u), grad(v))

        @skfem.LinearForm
        def load(v: Any, w: Any) -> Any:
            return (1.0 + 4.0 * (w.x[1] > 0.6)) * v

        u = skfem.solve(*skfem.condense(a.assemble(basis), load.assemble(basis), D=boundary))
        return float(100 * u.mean() + 0.02 * x.sum())

    return Given(component, 1, np.full(6, 1.0), np.full(6, 400.0))


def orbit() -> Given:
    """REBOUND: start and speed of a probe that shall pass a second planet: closest approach and fuel."""
    import rebound

    def component(x: np.ndarray, i: int) -> float:
        simulation = rebound.Simulation()
        simulation.integrator = "whfast"
        simulation.dt = 0.05
        simulation.add(m=1.0)
        simulation.add(m=1e-3, a=1.6, f=float(x[2]))
        simulation.add(m=0.0, x=1.0, y=0.0, vx=float(x[0]), vy=float(x[1]))
        simulation.move_to_com()
        least = np.inf
        for t in np.linspace(0.1, 9.0, 60):
            simulation.integrate(float(t), exact_finish_time=0)
            p, q = simulation.particles[1], simulation.particles[2]
            least = min(least, (p.x - q.x) ** 2 + (p.y - q.y) ** 2)
        return float(np.sqrt(least) + 0.3 * np.hypot(x[0], x[1] - 1.0))

    return Given(component, 1, [-0.6, 0.7, -3.0], [0.6, 1.5, 3.0])


def portfolio() -> Given:
    """skfolio: weights of eight shares (scaled to 1), conditional value at risk of daily losses minus half the mean, in per mille."""
    from skfolio.datasets import load_sp500_dataset
    from skfolio.preprocessing import prices_to_returns

    R = 1e3 * prices_to_returns(load_sp500_dataset())[-500:].to_numpy()[:, :8]

    def component(x: np.ndarray, i: int) -> float:
        returns = R @ (x / x.sum())
        return float(-np.sort(returns)[:25].mean() - 0.5 * returns.mean())

    return Given(component, 1, np.full(8, 0.01), np.ones(8))


def battery() -> Given:
    """PyBaMM: a single particle model fitted to its own discharge: two diffusivities and a capacity in their units."""
    import pybamm

    pybamm.set_logging_level("ERROR")
    model = pybamm.lithium_ion.SPM()
    values = model.default_parameter_values
    names = [
        "Negative particle diffusivity [m2.s-1]",
        "Positive particle diffusivity [m2.s-1]",
        "Nominal cell capacity [A.h]",
    ]
    truth = np.array([3.3e-14, 4.0e-15, 0.68])
    values.update(dict.fromkeys(names[:2], "[input]"))
    values.update({"Current function [A]": "[input]"})
    simulation = pybamm.Simulation(model, parameter_values=values)
    times = np.linspace(0, 1800, 40)

    def curve(x: np.ndarray) -> np.ndarray:
        inputs = dict(zip(names[:2], map(float, x[:2]), strict=True)) | {"Current function [A]": float(x[2])}
        return np.asarray(simulation.solve(times, inputs=inputs)["Terminal voltage [V]"](times))

    measured = curve(truth)

    def component(x: np.ndarray, i: int) -> float:
        return 1e3 * float(np.sqrt(np.mean((curve(x) - measured) ** 2)))

    return Given(component, 1, [5e-15, 1e-15, 0.3], [1e-13, 2e-14, 1.0])


SIMULATORS: dict[str, Callable[[], Given]] = {
    "wind farm (PyWake)": wind_farm, "inventory (stockpyl)": inventory, "queue (Ciw)": queue,
    "combustion (Cantera)": combustion, "pendulum (Gymnasium)": pendulum, "SVR over folds (scikit-learn)": folds,
    "boosting over folds (scikit-learn)": boosting, "heat pump (CoolProp)": heat_pump, "solar row (pvlib)": solar,
    "plate (scikit-fem)": plate, "orbit (REBOUND)": orbit, "portfolio (skfolio)": portfolio, "battery (PyBaMM)": battery,
}  # fmt: skip
