"""Every registered method keeps every law; a new one is tested here without a line written for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import zofw
from zofw.differences import slopes
from zofw.extend import bookkeeping, check_method
from zofw.extend.play import smooth_sum
from zofw.papers import ZSFWDVR
from zofw.problems import evaluate


@pytest.mark.parametrize("name", zofw.methods())
def test_every_law_is_kept(name):
    report = check_method(name)
    assert report.ok, f"{report}\nSee it again with: zofw check method {name}"


def through(step, query=lambda query: query, answer=lambda query, answer: answer):
    """A step whose queries or answers are changed on their way."""
    try:
        asked = next(step)
        while True:
            asked = step.send(answer(asked, (yield query(asked))))
    except StopIteration as end:
        return end.value


@dataclass(frozen=True)
class Wrong(ZSFWDVR):
    """ZSFW-DVR whose corrections have the wrong sign and 3d times the size: of differences, of refreshes, or of both."""

    which: str = "both"

    def step(self, task, state, rng):
        def answer(query, answer):
            if state.g is None or self.which not in (
                "both",
                "differences" if len(query.anchors) == 2 else "refreshes",
            ):
                return answer
            c = slopes(query, answer)
            known = c[1] if len(c) == 2 else query.directions.T @ state.g
            values = np.array(answer.values)
            values[0, : query.count] -= 2 * query.radius * (3 * task.dim + 1) * (c[0] - known)
            return replace(answer, values=values)

        return through(super().step(task, state, rng), answer=answer)


@pytest.mark.parametrize("which", ["both", "differences", "refreshes"])
def test_a_wrong_method_breaks_at_least_two_laws(which):
    report = check_method(Wrong(which=which))
    broken = {finding.law for finding in report.failures} - {bookkeeping.is_documented.__doc__}
    assert len(broken) >= 2, report


def test_without_its_fault_it_breaks_none():
    (undocumented,) = check_method(Wrong(which="none")).failures
    assert undocumented.law == bookkeeping.is_documented.__doc__


@pytest.mark.parametrize("name", zofw.methods())
def test_chunks_do_not_matter(name, monkeypatch):
    f = smooth_sum()

    def end():
        run = zofw.Session(
            zofw.Simplex(), dim=9, n=7, method=name, rng=5, budget=4000, max_iter=8, gradient=lambda x: x
        )
        while (query := run.ask()) is not None:
            run.tell(query, evaluate(f, query))
        return run.x, run.nfev

    whole, paid = end()
    monkeypatch.setattr("zofw.directions.implicit.TILE_ENTRIES", 16)
    monkeypatch.setattr("zofw.kernels.words.TILE_ENTRIES", 16)
    pieces, paid_in_pieces = end()
    np.testing.assert_allclose(pieces, whole, atol=1e-9)
    assert paid_in_pieces == paid
