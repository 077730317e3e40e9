"""Every registered method keeps every law; a new one is tested here without a line written for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import zofw
from zofw.algorithms import ZOSFW, ZSFWDVR
from zofw.differences import slopes
from zofw.extend import METHOD_LAWS, mathematics
from zofw.extend.mathematics import MethodSubject
from zofw.extend.play import smooth_sum
from zofw.problems import evaluate
from zofw.sets.check import examine


@pytest.mark.parametrize("name", zofw.methods())
@pytest.mark.parametrize("law", METHOD_LAWS, ids=lambda law: law.__name__)
def test_law(name, law):
    finding = examine(law, MethodSubject(name))
    if finding.ok is None:
        pytest.skip(finding.why)
    assert finding.ok, f"{name}: {finding.law}: {finding.why} See it again with: zofw check method {name}"


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
def test_a_flipped_correction_breaks_at_least_two_laws(which):
    broken = {
        law.__name__
        for law in mathematics.LAWS
        if examine(law, MethodSubject(Wrong(which=which))).ok is False
    }
    assert len(broken) >= 2, f"only {broken} noticed"


@dataclass(frozen=True)
class Favouring(ZOSFW):
    """ZO-SFW that draws the first component alone, or never moves the first coordinate."""

    which: str = "components"

    def step(self, task, state, rng):
        def query(query):
            if self.which == "coordinates" or query.batch.indices is None:
                return query
            batch = zofw.Batch(task.n, 0 * query.batch.indices)
            return zofw.Query(
                query.anchors, batch, query.directions, query.radius, query.stencil, query.purpose
            )

        after, info = yield from through(super().step(task, state, rng), query)
        if self.which == "coordinates":
            after = replace(after, x=np.r_[state.x[0], after.x[1:]])
        return after, info


@pytest.mark.parametrize("which", ["components", "coordinates"])
def test_a_favourite_is_noticed(which):
    law = next(law for law in METHOD_LAWS if law.__name__ == f"{which}_are_alike")
    finding = examine(law, MethodSubject(Favouring(directions=8, which=which)))
    assert finding.ok is False and "permuted" in finding.why


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
    monkeypatch.setattr("zofw.kernels.plain.TILE_ENTRIES", 16)
    pieces, paid_in_pieces = end()
    np.testing.assert_allclose(pieces, whole, atol=1e-9)
    assert paid_in_pieces == paid
