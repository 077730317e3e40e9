"""The skeletons of CONTRIBUTING work as they stand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import zofw

FOLDER = Path(__file__).parent.parent / "docs" / "skeletons"


def skeleton(name: str):
    spec = importlib.util.spec_from_file_location(f"skeleton_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_set_law_method_and_problem_together(tmp_path):
    points = np.random.default_rng(0).normal(0.3, 1.0, size=(20, 6))
    problem = skeleton("my_problem").Distances(points)
    corner = skeleton("my_set").Corner(1.0)
    method = skeleton("my_method").Forgetful()
    result = zofw.minimize(problem, corner, method=method, budget=60_000, x0=np.zeros(6), rng=0)
    exact = zofw.minimize(problem, corner, method="frank-wolfe", max_iter=300, x0=np.zeros(6))
    assert result.fun - exact.fun < 2e-2 and result.nfev <= 60_000
    assert zofw.check_set(corner, 6).ok

    session = zofw.Session(corner, dim=6, n=20, method=method, budget=10_000, x0=np.zeros(6), rng=0)
    query = session.ask()
    session.tell(query, zofw.problems.evaluate(problem, query))
    session.checkpoint(tmp_path / "own.npz")
    again = zofw.Session.resume(tmp_path / "own.npz", set=corner, method=method)
    np.testing.assert_array_equal(again.x, session.x)


def test_the_law_states_its_constants():
    law = skeleton("my_law").HalfSigns()
    rng, d, b, repeats = np.random.default_rng(0), 12, 5, 8000
    x = rng.standard_normal(d)
    x /= np.linalg.norm(x)
    images = np.array([U @ (U.T @ x) for U in (law.draw(rng, d, b) for _ in range(repeats))])
    assert np.abs(law.scale(d, b) * images.mean(axis=0) - x).max() < 0.1
    squares = (images**2).sum(axis=1)
    assert abs(squares.mean() - law.second_moment(d, b)) < 5 * squares.std() / np.sqrt(repeats)
    f = zofw.problems.BlackBox(lambda z: float(((z - 0.2) ** 2).sum()), dim=d)
    result = zofw.minimize(f, zofw.Simplex(), method=zofw.ZSFWDVR(law=law), budget=4000, rng=0)
    assert result.fun < zofw.problems.mean_value(f, np.full(d, 1 / d)) + 1e-3
    with pytest.raises(ValueError, match="At least one direction"):
        law.check(d, 0)
