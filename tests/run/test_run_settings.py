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
        if one.name in Settings.__annotations__:
            assert parameters[one.name].default == one.default
            assert f"    {one.name}\n        {one.metadata['text'].splitlines()[0]}" in door.__doc__
    assert "<settings>" not in door.__doc__


@pytest.mark.parametrize("door", [zofw.minimize, zofw.Session])
def test_a_misspelt_setting_is_refused_with_its_name(door):
    with pytest.raises(TypeError, match="no argument 'budgt'; did you mean budget"):
        door(lambda x: 0.0, zofw.Simplex(), dim=3, budgt=9) if door is zofw.minimize else door(
            zofw.Simplex(), dim=3, budgt=9
        )
