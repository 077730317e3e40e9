"""Classes by name, those of other packages included."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


MANY = 20  # names that are too many for an error
K = TypeVar("K")
C = TypeVar("C", bound=type)


class UnknownName(KeyError):
    """A name that no class was registered under."""

    def __str__(self) -> str:
        return str(self.args[0])


class Registry(Mapping[str, type[K]]):
    """Classes of one kind by name, in order of registration.

    A name that is not registered here is looked for among the entry points of the group ``zofw.{kind}s`` ("zofw.laws" for a
    "law of directions") that installed packages declare; iteration goes over our own.

    Parameters
    ----------
    kind
        What is registered, as a singular noun: "set", "law of directions", "method", "problem".

    Examples
    --------
    >>> shapes = Registry("shape")
    >>> @shapes.register("disc")
    ... class Disc: ...
    >>> shapes["disc"].__name__
    'Disc'
    >>> shapes["disk"]
    Traceback (most recent call last):
    ...
    zofw.registry.UnknownName: There is no shape named 'disk'; did you mean 'disc'?
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._classes: dict[str, type[K]] = {}

    def register(self, name: str) -> Callable[[C], C]:
        """Decorate a class to enter it under a name."""

        def enter(cls: C) -> C:
            self.add(name, cls)
            return cls

        return enter

    def add(self, name: str, cls: type[K]) -> None:
        """Enter a class under a name that is still free."""
        if name in self._classes:
            raise ValueError(
                f"The {self.kind} name {name!r} is already taken by {self._classes[name].__qualname__}; "
                f"register {cls.__qualname__} under another name."
            )
        self._classes[name] = cls

    @cached_property
    def others(self) -> dict[str, EntryPoint]:
        """What other installed packages declare, by name; a name of ours stays ours."""
        from importlib.metadata import entry_points  # kept out of `import zofw`

        found = entry_points(group=f"zofw.{self.kind.split()[0]}s")
        return {point.name: point for point in found if point.name not in self._classes}

    def __getitem__(self, name: str) -> type[K]:
        if name not in self._classes:
            if name in self.others:
                loaded: type[K] = self.others[name].load()
                return loaded
            known = [*self._classes, *self.others]
            close = get_close_matches(str(name), known, n=3)
            names = ", ".join(map(repr, close or known)) or "nothing yet"
            there = f"did you mean {names}?" if close else f"there is {names}."
            if len(known) > MANY and not close:
                there = f"zofw.{self.kind.split()[0]}s() lists the {len(known)} that there are."
            raise UnknownName(f"There is no {self.kind} named {name!r}; {there}")
        return self._classes[name]

    def __contains__(self, name: object) -> bool:
        return name in self._classes or name in self.others

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}: {', '.join(self._classes)})"
