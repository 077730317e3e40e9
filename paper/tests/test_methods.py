"""From a line of a specification to settings."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from zofw.algorithms import as_algorithm
from zofw.core import Stencil, Task
from zofw.directions import Rademacher
from zofw.registry import UnknownName
from zofw.schedules import Constant, Power
from zofw.sets import L1Ball
from zofw_paper.methods import Tuned, build, chosen_methods, zeroth_order
from zofw_paper.spec import Costs, Experiment, Method, SpecError

TASK = Task(L1Ball(1.0), 16, 100, budget=1_000_000)
NAMES = {
    name: (lambda value=value: value)
    for name, value in {
        "n": 100.0,
        "dim": 16.0,
        "batch": 7.0,
        "directions": 3.0,
        "epoch": 4.0,
        "L": 8.0,
    }.items()
}


def settings(name: str, lr: float | None = None, **given):
    return build(Method(name, name, **given), NAMES | ({} if lr is None else {"lr": lambda: lr}), TASK, lr)


def test_references_schedules_laws_and_stencils():
    made = settings(
        "zsfw-dvr",
        settings={
            "batch_size": "=batch",
            "directions": "=2*directions",
            "refresh_probability": "=1/epoch",
            "step_size": {"power": {"numerator": 2.0, "offset": 8.0, "cap": 1.0}},
            "radius": {"constant": 1e-3},
            "law": "rademacher",
            "stencil": "forward",
        },
    )
    assert (made.batch_size, made.directions, made.refresh_probability) == (7, 6, 0.25)
    assert made.step_size == Power(2.0, 8.0, cap=1.0) and made.radius == Constant(1e-3)
    assert made.law == Rademacher() and made.stencil is Stencil.FORWARD
    assert settings("zo-fw", settings={"step_size": {"open-loop": {"offset": 3.0}}}).step_size(
        0
    ) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"settings": {"batch_size": "=size"}}, "refers to '=size'"),
        ({"settings": {"batch_size": "=batch+1"}}, "refers to '=batch[+]1'"),
        ({"settings": {"colour": 1}}, "do not fit"),
        ({"settings": {"step_size": {"cosine": {}}}}, "one of constant, power, open-loop"),
        ({"settings": {"step_size": {"power": 3}}}, "table of its numbers"),
        ({"settings": {"step_size": {"power": {"speed": 3.0}}}}, "does not take these numbers"),
        ({"settings": {"stencil": "round"}}, "one of central"),
        ({"constructor": "letter"}, "no constructor 'letter'"),
    ],
)
def test_a_mistake_is_a_sentence(given, words):
    with pytest.raises(SpecError, match=words):
        settings("zsfw-dvr", **given)


def test_unknown_names_are_refused():
    with pytest.raises(UnknownName, match="did you mean 'zo-fw'"):
        settings("zo-fv")
    with pytest.raises(UnknownName):
        settings("zsfw-dvr", settings={"law": "uniform"})


def test_a_learning_rate_multiplies_the_published_step():
    for lr in (0.25, 1.0, 4.0):
        made = settings("zo-sfw", lr)
        for t in (0, 5, 100):
            assert made.step_size(t) == pytest.approx(min(1.0, lr * 2 / (t + 8)))
    assert settings("zo-fw", 8.0).step_size(0) == 1.0
    fixed = settings("acc-szofw", 2.0)
    plain = as_algorithm("acc-szofw", TASK)[0]
    assert fixed.step_size(3) == pytest.approx(2.0 * plain.step_size(3))


def test_a_setting_that_refers_to_the_rate_takes_it_alone():
    given = {"batch_size": 3, "directions": 3, "refresh_probability": 0.5, "lr": "=lr"}
    made = settings("zsfw-dvr", 2.0, constructor="paper", settings=given)
    assert made.step_size == Power(2.0, 1.0, cap=1.0)


def test_derived_sizes_and_smoothness():
    assert settings("zo-sfw", derived=True).batch_size == 7
    assert settings("zscg", derived=True).batch_size == 21
    assert settings("fzcgs", derived=True).smoothness == 8.0
    projected, plain = (
        settings("zo-psgd", derived=True),
        as_algorithm(settings("zo-psgd", settings={"directions": 3}), TASK)[0],
    )
    assert projected.step_size(0) == pytest.approx(plain.step_size(0) / 8.0)
    bare = build(Method("zo-sfw", "zo-sfw", derived=True), {"n": NAMES["n"]}, TASK, None)
    assert bare.batch_size == 10 and bare.directions is None


@pytest.mark.parametrize("name", zeroth_order())
def test_every_method_can_be_built_from_a_case_with_any_rate(name):
    for lr in (None, 0.25, 4.0):
        as_algorithm(settings(name, lr, derived=True), TASK)


def test_the_default_method_is_left_to_choose():
    assert settings("auto") == "auto"
    alone = Experiment("e", kind="costs", costs=Costs((1,), (1,), 1, 1))
    assert chosen_methods(alone) == ()
    assert chosen_methods(replace(alone, others=True))[-1].name == "auto"
    with pytest.raises(SpecError, match="no method 'zo-wf'"):
        chosen_methods(replace(alone, others=True), ["zo-wf"])


def test_a_tuned_schedule_prints_and_compares():
    assert Tuned(Constant(0.5), 4.0, 1.0)(0) == 1.0
    assert Tuned(Constant(0.5), 0.5)(9) == 0.25
    assert repr(Tuned(Constant(0.5), 2.0)) == "Tuned(schedule=Constant(value=0.5), factor=2.0, cap=inf)"
    assert math.isinf(Tuned(Constant(0.5), 2.0).cap)
