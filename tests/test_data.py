"""The data sets for examples, and those that installed packages declare."""

from __future__ import annotations

import pytest

from zofw.data import load


def test_an_unknown_name_says_which_there_are():
    with pytest.raises(ValueError, match=r"breast-cancer, digits.*got 'iris'.*load_svmlight_file"):
        load("iris")


def test_a_name_of_a_package_is_loaded_by_it(monkeypatch):
    from importlib import metadata

    points = metadata.EntryPoints([metadata.EntryPoint("mine", "test_data:own", "zofw.data")])
    monkeypatch.setattr("zofw.data.entry_points", lambda group: points.select(group=group))
    assert load("mine", split="test") == ("mine", "test")


def test_an_embedded_set_has_no_options():
    with pytest.raises(TypeError, match="no options; got split"):
        load("digits", split="test")


def own(name, split):
    return name, split
