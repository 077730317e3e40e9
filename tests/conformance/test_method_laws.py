"""Every registered method keeps every law; a new one is tested here without a line written for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import zofw
from zofw.algorithms import ZOSFW, ZSFWDVR
from zofw.algorithms.facts import evaluate as evaluate_formula
from zofw.differences import slopes
from zofw.extend import METHOD_LAWS, bookkeeping, check_method
from zofw.extend.mathematics import MethodSubject
from zofw.extend.play import smooth_sum
from zofw.problems import evaluate
from zofw.sets.check import examine


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


@dataclass(frozen=True)
class Faulty(ZOSFW):
    """ZO-SFW whose differences are wrong by a factor, or of half the components, or asked for elsewhere than it thinks."""

    factor: str = "1"  # a formula of d
    half: bool = False
    reach: float = 1.0

    def step(self, task, state, rng):
        def query(query):
            indices = np.arange(task.n) if query.batch.indices is None else query.batch.indices
            batch = zofw.Batch(task.n, indices % ((task.n + 1) // 2)) if self.half else query.batch
            return replace(query, batch=batch, radius=self.reach * query.radius)

        def answer(query, answer):
            values, base = answer.values, answer.values[:, query.count :]
            factor = evaluate_formula(self.factor, {"d": task.dim})
            return replace(
                answer, values=np.hstack([base + factor * (values[:, : query.count] - base), base])
            )

        return through(super().step(task, state, rng), query, answer)


@pytest.mark.parametrize(
    "wrong",
    [
        *(Wrong(which=which) for which in ("both", "differences", "refreshes")),
        *(Faulty(directions=8, factor=factor) for factor in ("-1", "-3*d", "d", "1/d", "2")),
        Faulty(directions=8, half=True),
        Faulty(directions=8, reach=10.0),
    ],
    ids=repr,
)
def test_a_wrong_method_breaks_at_least_two_laws(wrong):
    report = check_method(wrong)
    broken = {finding.law for finding in report.failures} - {bookkeeping.is_documented.__doc__}
    assert len(broken) >= 2, report


def test_without_its_fault_it_breaks_none():
    for sound in (Wrong(which="none"), Faulty(directions=8)):
        (undocumented,) = check_method(sound).failures
        assert undocumented.law == bookkeeping.is_documented.__doc__


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
    monkeypatch.setattr("zofw.kernels.words.TILE_ENTRIES", 16)
    pieces, paid_in_pieces = end()
    np.testing.assert_allclose(pieces, whole, atol=1e-9)
    assert paid_in_pieces == paid
