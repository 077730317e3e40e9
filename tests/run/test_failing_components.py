"""Components that fail at some points for good: every method goes on with the others, at all points alike."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import zofw
from zofw.core import Batch, Pattern
from zofw.differences import OwnDifferences
from zofw.problems import BlackBox
from zofw.run.answering.policy import Retry

N, D = 60, 8


class Failing:
    """A logistic loss of sparse rows, whose components fail at a share of the points; it counts calls and failures."""

    def __init__(self, share: float, seed: int = 0) -> None:
        rng = np.random.default_rng([5, seed])
        Z = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.4)
        Z[np.arange(N), rng.integers(D, size=N)] += 1.0
        y = np.where(Z @ rng.standard_normal(D) + 0.5 * rng.standard_normal(N) > 0, 1.0, -1.0)
        self.rows, self.share, self.asked = y[:, None] * Z, share, list[tuple[bytes, int]]()
        self.failed = 0

    def __call__(self, x: np.ndarray, i: int) -> float:
        self.asked.append((x.tobytes(), int(i)))
        if zlib.crc32(x.tobytes() + int(i).to_bytes(4, "little")) % 10_000 < 10_000 * self.share:
            self.failed += 1
            raise RuntimeError("no value here")
        return float(np.logaddexp(0.0, -self.rows[i] @ x))

    def mean(self, x: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -self.rows @ x).mean())


def run(f: Failing, method: str, seed: int = 0) -> zofw.Result:
    support = (
        [np.flatnonzero(row).tolist() for row in f.rows] if method in ("ridge-newton", "saga-fw") else None
    )
    problem = BlackBox(f, dim=D, n=N, support=support)
    return zofw.minimize(
        problem, zofw.L1Ball(3.0), budget=60 * N, rng=seed, method=method, on_error=Retry(0, skip=10**6)
    )


@pytest.mark.parametrize("method", ["explore-correct", "ridge-newton", "saga-fw", "zo-fw", "interpolation"])
@pytest.mark.parametrize("share", [0.01, 0.03, 0.1])
def test_no_run_dies_and_little_is_lost(method: str, share: float) -> None:
    f = Failing(share)
    result = run(f, method)
    start, end = f.mean(np.zeros(D)), f.mean(result.x)
    assert end < start - 0.1, result.message
    assert result.ledger["failed"] - f.failed <= 0.05 * result.nfev
    assert len(f.asked) == result.nfev


@pytest.mark.parametrize("method", ["saga-fw", "zo-fw"])
def test_the_gap_with_failures_is_near_that_without(method: str) -> None:
    whole, some = Failing(0.0), Failing(0.02)
    best = zofw.reference(zofw.problems.Logistic(whole.rows, np.ones(N)), zofw.L1Ball(3.0)).value
    gaps = [f.mean(run(f, method).x) - best for f in (whole, some)]
    assert gaps[1] <= 1.5 * gaps[0]


def test_slopes_that_failed_count_as_the_mean_of_the_others() -> None:
    pattern = Pattern(np.array([0, 2, 4, 5]), np.array([0, 1, 0, 1, 1]))
    own = OwnDifferences.of(np.zeros(2), Batch(3), pattern, 0.1)
    slopes = np.array([1.0, 2.0, np.nan, 4.0, np.nan])
    np.testing.assert_allclose(own.filled(slopes), [1.0, 2.0, 1.0, 4.0, 3.0])
    np.testing.assert_allclose(own.mean(slopes), [2 / 3, 3.0])
