"""Problems that are written here: units, noise, steps, walls, many valleys, few components, raw data. A draw is a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.as_they_are.simulators import SIMULATORS, Given

BUDGETS = (10, 30, 100)  # times d + 1
SLOW = {  # whole evaluations that take longer than 20 ms: two budgets
    "wind farm (PyWake)", "inventory (stockpyl)", "queue (Ciw)", "pendulum (Gymnasium)", "SVR over folds (scikit-learn)",
    "boosting over folds (scikit-learn)", "battery (PyBaMM)", "solar row (pvlib)",
}  # fmt: skip


@dataclass
class Problem:
    """A mean of components on a box; ``truth`` has no noise; ``least`` is its minimum, if it is known."""

    name: str
    family: str
    component: Callable[[np.ndarray, int], float]
    n: int
    lower: np.ndarray
    upper: np.ndarray
    x0: np.ndarray
    least: float | None = None
    noise: float = 0.0
    walls: bool = False
    budgets: tuple[int, ...] = BUDGETS

    @property
    def dim(self) -> int:
        return len(self.lower)

    def truth(self, x: np.ndarray) -> float:
        return float(np.mean([self.component(x, i) for i in range(self.n)]))


def real(name: str) -> Problem:
    given: Given = SIMULATORS[name]()
    lower, upper = (np.asarray(side, dtype=float) for side in (given.lower, given.upper))
    x0 = (lower + upper) / 2 if given.x0 is None else np.asarray(given.x0, dtype=float)
    budgets = BUDGETS[:2] if name in SLOW else BUDGETS

    def component(x: np.ndarray, i: int) -> float:
        try:
            value = given.component(x, i)
        except (ValueError, RuntimeError, ArithmeticError):
            return np.inf
        return value if np.isfinite(value) else np.inf

    return Problem(name, "simulators", component, given.n, lower, upper, x0, walls=True, budgets=budgets)


def rotated(rng: np.random.Generator, d: int, condition: float) -> tuple[np.ndarray, np.ndarray]:
    """A quadratic form of a condition number in the unit cube, and its centre."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return Q @ np.diag(np.geomspace(1.0, condition, d)) @ Q.T, rng.uniform(0.2, 0.8, d)


def valley(u: np.ndarray) -> float:
    """Rosenbrock's function on the unit cube, its minimum at 0.75 of every side."""
    y = 4.0 * u - 2.0
    return float((10.0 * (y[1:] - y[:-1] ** 2) ** 2 + (1.0 - y[:-1]) ** 2).sum())


def units(rng: np.random.Generator, d: int, power: int, curved: bool) -> Problem:
    widths = 10.0 ** rng.uniform(-power, power, d)
    lower = widths * rng.uniform(-1.0, 0.0, d)
    H, centre = rotated(rng, d, 10.0)

    def component(x: np.ndarray, i: int) -> float:
        u = (x - lower) / widths
        return valley(u) if curved else float((u - centre) @ H @ (u - centre))

    name = f"{'valley' if curved else 'quadratic'}, sides 10^±{power}, d = {d}"
    return Problem(name, "units", component, 1, lower, lower + widths, lower + 0.37 * widths, 0.0)


def plain(rng: np.random.Generator, d: int, kind: str) -> Problem:
    """Noise, steps and walls on the unit cube."""
    H, centre = rotated(rng, d, 10.0)
    centre = np.full(d, 0.75) if "valley" in kind else centre
    wall, x0 = rng.standard_normal(d), np.full(d, 0.37)
    wall *= np.sign(wall @ (x0 - centre))
    limit = float(wall @ (0.3 * x0 + 0.7 * centre))  # beyond it lies the centre
    sizes = {"noise 1e-3, valley": 1e-3, "noise 1e-2": 1e-2, "noise 0.1": 0.1}

    def component(x: np.ndarray, i: int) -> float:
        value = valley(x) / valley(x0) if "valley" in kind else float((x - centre) @ H @ (x - centre))
        if kind == "steps":
            return float(np.floor(40 * value) / 40)
        if kind == "kinks":
            return float(np.abs(H @ (x - centre)).sum())
        if "wall" in kind and wall @ x < limit:
            return np.inf
        return value

    least = 0.0
    if "wall" in kind:

        def inner(x: np.ndarray) -> float:
            return valley(x) / valley(x0) if "valley" in kind else float((x - centre) @ H @ (x - centre))

        least = reference(inner, d, [{"type": "ineq", "fun": lambda x: wall @ x - limit}], rng)
    family = "noise" if kind in sizes else kind.split(",")[0]
    return Problem(
        f"{kind}, d = {d}",
        family,
        component,
        1,
        np.zeros(d),
        np.ones(d),
        x0,
        least,
        sizes.get(kind, 0.0),
        "wall" in kind,
    )


def reference(
    f: Callable[[np.ndarray], float], d: int, constraints: list[dict[str, object]], rng: np.random.Generator
) -> float:
    """The least value over the unit cube that SLSQP finds from forty points, told the constraint."""
    from scipy.optimize import minimize

    options = {"ftol": 1e-15, "maxiter": 1000}
    starts = rng.random((40, d))
    ends = [
        minimize(f, x, method="SLSQP", bounds=[(0, 1)] * d, constraints=constraints, options=options)
        for x in starts
    ]
    return min(float(end.fun) for end in ends if end.success or end.status in (0, 8))


def coco(number: int, d: int, instance: int) -> Problem:
    import cocoex

    f = cocoex.BareProblem("bbob", number, d, instance)
    least = float(f.best_value())

    return Problem(
        f"COCO f{number}, d = {d}", "valleys" if number > 14 else "COCO", lambda x, i: float(f(x)) - least, 1,
        np.full(d, -5.0), np.full(d, 5.0), np.random.default_rng(instance).uniform(-4, 4, d), 0.0,
    )  # fmt: skip


def few(rng: np.random.Generator, n: int, loss: str) -> Problem:
    d = 8
    Z = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-0.5, 0.5, d)
    target = Z @ rng.uniform(-0.8, 0.8, d) + 0.3 * rng.standard_normal(n)

    def component(x: np.ndarray, i: int) -> float:
        r = float(Z[i] @ x - target[i])
        if loss == "absolute":
            return abs(r)
        if loss == "Cauchy":
            return float(np.log1p(r * r))
        return float(np.logaddexp(0.0, -np.sign(target[i]) * (Z[i] @ x)))

    least = exact(Z, target, loss)
    return Problem(
        f"{loss}, n = {n}", "few components", component, n, -np.ones(d), np.ones(d), np.zeros(d), least
    )


def exact(Z: np.ndarray, target: np.ndarray, loss: str) -> float:
    """The minimum over the box ±1: a linear programme, or L-BFGS-B with gradients from ten points."""
    from scipy.optimize import linprog, minimize

    n, d = Z.shape
    if loss == "absolute":
        cost, eye = np.r_[np.zeros(d), np.full(n, 1 / n)], np.eye(n)
        A, b = np.block([[Z, -eye], [-Z, -eye]]), np.r_[target, -target]
        return float(linprog(cost, A, b, bounds=[(-1, 1)] * d + [(0, None)] * n).fun)

    def value(x: np.ndarray) -> tuple[float, np.ndarray]:
        if loss == "Cauchy":
            r = Z @ x - target
            return float(np.log1p(r * r).mean()), Z.T @ (2 * r / (1 + r * r)) / n
        s = np.sign(target)
        return float(np.logaddexp(0, -s * (Z @ x)).mean()), -(Z.T @ (s / (1 + np.exp(s * (Z @ x))))) / n

    starts = np.random.default_rng(0).uniform(-1, 1, (10, d))
    options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 5000}
    return min(
        float(minimize(value, x, jac=True, method="L-BFGS-B", bounds=[(-1, 1)] * d, options=options).fun)
        for x in starts
    )


def raw(data: str) -> Problem:
    """Raw columns of scikit-learn's data on the box ±5: squares for numbers, logistic for classes."""
    from sklearn import datasets

    Z, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    Z = Z[::4, :10]
    y = (y[::4] - y.mean()) / y.std()

    def component(x: np.ndarray, i: int) -> float:
        return float((Z[i] @ x - y[i]) ** 2)

    d = Z.shape[1]
    from scipy.optimize import lsq_linear

    least = 2 * float(lsq_linear(Z, y, (-5.0, 5.0), tol=1e-14, max_iter=2000).cost) / len(y)
    return Problem(
        f"raw {data}", "raw data", component, len(y), np.full(d, -5.0), np.full(d, 5.0), np.zeros(d), least
    )


@cache
def makers(draw: int) -> dict[str, Callable[[], Problem]]:
    """The problems of a draw by name; simulators and data are the same in every draw."""
    rng = lambda *key: np.random.default_rng([draw, *key])  # noqa: E731
    found: dict[str, Callable[[], Problem]] = {name: (lambda name=name: real(name)) for name in SIMULATORS}
    kinds = ["noise 1e-3, valley", "noise 1e-2", "noise 0.1", "steps", "kinks", "wall", "wall, valley"]
    every: list[Callable[[], Problem]] = [
        *(lambda d=d, p=p, c=c: units(rng(1, d, p, c), d, p, c) for d, p, c in [(5, 3, 0), (5, 3, 1), (10, 3, 0), (5, 5, 0)]),
        *(lambda d=d, k=k: plain(rng(2, d, len(k)), d, k) for k, d in zip(kinds, (5, 10, 5, 5, 10, 5, 5), strict=True)),
        *(lambda f=f: coco(f, 2, 1 + draw) for f in (15, 16, 17, 20, 21, 22, 23, 24)),
        *(lambda f=f: coco(f, 5, 1 + draw) for f in (1, 6, 7, 9)),
        *(lambda n=n, k=k, j=j: few(rng(3, n, j), n, k) for n, (j, k) in
          zip((20, 100, 200), enumerate(("absolute", "Cauchy", "logistic")), strict=True)),
        *(lambda s=s: raw(s) for s in ("diabetes", "wine", "breast_cancer")),
    ]  # fmt: skip
    return found | {f"{k}": one for k, one in enumerate(every)}


def make(draw: int, key: str) -> Problem:
    return makers(draw)[key]()
