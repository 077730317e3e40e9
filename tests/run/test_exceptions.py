"""An exception of any kind at any call: what was paid is charged, and the run is resumed to its end within the budget."""

from __future__ import annotations

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zofw
from zofw.problems import BlackBox

KINDS = (
    lambda: ValueError("out of order"),
    lambda: KeyboardInterrupt(),
    lambda: SystemExit(2),
    lambda: asyncio.CancelledError(),
    lambda: GeneratorExit(),
    lambda: BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError("one")]),
)
CENTRES = np.linspace(-0.4, 0.6, 18).reshape(3, 6)


class Failing:
    """Squared distances; the call of one number raises."""

    def __init__(self, at: int, kind) -> None:
        self.at, self.kind, self.calls = at, kind, itertools.count(1)
        self.made = 0

    def __call__(self, x, i=0):
        call = next(self.calls)
        self.made = max(self.made, call)
        if call == self.at:
            raise self.kind()
        return float(((x - CENTRES[i]) ** 2).sum())


def solve(f, method, n, budget, path, **given):
    problem = BlackBox(f, dim=6) if n == 1 else BlackBox(f, dim=6, n=n)
    if path.exists():
        return zofw.resume(path, problem, **given)
    return zofw.minimize(
        problem, zofw.L2Ball(1.0), method=method, budget=budget, rng=0, checkpoint=path, **given
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [0, 2])
def test_an_exception_that_nothing_may_catch_ends_the_run_as_itself(kind, threads, tmp_path):
    f, wanted = Failing(31, kind), kind()
    with ThreadPoolExecutor(threads or 1) as pool:
        given = {"workers": pool} if threads else {}
        if isinstance(wanted, (KeyboardInterrupt, SystemExit)):
            assert solve(f, "zo-fw", 3, 200, tmp_path / "run.npz", **given).status.name == "INTERRUPTED"
        else:
            kinds = zofw.EvaluationError if isinstance(wanted, Exception) else type(wanted)
            with pytest.raises(kinds):
                solve(f, "zo-fw", 3, 200, tmp_path / "run.npz", **given)
    assert f.made <= 31 + 21  # what was under way belongs to the same query
    result = solve(f, "zo-fw", 3, 200, tmp_path / "run.npz", workers=1)
    assert result.nfev == f.made <= 200 and result.ledger["failed"] == 1
