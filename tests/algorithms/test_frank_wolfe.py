"""Frank-Wolfe with gradients, the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zofw
from transcription import (
    SETS,
    D,
    T,
    Vector,
    World,
)
from zofw.algorithms import as_algorithm
from zofw.core import FirstOrderTask
from zofw.papers import FrankWolfe
from zofw.papers.frank_wolfe import line_search


def frank_wolfe(
    w: World, x: Vector, H: Vector, y: Vector, variant: str, rule: str, L: float = 0.0
) -> Iterator[tuple[Vector, float]]:
    """Points and gaps; the exact line search of a quadratic is −⟨g, d⟩/⟨d, Hd⟩."""
    atoms, weights, t = [x], [1.0], 0
    while True:
        g = H @ x - y
        s = w.lmo(g)
        gap = g @ (x - s)
        i = int(np.argmax([a @ g for a in atoms]))
        kind, d, most = "forward", s - x, 1.0
        if variant == "pairwise":
            kind, d, most = "pairwise", s - atoms[i], weights[i]
        elif variant == "away" and len(atoms) > 1 and g @ (atoms[i] - x) > gap:
            kind, d, most = "away", x - atoms[i], weights[i] / (1 - weights[i])
        wanted = {"open": 2 / (t + 2), "short": -(g @ d) / (L * (d @ d)) if L else 0.0, "exact": 0.0}[rule]
        gamma = min(most, -(g @ d) / (d @ H @ d) if rule == "exact" else wanted)
        x = x + gamma * d
        yield x, gap
        t += 1
        if kind == "forward":
            weights = [(1 - gamma) * one for one in weights]
        if kind == "away":
            weights = [(1 + gamma) * one for one in weights]
        if kind != "forward":
            weights[i] = 0.0 if gamma == most else weights[i] - gamma
        if kind != "away":
            same = [j for j, a in enumerate(atoms) if np.allclose(a, s, rtol=0, atol=1e-12)]
            if same:
                weights[same[0]] += gamma
            else:
                atoms, weights = [*atoms, s], [*weights, gamma]
        kept = [j for j, one in enumerate(weights) if one > 0]
        atoms, weights = [atoms[j] for j in kept], [weights[j] for j in kept]


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
def test_frank_wolfe_equals_its_transcription(
    where: str, variant: Any, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    region, world_type = SETS[where]
    H, y = quadratic(region)
    L = float(np.linalg.eigvalsh(H)[-1])
    open_loop = (2 / (t + 2) for t in range(T))
    rules = {
        "open": lambda gradient, x, d, slope, most, tol: min(most, next(open_loop)),
        "short": lambda gradient, x, d, slope, most, tol: min(most, -slope / (L * (d @ d))),
        "exact": line_search,
    }
    monkeypatch.setattr("zofw.papers.frank_wolfe.line_search", rules[rule])
    box = frank_wolfe(
        world_type(lambda x, i: 0.0, 1, D, (0,)), region.initial_point(D), H, y, variant, rule, L
    )
    session = reference_session(region, FrankWolfe(variant, 1e-9), max_iter=T)

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
    assert line_search(lambda z: z - 5.0, x, d, -5.0, 1.0, 1e-6) == 1.0
    gamma = line_search(lambda z: np.expm1(30 * (z - 0.3)), x, d, math.expm1(-9.0), 1.0, 1e-6)
    assert gamma == pytest.approx(0.3, abs=1e-6)


def _note(seen: list[int], session: zofw.Session) -> None:
    seen.append(session.nit)


def test_frank_wolfe_resumes_with_its_atoms(tmp_path: Path) -> None:
    for region, _ in SETS.values():
        whole = reference_session(region, FrankWolfe("pairwise"), max_iter=20)
        whole.ask()
        half = reference_session(region, FrankWolfe("pairwise"), max_iter=20)
        half.observers.append(lambda session: session.nit == 9 and session.checkpoint(tmp_path / "run"))
        half.ask()
        noted = partial(_note, seen := list[int]())
        given = {"gradient": whole.task.gradient, "observers": [noted]}
        resumed = zofw.Session.resume(tmp_path / "run", **given)
        resumed.ask()
        assert seen == list(range(9, 21))  # the file has nine iterations
        assert resumed.state.atoms == whole.state.atoms
        np.testing.assert_array_equal(resumed.x, whole.x)


def test_bad_step_rules_are_refused() -> None:
    for method, words in (
        (FrankWolfe("sideways"), "variant should be one of"),
        (FrankWolfe(tol=0.0), r"tol should lie in \(0, 1\]"),
    ):
        with pytest.raises(ValueError, match=words):
            as_algorithm(method, FirstOrderTask(zofw.L2Ball(), D, gradient=lambda x: x))
