"""FZFW, FZCGS, JAGUAR, Sahu-Kar, the rivals that project, and Frank-Wolfe: transcriptions, formulas, refusals."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transcriptions_b as paper
from transcriptions_a import OnL1, OnL2, OnNuclear, OnSimplex, World

import zofw
from zofw.algorithms import (
    FZCGS,
    FZFW,
    JAGUAR,
    SPSA,
    ZOPSGD,
    ZOSVRG,
    ZPDVR,
    FrankWolfe,
    LineSearch,
    OpenLoop,
    SahuKar,
    ShortStep,
    StochasticJAGUAR,
    as_algorithm,
)
from zofw.algorithms.condg import condg
from zofw.core import FirstOrderTask, Stencil, Task
from zofw.directions import Coordinate, Gaussian, Rademacher, Sphere
from zofw.problems import BlackBox, evaluate
from zofw.schedules import Power, open_loop

D, N, T = 12, 9, 24

SETS: dict[str, tuple[Any, type[World]]] = {
    "l1": (zofw.L1Ball(2.0), OnL1),
    "l2": (zofw.L2Ball(1.5), OnL2),
    "simplex": (zofw.Simplex(), OnSimplex),
    "nuclear": (zofw.NuclearBall(2.0, (3, 4)), OnNuclear),
}


def sigmoids() -> Callable[[np.ndarray, int], float]:
    """f_i(x) = tanh(⟨a_i, x⟩ − y_i) + ‖x − c_i‖²/4: smooth and not convex."""
    rng = np.random.default_rng(6)
    A, C, y = rng.standard_normal((N, D)), rng.standard_normal((N, D)), rng.standard_normal(N)

    def component(x: np.ndarray, i: int) -> float:
        return float(np.tanh(A[i] @ x - y[i]) + 0.25 * ((x - C[i]) ** 2).sum())

    return component


@dataclass(frozen=True)
class Case:
    """Settings, their transcription, the closed formula of queries for iteration t, and of LMO calls."""

    method: Any
    box: Callable[[World, np.ndarray], Iterator[np.ndarray]]
    queries: Callable[[int, dict[str, float]], int]
    lmos: int | None = 1


ROOT = 3  # ⌈√N⌉
PAIRS, STEP = 5, open_loop(2.0, 3.0)
MU = 1e-2

CASES: dict[str, Case] = {
    "fzfw": Case(
        FZFW.paper(N, D, 3.0, T),
        lambda w, x: paper.fzfw(w, x, 3.0, T),
        lambda t, info: 2 * N * D if t % ROOT == 0 else 4 * ROOT * D,
    ),
    "fzfw on a small set": Case(
        FZFW.paper(N, D, 0.1, T),
        lambda w, x: paper.fzfw(w, x, 0.1, T),
        lambda t, info: 2 * N * D if t % ROOT == 0 else 4 * ROOT * D,
    ),
    "fzcgs": Case(
        FZCGS.paper(N, D, 1.2, T),
        lambda w, x: paper.fzcgs(w, x, 1.2, T),
        lambda t, info: 2 * N * D if t % ROOT == 0 else 4 * ROOT * D,
        lmos=None,
    ),
    "jaguar": Case(
        JAGUAR.paper(D, radius=MU),
        lambda w, x: paper.jaguar(w, x, Coordinate(), MU),
        lambda t, info: 2 * N * D if t == 0 else 2 * N,
    ),
    "jaguar-stochastic": Case(
        StochasticJAGUAR.paper(D, 4, radius=MU),
        lambda w, x: paper.jaguar_stochastic(
            w,
            x,
            Coordinate(),
            4,
            1,
            MU,
            lambda k: 4 / (k + 8 * D**1.5),
            lambda k: 4 / (k + 8 * D**1.5) ** (2 / 3),
            "coordinate",
        ),
        lambda t, info: 2 * 4 * D + 2 * 4 if t == 0 else 2 * 4,
    ),
    "jaguar-stochastic from zero": Case(
        StochasticJAGUAR(3, 5, STEP, Power(1.0, 2.0, 2 / 3), MU, "zero"),
        lambda w, x: paper.jaguar_stochastic(
            w, x, Coordinate(), 3, 5, MU, STEP, lambda k: 1 / (k + 2) ** (2 / 3), "zero"
        ),
        lambda t, info: 2 * 3 * 5,
    ),
    "sahu-kar": Case(
        SahuKar(PAIRS, 4, STEP, MU),
        lambda w, x: paper.sahu_kar(w, x, Gaussian(), 4, PAIRS, MU, STEP),
        lambda t, info: N * (D + 1) if t % 4 == 0 else 4 * PAIRS,
    ),
    "zo-psgd": Case(
        ZOPSGD.paper(D, 50, 0.1, batch_size=3, directions=4),
        lambda w, x: paper.zo_psgd(w, x, Sphere(), 3, 4, 0.1, 1 / math.sqrt(D * 50)),
        lambda t, info: 3 * (4 + 1),
        lmos=0,
    ),
    "zo-svrg": Case(
        ZOSVRG.paper(D, 1.5, 50, rho=0.06, batch_size=2, directions=3),
        lambda w, x: paper.zo_svrg(
            w, x, Sphere(), 2, 3, math.ceil(D / 1.86), 0.06 / (1.5 * D), 1 / math.sqrt(D * 50)
        ),
        lambda t, info: N * (3 + 1) if t % 7 == 0 else 2 * 2 * (3 + 1),
        lmos=0,
    ),
    "zo-svrg coordinate": Case(
        ZOSVRG.coordinate(D, 0.7, 50, rho=0.1, batch_size=2),
        lambda w, x: paper.zo_svrg_coordinate(
            w, x, 2, math.ceil(D / 3.1), 0.1 / (0.7 * D), 1 / math.sqrt(D * 50), Coordinate()
        ),
        lambda t, info: 2 * N * D if t % 4 == 0 else 4 * 2 * D,
        lmos=0,
    ),
    "zpdvr": Case(
        ZPDVR.paper(N, 0.02, radius=MU),
        lambda w, x: paper.zpdvr(w, x, Gaussian(), 1, 1, 1 / N, 0.02, MU),
        lambda t, info: 2 * N if t == 0 else 4 * N if info["refresh"] else 4,
        lmos=0,
    ),
    "zpdvr blocks": Case(
        ZPDVR(3, 5, 0.4, 0.1, MU),
        lambda w, x: paper.zpdvr(w, x, Gaussian(), 3, 5, 0.4, 0.1, MU),
        lambda t, info: N * 6 if t == 0 else 2 * N * 6 if info["refresh"] else 2 * 3 * 6,
        lmos=0,
    ),
    "spsa": Case(
        SPSA.paper(T, 0.2, 0.05, batch_size=4),
        lambda w, x: paper.spsa(w, x, Rademacher(), 4, 0.2, 0.05, T),
        lambda t, info: 2 * 4,
        lmos=0,
    ),
}


@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize("name", CASES)
def test_first_iterations_equal_the_paper(name: str, where: str) -> None:
    case, (region, world_type) = CASES[name], SETS[where]
    component, paid = sigmoids(), [0]

    def counted(x: np.ndarray, i: int) -> float:
        paid[0] += 1
        return component(x, i)

    session = zofw.Session(region, dim=D, n=N, method=case.method, max_iter=T, rng=12, diagnose=0)
    world = world_type(component, N, D, session.run.entropy)
    box = case.box(world, region.initial_point(D))
    costs, calls = [0], [0]

    def compare(session: zofw.Session) -> None:
        t, before, lmos = session.nit - 1, world.queries, world.lmos
        np.testing.assert_allclose(session.x, next(box), rtol=1e-9, atol=1e-10, err_msg=f"iteration {t}")
        costs.append(session.nfev)
        calls.append(session.nlmo)
        assert costs[-1] - costs[-2] == world.queries - before == case.queries(t, session.info.columns())
        assert calls[-1] - calls[-2] == world.lmos - lmos
        assert case.lmos in (None, calls[-1] - calls[-2])
        assert region.contains(session.x)

    session.observers.append(compare)
    problem = BlackBox(counted, dim=D, n=N)
    while (query := session.ask()) is not None:
        session.tell(query, evaluate(problem, query))
    assert len(costs) == T + 1
    assert paid[0] == session.nfev


def test_both_branches_of_zpdvr_were_compared() -> None:
    world, coins = World(sigmoids(), N, D, (12,)), []
    for t in range(1, T):
        rng = world.rng(t)
        for _ in range(3):
            Gaussian().draw(rng, D, 5)
        coins.append(rng.random() < 0.4)
    assert any(coins) and not all(coins)


# ------------------------------------------------------------------------------------------------ the papers' constants


def test_constants() -> None:
    fzfw = FZFW.paper(100, D, 4.0, 25)
    assert (fzfw.batch_size, fzfw.period, fzfw.step_size(7)) == (10, 10, 1 / 20)
    assert fzfw.radius == pytest.approx(1 / math.sqrt(25 * D))
    fzcgs = FZCGS.paper(100, D, 2.0, 25)
    assert (fzcgs.smoothness, fzcgs.batch_size, fzcgs.period, fzcgs.accuracy) == (2.0, 10, 10, 1 / 25)
    assert JAGUAR.paper(5).step_size(2) == pytest.approx(4 / 42)
    stochastic = StochasticJAGUAR.paper(4)
    assert (stochastic.step_size(6), stochastic.averaging(0)) == pytest.approx((4 / 70, 4 / 16))
    for n0, pairs, period in ((1.0, 29 * 30, 5), (5.0, 29 * 6, 25)):
        method = SahuKar.paper(900, 10, 0.01, n0)
        assert (method.pairs, method.period, method.step_size) == (pairs, period, 0.01)
    assert (ZPDVR.paper(50, 0.1).refresh_probability, ZPDVR.paper(50, 0.1).directions) == (0.02, 1)
    assert SPSA.paper(100, 0.3, 0.2).step_size(0) == pytest.approx(0.3 / 11**0.602)
    assert SPSA.paper(100, 0.3, 0.2).radius(9) == pytest.approx(0.2 / 10**0.101)


def test_spsa_takes_its_offset_from_the_limits() -> None:
    method, reasons = SPSA(2, 3).resolve(Task(zofw.L2Ball(), D, N, budget=12_000))
    assert method.step_size.offset == pytest.approx(0.1 * 1000 + 1)
    assert method.step_size(0) == pytest.approx(1 / (1 + D / 3))
    assert "1000/10" in reasons["step_size"]


# ------------------------------------------------------------------------------------------------- condg and Frank-Wolfe


@pytest.mark.parametrize("where", SETS)
def test_condg_solves_the_proximal_step(where: str) -> None:
    region, rng = SETS[where][0], np.random.default_rng(3)
    g, u, gamma, eta = rng.standard_normal(D), region.initial_point(D), 0.4, 1e-3
    w, gap = condg(Task(region, D), g, u, gamma, eta, 100_000)
    exact = region.project(u - gamma * g)
    assert region.contains(w)
    assert gap == pytest.approx(g @ u - g @ region.lmo(g))
    # strong convexity: ‖w − exact‖²/(2γ) ≤ η
    assert np.sum((w - exact) ** 2) <= 2 * gamma * eta


def test_condg_stops_at_its_limit() -> None:
    task = Task(zofw.L1Ball(), D)
    condg(task, np.arange(1.0, D + 1), np.zeros(D), 0.01, 1e-12, 17)
    assert task.lmos == 17


def quadratic(region: Any) -> tuple[np.ndarray, np.ndarray]:
    """½⟨x, Hx⟩ − ⟨y, x⟩ with its minimiser at the mean of eight vertices, so that no method is there at once."""
    rng = np.random.default_rng(7)
    A = rng.standard_normal((4 * D, D))
    H = A.T @ A / D
    return H, H @ np.mean([region.lmo(rng.standard_normal(D)) for _ in range(8)], axis=0)


def reference_session(region: Any, method: FrankWolfe, **limits: Any) -> zofw.Session:
    H, y = quadratic(region)
    return zofw.Session(
        region, dim=D, method=method, gradient=lambda x: H @ x - y, rng=0, diagnose=0, **limits
    )


@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize(
    ("variant", "rule"),
    # an exact pairwise step leaves ⟨g, s⟩ = ⟨g, a⟩, a tie that rounding would break for each side on its own
    [
        (v, r)
        for v in ("vanilla", "away", "pairwise")
        for r in ("open", "short", "exact")
        if v + r != "pairwiseexact"
    ],
)
def test_frank_wolfe_equals_its_transcription(where: str, variant: Any, rule: str) -> None:
    region, world_type = SETS[where]
    H, y = quadratic(region)
    L = float(np.linalg.eigvalsh(H)[-1])
    rules = {"open": OpenLoop(), "short": ShortStep(L), "exact": LineSearch(1e-9)}
    box = paper.frank_wolfe(
        world_type(lambda x, i: 0.0, 1, D, (0,)), region.initial_point(D), H, y, variant, rule, L
    )
    session = reference_session(region, FrankWolfe(variant, rules[rule]), max_iter=T)

    def compare(session: zofw.Session) -> None:
        x, gap = next(box)
        np.testing.assert_allclose(session.x, x, rtol=1e-8, atol=1e-9, err_msg=f"iteration {session.nit}")
        assert session.info.gap == pytest.approx(gap, rel=1e-8, abs=1e-9)
        assert region.contains(session.x)

    session.observers.append(compare)
    assert session.ask() is None
    assert (session.nit, session.nlmo, session.nfev) == (T, T, 0)


@pytest.mark.parametrize("where", ["l1", "simplex"])
@pytest.mark.parametrize("variant", ["away", "pairwise"])
def test_linear_convergence_on_polytopes(where: str, variant: Any) -> None:
    session = reference_session(SETS[where][0], FrankWolfe(variant), max_iter=2000, gap_tol=1e-12)
    session.ask()
    assert session.status is zofw.Status.CONVERGED
    w = session.state.weights
    assert (w > 0).all() and w.sum() == pytest.approx(1.0, abs=1e-14)
    combined = sum(one * a.dense() for one, a in zip(w, session.state.atoms, strict=True))
    np.testing.assert_allclose(combined, session.x, atol=1e-13)


def test_gap_bounds_the_error() -> None:
    region = zofw.Simplex()
    H, y = quadratic(region)

    def f(x: np.ndarray) -> float:
        return float(0.5 * x @ H @ x - y @ x)

    best = reference_session(region, FrankWolfe("pairwise"), max_iter=2000, gap_tol=1e-13)
    best.ask()
    session = reference_session(region, FrankWolfe(), max_iter=30)
    before = [session.x]

    def check(session: zofw.Session) -> None:
        assert f(before[-1]) - f(best.x) <= session.info.gap + 1e-12
        before.append(session.x)

    session.observers.append(check)
    session.ask()
    assert len(before) == 31


def test_line_search_stops_at_a_wall_and_within_its_tolerance() -> None:
    x, d = np.zeros(1), np.ones(1)
    search = LineSearch(1e-6)
    assert search(lambda z: z - 5.0, 0, x, d, -5.0, 1.0) == 1.0
    gamma = search(lambda z: np.expm1(30 * (z - 0.3)), 0, x, d, math.expm1(-9.0), 1.0)
    assert gamma == pytest.approx(0.3, abs=1e-6)


def test_frank_wolfe_resumes_with_its_atoms(tmp_path: Path) -> None:
    for region, _ in SETS.values():
        whole = reference_session(region, FrankWolfe("pairwise"), max_iter=20)
        whole.ask()
        half = reference_session(region, FrankWolfe("pairwise"), max_iter=20)
        half.observers.append(lambda session: session.nit == 9 and session.checkpoint(tmp_path / "run"))
        half.ask()
        resumed = zofw.Session.resume(tmp_path / "run", gradient=whole.task.gradient)
        assert resumed.nit == 9
        resumed.ask()
        assert resumed.state.atoms == whole.state.atoms
        np.testing.assert_array_equal(resumed.x, whole.x)


# ---------------------------------------------------------------------------------------------- defaults and refusals

NAMES = [
    *("fzfw", "fzcgs", "jaguar", "jaguar-stochastic", "sahu-kar"),
    *("zo-psgd", "zo-svrg", "zpdvr", "spsa"),
]


@pytest.mark.parametrize("name", NAMES)
def test_defaults_descend_within_the_budget(name: str) -> None:
    def values(X: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return 0.5 * ((X[:, None, :] - (batch[None, :, None] + 1) / 8) ** 2).sum(axis=2)

    f, start = BlackBox(values, dim=4, n=4, vectorized=True), np.array([-1.0, 0.0, 0.0, 0.0])
    result = zofw.minimize(f, zofw.L2Ball(1.0), method=name, budget=30_000, x0=start, rng=1, max_iter=400)
    best = 0.5 * np.mean([4 * ((i + 1) / 8 - 0.3125) ** 2 for i in range(4)])
    worst = f.values(start[None], np.arange(4)).mean() - best
    assert result.nfev <= 30_000
    assert zofw.L2Ball(1.0).contains(result.x)
    assert result.fun - best < 0.25 * worst


@pytest.mark.parametrize(
    "method", [case.method for case in CASES.values()] + [FrankWolfe("away", ShortStep(2.0))]
)
def test_settings_survive(method: Any) -> None:
    assert pickle.loads(pickle.dumps(method)) == method
    assert repr(pickle.loads(pickle.dumps(method))) == repr(method)


REFUSED: list[tuple[Any, str]] = [
    (FZFW(batch_size=0), "batch_size should be a whole number"),
    (FZFW(period=0), "period should be a whole number"),
    (FZFW(step_size=1.5), r"step_size should lie in \(0, 1\]"),
    (FZFW(radius=0.0), "radius at t = 0 should be a positive number"),
    (FZCGS(smoothness=0.0), "smoothness should be a positive number"),
    (FZCGS(accuracy=0.0), "accuracy at t = 0 should be a positive number"),
    (FZCGS(max_inner=0), "max_inner should be a whole number"),
    (JAGUAR(directions=0), "directions should be a whole number"),
    (JAGUAR(directions=D + 1), "at most d = 12 directions"),
    (JAGUAR(initial="guess"), "initial should be one of coordinate, zero"),  # type: ignore[arg-type]
    (StochasticJAGUAR(batch_size=0), "batch_size should be a whole number"),
    (StochasticJAGUAR(averaging=1.5), r"averaging at t = 0 should lie in \(0, 1\]"),
    (SahuKar(pairs=0), "pairs should be a whole number"),
    (SahuKar(step_size=0.0), r"step_size should lie in \(0, 1\]"),
    (ZOPSGD(directions=0), "directions should be a whole number"),
    (ZOPSGD(step_size=-1.0), "step_size at t = 0 should be a positive number"),
    (ZOPSGD(stencil=Stencil.VALUE), "stencil should be one of"),
    (ZOSVRG(period=0), "period should be a whole number"),
    (ZOSVRG(directions=D + 1, law=Coordinate()), "at most d = 12 directions"),
    (ZPDVR(refresh_probability=0.0), r"refresh_probability should lie in \(0, 1\]"),
    (ZPDVR(refresh_probability=1.5), r"refresh_probability should lie in \(0, 1\]"),
    (ZPDVR(directions=0), "directions should be a whole number"),
    (SPSA(batch_size=0), "batch_size should be a whole number"),
    (SPSA(radius=-1.0), "radius at t = 0 should be a positive number"),
    (FrankWolfe(), "first-order reference method"),
]


@pytest.mark.parametrize(("method", "sentence"), REFUSED, ids=lambda value: repr(value)[:40])
def test_bad_settings_are_refused(method: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        as_algorithm(method, Task(zofw.L2Ball(), D, N, budget=1000))


@pytest.mark.parametrize("method", [ZOPSGD(), ZOSVRG(), ZPDVR(), SPSA()])
def test_a_set_without_projection_is_refused(method: Any) -> None:
    with pytest.raises(ValueError, match=r"Birkhoff.*has no project.*balls, boxes, simplices"):
        as_algorithm(method, Task(zofw.Birkhoff(3), 9, N))


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (FrankWolfe("sideways"), "variant should be one of"),  # type: ignore[arg-type]
        (FrankWolfe(step_rule=ShortStep(0.0)), "L should be a positive number"),
        (FrankWolfe(step_rule=OpenLoop(2.0)), r"step_size should lie in \(0, 1\]"),
        (FrankWolfe(step_rule=LineSearch(0.0)), r"tol should lie in \(0, 1\]"),
    ],
)
def test_bad_step_rules_are_refused(method: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        as_algorithm(method, FirstOrderTask(zofw.L2Ball(), D, gradient=lambda x: x))


def test_sahu_kar_refuses_n0_outside_its_range() -> None:
    with pytest.raises(ValueError, match=r"n0 should lie in \[1, sqrt\(n\)/6\] = \[1, 5\]; got 6"):
        SahuKar.paper(900, 10, 0.01, 6)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: zofw.ZSFWDVR.convex(
            9, 2.0, batch_size=3, directions=2, refresh_probability=0.5, iterations=9, L=0.0, L_hat=0.0
        ),
        lambda: zofw.ZSFWDVR.nonconvex(
            9, 2.0, batch_size=3, directions=2, refresh_probability=0.5, iterations=0
        ),
        lambda: zofw.AccSZOFW.paper(9, 0),
        lambda: zofw.FZFW.paper(7, 9, 2.0, 0),
        lambda: zofw.ZOSVRG.paper(9, 0.0, 10),
        lambda: zofw.SPSA.paper(0, 1.0, 1.0),
        lambda: zofw.ZSCG.paper(9, 0, convex=True),
    ],
)
def test_constants_of_a_paper_are_positive(wrong: Any) -> None:
    with pytest.raises(ValueError, match="should be a positive number"):
        wrong()


def test_names_stand_for_laws_and_stencils() -> None:
    task = Task(zofw.L1Ball(1.0), 9, N)
    settings, _ = as_algorithm(zofw.ZOSFW(law="rademacher", stencil="central"), task)  # type: ignore[arg-type]
    assert settings.law == zofw.Rademacher() and settings.stencil is zofw.Stencil.CENTRAL
    with pytest.raises(KeyError, match="did you mean"):
        as_algorithm(zofw.ZOSFW(law="rademacherr"), task)  # type: ignore[arg-type]
    for wrong in (zofw.ZOSFW, zofw.ZOSFW(law=zofw.Gaussian)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="the class itself was given"):
            as_algorithm(wrong, task)
    with pytest.raises(ValueError, match="step_rule should be"):
        as_algorithm(
            FrankWolfe(step_rule="foo"), FirstOrderTask(zofw.L1Ball(1.0), 9, N, gradient=lambda x: x)
        )  # type: ignore[arg-type]
