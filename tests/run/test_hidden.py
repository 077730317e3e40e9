"""Points at which f fails for good: they are known to have failed, and a sum goes on with the other components."""

from __future__ import annotations

import itertools
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zofw
from zofw.problems import BlackBox

CENTRES = np.linspace(-0.4, 0.6, 60).reshape(12, 5)


class Rough:
    """Squared distances; a pair of point and component fails for good with a probability."""

    def __init__(self, share: float) -> None:
        self.share, self.calls, self.failed = share, [], []
        self._lock = threading.Lock()

    def __call__(self, x, i=0):
        rng = np.random.default_rng([i, *x.view(np.uint64).tolist()])
        bad = rng.random() < self.share
        with self._lock:
            self.calls.append((x.tobytes(), i))
            if bad:
                self.failed.append((x.tobytes(), i))
        if bad:
            raise ValueError("diverged")
        return float(((x - CENTRES[i]) ** 2).sum())


def solve(f, method, **given):
    problem = BlackBox(f, dim=5, n=12)
    return zofw.minimize(
        problem, zofw.L2Ball(1.0), method=method, budget=1500, rng=0, on_error="skip", **given
    )


@pytest.mark.parametrize("method", ["auto", "zsfw-dvr", "zo-fw", "explore-correct"])
@pytest.mark.parametrize("threads", [0, 2])
def test_a_sum_goes_on_with_the_components_that_answered(method, threads):
    f = Rough(0.02)
    with ThreadPoolExecutor(threads or 1) as pool:
        result = solve(f, method, **({"workers": pool} if threads else {}))
    whole = solve(Rough(0.0), method)
    assert result.nfev == len(f.calls) <= 1500 and result.ledger["failed"] >= len(f.failed)
    assert np.isfinite(result.fun) and "failed" in result.reasons
    if method in ("zsfw-dvr", "zo-fw"):  # the others compare values of different queries
        assert result.ledger["failed"] <= 0.05 * len(f.calls)
        exact = [float(((x - CENTRES) ** 2).sum(axis=1).mean()) for x in (result.x, whole.x)]
        best = float(((CENTRES.mean(axis=0) - CENTRES) ** 2).sum(axis=1).mean())
        start = float((CENTRES**2).sum(axis=1).mean())
        assert exact[0] - best <= max(3 * (exact[1] - best), 0.05 * (start - best))


def test_a_run_that_left_components_out_resumes_to_the_same_bits(tmp_path):
    whole, calls = solve(Rough(0.05), "zo-fw"), itertools.count(1)
    f = Rough(0.05)

    class Stopping(Rough):
        def __call__(self, x, i=0):
            if next(calls) % 97 == 0:
                raise KeyboardInterrupt
            return f(x, i)

    for _ in range(40):
        again = solve(Stopping(0.0), "zo-fw", checkpoint=tmp_path / "run.npz", resume="auto")
        if again.status is not zofw.Status.INTERRUPTED:
            break
    table = zofw.evaluations(tmp_path / "run.npz")
    assert table.evaluations.sum() == again.nfev
    assert again.nit >= whole.nit - 2 and again.nfev <= 1500


@pytest.mark.parametrize("method", ["auto", "interpolation", "zo-fw", "zsfw-dvr", "explore-correct"])
@pytest.mark.parametrize("wall", [0.0, 0.25])
def test_no_point_that_failed_is_bought_twice_and_the_run_ends_with_what_it_has(method, wall):
    calls, failed = [], set()

    def f(x):
        calls.append(x.tobytes())
        if x[0] > wall:
            assert x.tobytes() not in failed, "bought twice"
            failed.add(x.tobytes())
            raise ValueError("infeasible")
        return float(((x - 0.3) ** 2).sum())

    box, start = zofw.Box(-np.ones(4) / 2, np.ones(4) / 2), -0.4 * np.ones(4)
    result = zofw.minimize(f, box, x0=start, budget=150, method=method, rng=0, on_error="skip")
    assert result.nfev == len(calls) <= 150 and result.fun <= f(start) and result.x[0] <= wall


METHODS = [name for name in zofw.methods() if name != "frank-wolfe"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*has climbed")
@pytest.mark.parametrize("kind", ["a quarter of the points", "beyond a plane", "a corner"])
def test_no_method_dies_of_points_without_a_value(method, kind):
    centre, calls, failed = np.array([0.3, -0.2, 0.1, 0.25]), [], []

    def f(x):
        x = np.array(x)
        bad = {
            "a quarter of the points": zlib.crc32(x.tobytes()) % 4 == 0 and bool(x.any()),
            "beyond a plane": x[0] > 0.2,
            "a corner": x[1] > 0.1 and x[2] > 0.1,
        }[kind]
        calls.append(x.tobytes())
        if bad:
            failed.append(x.tobytes())
            raise ValueError("no mesh")
        return float(((x - centre) ** 2).sum())

    result = zofw.minimize(f, zofw.Box(-1.0, 1.0), dim=4, method=method, budget=300, rng=0, on_error="skip")
    assert result.nfev == len(calls) <= 300
    assert len(set(failed)) == len(failed), "bought twice"
    assert np.isfinite(result.fun) and result.x.tobytes() not in failed
    if method != "fw-black":  # 100 evaluations an iteration, all beyond the plane
        assert result.status is not zofw.Status.INTERRUPTED


def test_a_known_point_without_a_value_contradicts_nothing():
    def f(x):
        if x[0] > 0.2:
            raise ValueError("no mesh")
        return float(((x - 0.3) ** 2).sum())

    known = np.array([[0.3, 0.3, 0.3], [-0.5, 0.0, 0.0]]), [0.0, 0.82]
    result = zofw.minimize(
        f, zofw.Box(-1.0, 1.0), dim=3, method="zo-fw", budget=60, rng=0, on_error="skip", known=known
    )
    assert result.fun == 0.0 and "known" not in result.reasons


def test_a_stand_in_is_not_taken_for_a_value_after_a_resume(tmp_path):
    def f(x):
        if x[0] > 0.2:
            raise ValueError("no mesh")
        return float(((x - 0.3) ** 2).sum())

    given = {"method": "zo-fw", "rng": 1, "on_error": "skip"}
    box, problem = zofw.Box(-1.0, 1.0), BlackBox(f, dim=3)
    whole = zofw.minimize(problem, box, budget=120, **given)
    calls = itertools.count(1)

    def stops(x):
        if next(calls) == 61:
            raise KeyboardInterrupt
        return f(x)

    path = tmp_path / "run.npz"
    zofw.minimize(BlackBox(stops, dim=3), box, budget=120, checkpoint=path, **given)
    again = zofw.minimize(problem, box, budget=120, checkpoint=path, resume=True, **given)
    assert again.ledger["failed"] == whole.ledger["failed"] + 1 and again.x[0] <= 0.2
    assert zofw.evaluations(path).evaluations.sum() == again.nfev


@pytest.mark.parametrize("method", ["auto", "zo-fw"])
def test_a_run_without_a_feasible_point_says_so(method):
    result = zofw.minimize(
        lambda x: np.inf,
        zofw.Box(-1.0, 1.0),
        dim=2,
        budget=60,
        rng=0,
        method=method,
        options={"worse": np.inf},
    )
    assert not result.success and "No feasible point was found" in result.message
