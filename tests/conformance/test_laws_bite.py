"""Every law bites: a method, a law of directions and a problem with one fault each, and the sentences that name it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from zofw.core import Batch, Query, frank_wolfe_info
from zofw.differences import average, fresh, slopes
from zofw.directions import Explicit
from zofw.extend import METHOD_LAWS, bookkeeping, check_law, check_method, check_problem
from zofw.extend.mathematics import MethodSubject
from zofw.extend.skeletons.my_law import HalfSigns
from zofw.extend.skeletons.my_problem import Distances
from zofw.papers import ZOSFW
from zofw.schedules import as_schedule
from zofw.sets.check import examine

ANEW = itertools.count()


@dataclass(frozen=True)
class Planted(ZOSFW):
    """ZO-SFW with one fault, or none."""

    directions: int = 8
    fault: str = ""

    def step(self, task, state, rng):
        fault, t, x, d, b = self.fault, state.t, state.x, task.dim, self.directions
        gamma, rho, mu = (as_schedule(s)(t) for s in (self.step_size, self.averaging, self.radius))
        U = self.law.draw(np.random.default_rng(next(ANEW)) if fault == "own seeds" else rng, d, b)
        S = task.sample(rng, self.batch_size)
        if fault in ("one component", "half the components"):
            drawn = np.arange(task.n) if S.indices is None else S.indices
            S = Batch(task.n, drawn % (1 if fault == "one component" else (task.n + 1) // 2))
        anchor = task.set.initial_point(d) if fault == "stale" else x
        query = Query(anchor, S, U, mu, self.stencil)
        if fault == "price":
            object.__setattr__(query, "cost", query.cost // 2)
        c = slopes(query, (yield replace(query, radius=10 * mu) if fault == "radius" else query))[0]
        if fault == "a second query" and c.any():
            yield query
        if fault == "half the directions":
            c = np.where(np.arange(b) < b // 2, 2 * c, 0.0)
        estimate = fresh(U, c, self.law.scale(d, b))
        factors = {
            "sign": -1.0,
            "3d": 3.0 * d,
            "1/d": 1 / d,
            "twice": 2.0,
            "sum of the batch": self.batch_size,
        }
        estimate *= factors.get(fault, 1.0)
        if fault == "ignores a coordinate":
            estimate[0] = 0.0
        g = average(state.g, estimate, 1.0 - rho if fault == "averaging" else rho)
        if fault == "unit of f":
            g /= max(1.0, float(np.linalg.norm(g)))
        if fault == "step in a unit of f":
            gamma *= min(1.0, float(np.linalg.norm(g)))
        if fault == "impure":
            state.g[:] = g
        s = task.lmo(-g if fault == "ascent" else g)
        if fault == "another LMO call":
            s = task.lmo(g)
        x = x + 1.5 * (s.dense() - x) if fault == "outside" else s.move(x, gamma)
        after = self.State(t + 1, x, g)
        return after, frank_wolfe_info(g, x, s, gamma=gamma)


def planted(fault):
    return Planted(batch_size=3 if "batch" in fault else 1, fault=fault)


def test_without_a_fault_nothing_breaks():
    assert {finding.law for finding in check_method(Planted()).failures} == {
        bookkeeping.is_documented.__doc__
    }


@pytest.mark.parametrize(
    "fault",
    [
        "sign", "3d", "1/d", "twice", "stale", "sum of the batch", "radius", "ignores a coordinate", "half the components",
        "ascent", "averaging", "price", "impure", "own seeds", "unit of f", "outside",
    ],
)  # fmt: skip
def test_a_wrong_method_breaks_two_laws(fault):
    subject = MethodSubject(planted(fault))
    laws = (rule for rule in METHOD_LAWS if rule is not bookkeeping.is_documented)
    broken = (rule.__name__ for rule in laws if examine(rule, subject).ok is False)
    assert len(list(itertools.islice(broken, 2))) == 2


@pytest.mark.parametrize(
    ("law", "fault", "words"),
    [
        ("decreases_on_quadratics", "sign", "it attains -"),
        ("decreases_on_logistic_sums", "sign", "it attains -"),
        ("decreases_inside", "stale", "it attains -"),
        ("finds_the_vertex", "sign", "it attains -"),
        ("follows_the_gradient", "sign", "cosine -"),
        ("estimates_the_gradient_of_all", "3d", "of its length"),
        ("doubling_doubles", "unit of f", "grows"),
        ("doubling_doubles", "step in a unit of f", "x after iteration"),
        ("components_are_alike", "one component", "permuted"),
        ("coordinates_are_alike", "ignores a coordinate", "permuted"),
        ("first_estimate_is_as_stated", "sum of the batch", "E g over"),
        ("first_estimate_is_as_stated", "half the directions", "E‖g − E g‖²"),
        ("stays_inside_and_is_counted", "outside", "outside L1Ball"),
        ("stays_inside_and_is_counted", "price", "values were computed"),
        ("resumes_from_any_query", "own seeds", "another one after a resume"),
        ("is_pure", "impure", "changed by a later step"),
        ("is_pure", "own seeds", "one seed"),
        ("least_budget_is_enough", "a second query", "not refused"),
        ("asks_at_its_radius", "radius", "asks at the radius"),
        ("refuses_sets_it_cannot_use", "outside", "lies outside"),
        ("is_documented", "", "References"),
        ("charges_what_it_states", "price", "queries, and Facts"),
        ("charges_what_it_states", "another LMO call", "LMO calls"),
    ],
)
def test_every_law_names_its_fault(law, fault, words):
    (rule,) = (rule for rule in METHOD_LAWS if rule.__name__ == law)
    finding = examine(rule, MethodSubject(planted(fault)))
    assert finding.ok is False and words in finding.why, finding


@dataclass
class Loose:
    """Settings that may be changed while a run goes on."""

    name: ClassVar[str] = "loose"
    inner: ClassVar[Planted] = Planted(averaging=0.5, radius=1e-4)

    def init(self, task, x0):
        return self.inner.init(task, x0)

    def step(self, task, state, rng):
        return self.inner.step(task, state, rng)


def test_settings_that_change_are_no_value():
    finding = examine(bookkeeping.settings_are_a_value, MethodSubject(Loose()))
    assert finding.ok is False and "frozen=True" in finding.why


@dataclass(frozen=True)
class WrongLaw(HalfSigns):
    """A law of directions with one fault."""

    fault: str = ""

    def draw(self, rng, dim, count):
        return super().draw(np.random.default_rng(next(ANEW)) if self.fault == "seeds" else rng, dim, count)

    def scale(self, dim, count):
        return super().scale(dim, count) * (2.0 if self.fault == "scale" else 1.0)

    def second_moment(self, dim, count):
        return super().second_moment(dim, count) * (2.0 if self.fault == "moment" else 1.0)

    def check(self, dim, count):
        if self.fault != "check":
            super().check(dim, count)


@dataclass(frozen=True)
class WrongViews(WrongLaw):
    """A law whose U c is not that of its columns."""

    def draw(self, rng, dim, count):
        class Twice(Explicit):
            def combine(self, c):
                return 2.0 * super().combine(c)

        return Twice(super().draw(rng, dim, count).columns(0, count))


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (WrongLaw(fault="scale"), "x/scale is"),
        (WrongLaw(fault="moment"), "second_moment is"),
        (WrongLaw(fault="seeds"), "one seed differ"),
        (WrongLaw(fault="check"), "should raise ValueError"),
        (WrongViews(), "combine(c)"),
    ],
    ids=str,
)
def test_a_wrong_law_of_directions_is_noticed(law, words):
    assert check_law(WrongLaw()).ok
    report = check_law(law)
    assert any(words in finding.why for finding in report.failures), report


class WrongProblem(Distances):
    """A problem with one fault."""

    def __init__(self, fault=""):
        super().__init__()
        self.fault = fault

    def values(self, points, components):
        values = super().values(points, components)
        if self.fault == "neighbours":
            values = values + values.mean()
        return values.T if self.fault == "shape" else values / 0 if self.fault == "infinite" else values

    def gradient(self, x):
        return super().gradient(x) * (2.0 if self.fault == "gradient" else 1.0)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("neighbours", "among others"),
        ("shape", "has shape"),
        ("infinite", "not all finite"),
        ("gradient", "entry 0"),
    ],
)
def test_a_wrong_problem_is_noticed(fault, words):
    assert check_problem(WrongProblem()).ok
    with np.errstate(all="ignore"):
        report = check_problem(WrongProblem(fault))
    assert any(words in finding.why for finding in report.failures), report
