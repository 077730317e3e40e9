"""A deprecated function works, warns at the caller's line, and is removed in the version that its warning names."""

from __future__ import annotations

import importlib
import pkgutil
import warnings

import pytest

import zofw
from zofw.deprecations import DEPRECATED, deprecated


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


@pytest.fixture
def old(monkeypatch):
    monkeypatch.setattr("zofw.deprecations.DEPRECATED", {})

    @deprecated(since="0.3", removed="0.5", instead="new(x, scale=2)")
    def old(x: int, *, scale: int = 1) -> int:
        """Return x times scale."""
        return x * scale

    return old


def test_it_works_and_warns_at_the_line_of_the_caller(old):
    with pytest.warns(DeprecationWarning, match=r"since zofw 0\.3 .* removed in 0\.5\. Write new") as caught:
        assert old(3, scale=2) == 6
    assert caught[0].filename == __file__


def test_it_keeps_its_name_and_documentation(old):
    assert old.__name__ == "old" and old.__doc__ == "Return x times scale."


def test_a_warning_as_an_error_stops_the_call(old):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning):
            old(1)


def test_nothing_stays_beyond_the_version_that_removes_it():
    for module in pkgutil.walk_packages(zofw.__path__, "zofw."):
        if not module.name.startswith(("zofw.kernels", "zofw.adapters", "zofw.cli", "zofw.__main__")):
            importlib.import_module(module.name)
    late = {name for name, removed in DEPRECATED.items() if numbers(removed) <= numbers(zofw.__version__)}
    assert not late, f"Remove {sorted(late)}: version {zofw.__version__} no longer has them."
