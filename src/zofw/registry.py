"""Names for classes: a read-only mapping that refuses collisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

__all__ = ["Registry", "UnknownName"]

C = TypeVar("C", bound=type[Any])


class UnknownName(KeyError):
    """A name that no class was registered under."""

    def __str__(self) -> str:
        return str(self.args[0])


class Registry(Mapping[str, type[Any]]):
    """Classes of one kind by name, in order of registration.

    Parameters
    ----------
    kind
        What is registered, as a singular noun: "set", "law", "method".

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
        self._classes: dict[str, type[Any]] = {}

    def register(self, name: str) -> Callable[[C], C]:
        """Decorate a class to enter it under a name."""

        def enter(cls: C) -> C:
            self.add(name, cls)
            return cls

        return enter

    def add(self, name: str, cls: type[Any]) -> None:
        """Enter a class under a name that is still free."""
        if name in self._classes:
            raise ValueError(
                f"The {self.kind} name {name!r} is already taken by {self._classes[name].__qualname__}; "
                f"register {cls.__qualname__} under another name."
            )
        self._classes[name] = cls

    def __getitem__(self, name: str) -> type[Any]:
        if name not in self._classes:
            close = get_close_matches(str(name), self._classes, n=3)
            names = ", ".join(map(repr, close or self._classes)) or "nothing yet"
            raise UnknownName(
                f"There is no {self.kind} named {name!r}; "
                + (f"did you mean {names}?" if close else f"there is {names}.")
            )
        return self._classes[name]

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}: {', '.join(self._classes)})"
