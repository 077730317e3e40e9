"""Each method of the group against its transcription, its formula of queries, and the settings it must refuse."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import transcriptions_a as paper

import zofw
from zofw.algorithms import (
    ZOFW,
    ZOSFW,
    ZSCG,
    ZSFWDVR,
    AcceleratedZSCG,
    AccSZOFW,
    AccSZOFWStar,
    FWBlack,
    ZOSFWNonconvex,
    as_algorithm,
)
from zofw.algorithms.accelerated_zscg import Triangular, icg
from zofw.algorithms.horizon import Scaled, constant_step, horizon
from zofw.core import Stencil, Task
from zofw.directions import Coordinate, Gaussian, Orthogonal, Rademacher, Sphere
from zofw.problems import BlackBox, evaluate
from zofw.schedules import Constant, Power

D, N, T = 12, 9, 24

SETS: dict[str, tuple[Any, type[paper.World]]] = {
    "l1": (zofw.L1Ball(2.0), paper.OnL1),
    "l2": (zofw.L2Ball(1.5), paper.OnL2),
    "simplex": (zofw.Simplex(), paper.OnSimplex),
    "nuclear": (zofw.NuclearBall(2.0, (3, 4)), paper.OnNuclear),
}


def logistic() -> Callable[[np.ndarray, int], float]:
    """f_i(x) = log(1 + exp(−y_i⟨a_i, x⟩)) + ‖x − c_i‖²/20."""
    rng = np.random.default_rng(5)
    A, C, y = rng.standard_normal((N, D)), rng.standard_normal((N, D)), rng.choice([-1.0, 1.0], N)

    def component(x: np.ndarray, i: int) -> float:
        return float(np.log1p(np.exp(-y[i] * (A[i] @ x))) + 0.05 * ((x - C[i]) ** 2).sum())

    return component


@dataclass(frozen=True)
class Case:
    """Settings, their transcription, and the closed formula of queries for iteration t (with what it was told)."""

    method: Any
    box: Callable[[paper.World, np.ndarray], Iterator[np.ndarray]]
    queries: Callable[[int, dict[str, float]], int]


def dvr(p: float, S: int, b: int, law: Any, start: str, stencil: Stencil) -> Case:
    gamma, mu = Power(1.0, 1.0, cap=1.0), Power(1e-2, 3.0, 0.5)
    settings = ZSFWDVR(S, b, p, gamma, mu, law, start, stencil)
    central = stencil is Stencil.CENTRAL
    first = D if start == "coordinate" else b

    def queries(t: int, info: dict[str, float]) -> int:
        if t == 0:
            return N * (2 * first if central else first + 1)
        if info["refresh"]:
            return N * (2 * b if central else b + 1)
        return S * (4 * b if central else 2 * (b + 1))

    return Case(
        settings,
        lambda w, x: paper.zsfw_dvr(w, x, law, S, b, p, gamma, mu, start=start, scheme=stencil.value),
        queries,
    )


def dvr_constants(settings: ZSFWDVR) -> Case:
    S, b, p = settings.batch_size, settings.directions, settings.refresh_probability
    gamma, mu = settings.step_size, settings.radius
    schedule = mu if callable(mu) else lambda t: mu
    return Case(
        settings,
        lambda w, x: paper.zsfw_dvr(
            w, x, Gaussian(), S, b, p, gamma, schedule, start="paper", scheme="central"
        ),
        lambda t, info: 2 * N * b if info["refresh"] else 4 * S * b,
    )


def sahu(scheme: Any, m: int, S: int, T: int | None = None) -> Case:
    law = Coordinate() if scheme == "kwsa" else Gaussian()
    count = {"kwsa": D, "rdsa": 1, "i-rdsa": m}[scheme]
    if T is None:
        method: Any = ZOSFW.paper(scheme, D, directions=m, batch_size=S)
    else:
        method = ZOSFWNonconvex.paper(D, T, directions=m, batch_size=S)
    return Case(
        method, lambda w, x: paper.zo_sfw(w, x, law, scheme, m, S, T), lambda t, info: S * (count + 1)
    )


def acc(kind: Any, q: int, b2: int, b1: int | None) -> Case:
    each = 2 * D if kind == "cooge" else 2
    return Case(
        AccSZOFW.paper(D, T, n=N, estimator=kind, epoch=q, batch_size=b2, epoch_batch=b1),
        lambda w, x: paper.acc_szofw(w, x, Sphere(), kind, T, q, b2, b1),
        lambda t, info: each * (b1 or N) if t % q == 0 else 2 * each * b2,
    )


def star(kind: Any, S: int) -> Case:
    each = 2 * D if kind == "cooge" else 2
    return Case(
        AccSZOFWStar.paper(D, T, estimator=kind, batch_size=S),
        lambda w, x: paper.acc_szofw_star(w, x, Sphere(), kind, T, S),
        lambda t, info: each * S * (1 if t == 0 else 2),
    )


def black(option: Any, start: Any) -> Case:
    law = Sphere() if option == "I" else Gaussian()
    return Case(
        FWBlack.paper(D, momentum=0.9, option=option, directions=4, initial=start),
        lambda w, x: paper.fw_black(w, x, law, 4, 0.9, 0.01, option, start),
        lambda t, info: 2 * N * 4 * (2 if t == 0 and start == "estimate" else 1),
    )


CASES: dict[str, Case] = {
    "zsfw-dvr": dvr(0.4, 3, 5, Gaussian(), "paper", Stencil.CENTRAL),
    "zsfw-dvr p=1": dvr(1.0, 1, 4, Gaussian(), "shrunk", Stencil.CENTRAL),
    "zsfw-dvr signs, forward": dvr(0.3, 2, 5, Rademacher(), "shrunk", Stencil.FORWARD),
    "zsfw-dvr orthogonal, coordinate": dvr(0.3, 4, 3, Orthogonal(), "coordinate", Stencil.FORWARD),
    "zsfw-dvr experiments": dvr_constants(ZSFWDVR.paper(3, 4, 0.25, 2.0, radius=1e-3)),
    "zsfw-dvr attack": dvr_constants(ZSFWDVR.paper(3, 4, 0.25, 0.1, constant=True, radius=1e-3)),
    "zsfw-dvr theorem 1": dvr_constants(
        ZSFWDVR.convex(
            D, 3.0, batch_size=2, directions=11, refresh_probability=0.9, iterations=T, L=1, L_hat=2
        )
    ),
    "zsfw-dvr theorem 2": dvr_constants(
        ZSFWDVR.nonconvex(D, 3.0, batch_size=3, directions=4, refresh_probability=0.5, iterations=T)
    ),
    "zo-fw": Case(ZOFW.paper(D, 0.7), lambda w, x: paper.zo_fw(w, x, 0.7), lambda t, info: N * (D + 1)),
    "zo-sfw kwsa": sahu("kwsa", 1, 2),
    "zo-sfw rdsa": sahu("rdsa", 1, 1),
    "zo-sfw i-rdsa": sahu("i-rdsa", 5, 3),
    "zo-sfw-nonconvex": sahu("i-rdsa", 5, 2, T),
    "acc-szofw cooge": acc("cooge", 5, 3, None),
    "acc-szofw cooge, stochastic": acc("cooge", 4, 2, 7),
    "acc-szofw unige": acc("unige", 5, 3, None),
    "acc-szofw unige, stochastic": acc("unige", 4, 6, 11),
    "acc-szofw-star cooge": star("cooge", 2),
    "acc-szofw-star unige": star("unige", 6),
    "zscg convex": Case(
        ZSCG.paper(D, T, convex=True, B=1.5, batch_size=11),
        lambda w, x: paper.zscg(w, x, Gaussian(), T, 11, 1.5, convex=True),
        lambda t, info: 22,
    ),
    "zscg non-convex": Case(
        ZSCG.paper(D, T, convex=False, batch_size=13),
        lambda w, x: paper.zscg(w, x, Gaussian(), T, 13, 1.0, convex=False),
        lambda t, info: 26,
    ),
    "zscg-accelerated": Case(
        AcceleratedZSCG.paper(D, T, L=0.8, distance=4.0, batch_size=Triangular(0.13)),
        lambda w, x: paper.zscg_accelerated(
            w, x, Gaussian(), T, lambda k: math.ceil(0.13 * k * (k + 1)), 0.8, 4.0
        ),
        lambda t, info: 2 * math.ceil(0.13 * (t + 1) * (t + 2)),
    ),
    "fw-black I": black("I", "estimate"),
    "fw-black II": black("II", "zero"),
}


@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize("name", CASES)
def test_first_iterations_equal_the_paper(name: str, where: str) -> None:
    case, (region, world_type) = CASES[name], SETS[where]
    component = logistic()
    problem = BlackBox(component, dim=D, n=N)
    session = zofw.Session(region, dim=D, n=N, method=case.method, max_iter=T, rng=11, diagnose=0)
    world = world_type(component, N, D, session.run.entropy)
    box = case.box(world, region.initial_point(D))
    seen = {"iterations": 0, "queries": 0, "lmos": 0}

    def compare(session: zofw.Session) -> None:
        spent, calls = session.nfev - seen["queries"], session.nlmo - seen["lmos"]
        before = (world.queries, world.lmos)
        expected = next(box)
        t = seen["iterations"]
        np.testing.assert_allclose(session.x, expected, rtol=1e-9, atol=1e-10, err_msg=f"iteration {t}")
        assert (spent, calls) == (world.queries - before[0], world.lmos - before[1])
        assert spent == case.queries(t, session.info.columns())
        assert calls == 1 or "accelerated" in name
        assert region.contains(session.x)
        seen.update(iterations=t + 1, queries=session.nfev, lmos=session.nlmo)

    session.observers.append(compare)
    while (query := session.ask()) is not None:
        session.tell(query, evaluate(problem, query))
    assert seen["iterations"] == T


def test_both_branches_and_both_phases_were_compared() -> None:
    draws = [refresh_coin(t) for t in range(T)]
    assert any(draws) and not all(draws)
    theorem = CASES["zsfw-dvr theorem 1"].method.step_size
    assert theorem(0) == theorem(T // 2 - 1) > theorem(T - 1)


def refresh_coin(t: int) -> bool:
    """The refresh coin of iteration t in the comparison above."""
    rng = paper.World(logistic(), N, D, (11,)).rng(t)
    Gaussian().draw(rng, D, 5)
    return bool(rng.random() < 0.4)


# ------------------------------------------------------------------------------------------------------ the constants


def test_theorem_1_schedules() -> None:
    p, b, S, R, L, L_hat, steps = 0.5, 4, 2, 3.0, 1.5, 2.5, 900
    method = ZSFWDVR.convex(
        D, R, batch_size=S, directions=b, refresh_probability=p, iterations=steps, L=L, L_hat=L_hat
    )
    a = 8 * (D + b + 1) / (p * b)
    assert steps > a
    for t in (0, 449):
        assert method.step_size(t) == pytest.approx(1 / a)
    for t in (450, 451, 899):
        assert method.step_size(t) == pytest.approx(2 / (2 * a + t - 450))
    for t in (0, 600):
        expected = math.sqrt(p / S + 4 * p * L**2 / L_hat**2) * R * method.step_size(t) / (D + 6) ** 1.5
        assert method.radius(t) == pytest.approx(expected)
    short = ZSFWDVR.convex(
        D, R, batch_size=S, directions=b, refresh_probability=p, iterations=int(a), L=L, L_hat=L_hat
    )
    assert short.step_size(int(a) - 1) == pytest.approx(1 / a)


def test_radius_floor_replaces_what_rounding_would_spoil() -> None:
    method = ZSFWDVR.nonconvex(
        10**5,
        1.0,
        batch_size=10,
        directions=10,
        refresh_probability=0.01,
        iterations=10**4,
        least_radius=1e-6,
    )
    assert method.radius == 1e-6


def test_theory_batches() -> None:
    assert ZSCG.paper(D, 10, convex=True, B=2.0).batch_size == 2 * 2 * (D + 5) * 100
    assert ZSCG.paper(D, 10, convex=False).batch_size == 2 * (D + 5) * 10
    assert AcceleratedZSCG.paper(D, 10, L=1, distance=4.0).batch_size(2) == 3 * 4 / 4 * (D + 5) * 10
    stochastic = AccSZOFW.paper(D, 100)
    assert (stochastic.epoch_batch, stochastic.batch_size, stochastic.epoch) == (100, 10, 10)
    finite = AccSZOFW.paper(D, 100, n=50)
    assert (finite.epoch_batch, finite.batch_size, finite.epoch) == (None, 8, 8)
    theory = FWBlack.theory(D, 2.0, iterations=100, L=1.5, initial_gap=0.5, momentum=0.5)
    assert theory.directions == 100 * D
    assert theory.step_size(0) == pytest.approx(math.sqrt(0.5 / (5 * 1.5 * 4 * 100)))
    assert theory.radius == pytest.approx(1 / (D * 10) / math.sqrt(D))


def test_kwsa_begins_with_the_estimate_itself() -> None:
    assert ZOSFW.paper("kwsa", D).averaging(0) == 1.0


# ---------------------------------------------------------------------------------------------------------- horizons


@pytest.mark.parametrize("budget", [1, 10, 11, 12, 13, 22, 100, 101, 1000])
@pytest.mark.parametrize(("first", "rest", "period"), [(10, 2, 4), (3, 5, 2), (7, 7, 1)])
def test_horizon_counts_iterations(budget: int, first: int, rest: int, period: int) -> None:
    left, count = budget, 0
    while left >= (cost := first if count % period == 0 else rest):
        left, count = left - cost, count + 1
    assert horizon(Task(None, 3, 5, budget), first, rest, period) == max(1, count)


def test_horizon_without_a_budget() -> None:
    assert horizon(Task(None, 3, 5, None, 40), 10) == 40
    assert horizon(Task(None, 3, 5, 1000, 40), 10) == 40
    assert horizon(Task(None, 3, 5), 10) is None
    assert constant_step(None, 0.5)[0] == Power(1.0, 1.0, 0.5)
    assert constant_step(100, 0.5)[0] == Constant(0.1)


@pytest.mark.parametrize(
    ("method", "exponent"), [("acc-szofw", 0.5), ("acc-szofw-star", 2 / 3), ("zo-sfw-nonconvex", 0.75)]
)
def test_step_follows_the_budget(method: str, exponent: float) -> None:
    steps = []
    for budget in (10_000, 40_000):
        session = zofw.Session(zofw.L1Ball(1.0), dim=D, n=N, method=method, budget=budget, rng=0, diagnose=0)
        problem = BlackBox(logistic(), dim=D, n=N)
        steps.append(session.run.method.step_size(0))
        assert "step_size" in session.run.reasons
        while session.nit < 30 and (query := session.ask()) is not None:
            session.tell(query, evaluate(problem, query))
    assert steps[1] / steps[0] == pytest.approx(4**-exponent, rel=0.02)


def test_scaled_schedule() -> None:
    schedule = Scaled(Power(1.0, 1.0), 0.5, 0.2)
    assert [schedule(t) for t in (0, 1, 9)] == [0.5, 0.25, 0.2]


# ---------------------------------------------------------------------------------------------------------------- ICG


@pytest.mark.parametrize("where", SETS)
def test_icg_solves_the_proximal_step(where: str) -> None:
    region = SETS[where][0]
    task = Task(region, D)
    rng = np.random.default_rng(2)
    x, g, gamma, mu = region.lmo(rng.standard_normal(D)), rng.standard_normal(D), 1.3, 1e-3
    u = icg(task, x, g, gamma, mu)
    exact = region.project(x - g / gamma)
    assert region.contains(u)
    # strong convexity: the gap bounds the distance, γ‖u − u*‖² ≤ gap ≤ μ
    assert gamma * float(((u - exact) ** 2).sum()) <= mu
    assert task.lmos <= 7 * gamma * region.diameter(D) ** 2 / mu + 1


def test_icg_stops_where_rounding_hides_the_gap() -> None:
    task = Task(zofw.L2Ball(1.0), 3)
    g = np.array([1e9, -2e9, 3e9])
    u = icg(task, np.zeros(3), g, 1e-2, 1e-9)
    np.testing.assert_allclose(u, -g / np.linalg.norm(g), rtol=1e-6)


# ----------------------------------------------------------------------------------------------------------- settings

NAMES = (
    "zsfw-dvr",
    "zo-fw",
    "zo-sfw",
    "zo-sfw-nonconvex",
    "acc-szofw",
    "acc-szofw-star",
    "zscg",
    "zscg-accelerated",
    "fw-black",
)


@pytest.mark.parametrize("name", NAMES)
def test_defaults_descend_within_the_budget(name: str) -> None:
    problem = BlackBox(logistic(), dim=D, n=N)
    region = zofw.L2Ball(1.5)
    result = zofw.minimize(problem, region, method=name, budget=4_000, rng=3)
    again = zofw.minimize(problem, region, method=name, budget=4_000, rng=3)
    start = zofw.problems.mean_value(problem, np.zeros(D))
    assert result.nfev <= 4_000
    assert region.contains(result.x)
    assert result.fun < start - 0.1
    np.testing.assert_array_equal(result.x, again.x)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_settings_survive_pickle_and_repr(case: Case) -> None:
    assert pickle.loads(pickle.dumps(case.method)) == case.method
    assert type(case.method).__name__ in repr(case.method)


@pytest.mark.parametrize(
    ("method", "word"),
    [
        (ZSFWDVR(refresh_probability=0.0), "refresh_probability"),
        (ZSFWDVR(refresh_probability=1.5), "refresh_probability"),
        (ZSFWDVR(directions=D + 1, law=Orthogonal()), "at most"),
        (ZSFWDVR(step_size=1.5), "step_size"),
        (ZSFWDVR(batch_size=0), "batch_size"),
        (ZSFWDVR(radius=-1.0), "radius"),
        (ZSFWDVR(initial="nothing"), "initial"),
        (ZSFWDVR(stencil=Stencil.VALUE), "stencil"),
        (ZOFW(step_size=Power(2.0, 1.0)), "step_size"),
        (ZOSFW(directions=0), "directions"),
        (ZOSFW(directions=-D), "directions"),
        (ZOSFW(averaging=2.0), "averaging"),
        (ZOSFWNonconvex(step_size=1.1), "step_size"),
        (ZOSFWNonconvex(batch_size=0), "batch_size"),
        (AccSZOFW("gauss"), "estimator"),
        (AccSZOFW(epoch=0), "epoch"),
        (AccSZOFW(epoch_batch=-3), "epoch_batch"),
        (AccSZOFW(batch_size=-2), "batch_size"),
        (AccSZOFW(step_size=0.0), "step_size"),
        (AccSZOFWStar("gauss"), "estimator"),
        (AccSZOFWStar(batch_size=0), "batch_size"),
        (AccSZOFWStar(averaging=0.0), "averaging"),
        (ZSCG(batch_size=0), "batch_size"),
        (ZSCG(batch_size=D + 1, law=Orthogonal()), "at most"),
        (ZSCG(step_size=1.2), "step_size"),
        (AcceleratedZSCG(smoothness=0.0), "smoothness"),
        (AcceleratedZSCG(distance=-1.0), "distance"),
        (AcceleratedZSCG(tolerance=0.0), "tolerance"),
        (FWBlack(momentum=1.0), "momentum"),
        (FWBlack(directions=0), "directions"),
        (FWBlack(step_size=2.0), "step_size"),
        (FWBlack(initial="code"), "initial"),
    ],
)
def test_bad_settings_are_refused_with_a_sentence(method: Any, word: str) -> None:
    with pytest.raises(ValueError, match=word) as refusal:
        as_algorithm(method, Task(zofw.L1Ball(1.0), D, N, 10_000))
    assert str(refusal.value).rstrip().endswith(".")


@pytest.mark.parametrize(
    "build",
    [
        lambda: ZOSFW.paper("spsa", D),
        lambda: ZOSFW.paper("i-rdsa", D, directions=0),
        lambda: FWBlack.paper(D, option="III"),
    ],
)
def test_paper_constructors_refuse_unknown_words(build: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="should be"):
        build()
