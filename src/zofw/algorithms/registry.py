"""The methods by name."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from zofw.algorithms.facts import Facts
from zofw.core import Algorithm
from zofw.registry import Registry


@runtime_checkable
class Described(Algorithm, Protocol):
    """A method that states its facts."""

    facts: ClassVar[Facts]


methods: Registry[Described] = Registry("method")
