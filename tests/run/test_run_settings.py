"""The settings of a run, which are written once."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

import zofw
from zofw.run.spec import Limits, LimitSettings, Settings, Spec


def test_type_checkers_are_told_of_every_setting():
    fields = {one.name: one.type for one in dataclasses.fields(Spec)}
    sizes = {"set", "dim", "n", "outputs"}
    annotations = {name: hint.__forward_arg__ for name, hint in Settings.__annotations__.items()}
    assert annotations == {name: hint for name, hint in fields.items() if name not in sizes}
    assert [*LimitSettings.__annotations__] == [one.name for one in dataclasses.fields(Limits)]


@pytest.mark.parametrize("door", [zofw.minimize, zofw.Session])
def test_every_setting_is_in_the_signature_and_the_docstring(door):
    parameters = inspect.signature(door).parameters
    for one in dataclasses.fields(Spec):
        line = one.metadata.get("text", "").partition("\n")[0]
        if one.metadata.get("option") and door is zofw.minimize:
            assert one.name not in parameters and f"- ``{one.name}``: {line}" in door.__doc__
        elif one.name in Settings.__annotations__:
            assert parameters[one.name].default == one.default
            assert f"    {one.name}\n        {line}" in door.__doc__
    assert "<settings>" not in door.__doc__ and "<options>" not in door.__doc__


def test_options_are_taken_as_keywords_of_their_own_with_a_warning():
    given = {"dim": 3, "budget": 60, "rng": 0}
    new = zofw.minimize(lambda x: float(x @ x), zofw.Simplex(), options={"target": 0.5}, **given)
    with pytest.warns(
        DeprecationWarning, match=r"target= is deprecated .* Write options=\{'target': …\}"
    ) as caught:
        old = zofw.minimize(lambda x: float(x @ x), zofw.Simplex(), target=0.5, **given)
    assert old.nfev == new.nfev and old.status is new.status is zofw.Status.TARGET
    assert caught[0].filename == __file__
    with pytest.raises(TypeError, match="no option 'maxiter'; write max_iter"):
        zofw.minimize(lambda x: 0.0, zofw.Simplex(), options={"maxiter": 3}, **given)
    assert len(inspect.signature(zofw.minimize).parameters) <= 20


def test_a_callback_may_take_the_session_and_there_may_be_several():
    seen, given = [], {"dim": 3, "budget": 60, "rng": 0}
    two = [lambda session: seen.append(session.nit), lambda x: seen.append(x.size)]
    zofw.minimize(lambda x: float(x @ x), zofw.Simplex(), callback=two, method="zo-fw", **given)
    assert seen[:4] == [1, 3, 2, 3]


@pytest.mark.parametrize("door", [zofw.minimize, zofw.Session])
def test_a_misspelt_setting_is_refused_with_its_name(door):
    with pytest.raises(TypeError, match="no argument 'budgt'; did you mean budget"):
        door(lambda x: 0.0, zofw.Simplex(), dim=3, budgt=9) if door is zofw.minimize else door(
            zofw.Simplex(), dim=3, budgt=9
        )
