"""Tables of a TOML file, read strictly: a sentence for every mistake."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["SpecError", "Table"]


class SpecError(ValueError):
    """A specification that cannot be used, and why."""


class Table:
    """A TOML table whose every key must be asked for, with the right kind of value."""

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self.content, self.where, self.asked = content, where, list[str]()

    def take(self, key: str, kind: type, default: Any = ...) -> Any:
        """A value of one kind; numbers with an integral value pass for int, and ints for float."""
        self.asked.append(key)
        if key not in self.content:
            if default is ...:
                raise SpecError(f"{self.where} has no {key!r}, which is needed.")
            return default
        value = self.content[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if kind is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise SpecError(f"{self.where}: {key} should be {_word(kind)}; got {value!r}.")
        return value

    def name(self, key: str, default: Any = ...) -> str:
        """A word that can name a folder."""
        value = str(self.take(key, str, default))
        if not value or not all(c.isalnum() or c in "-_.,+*()= " for c in value) or value.startswith("."):
            raise SpecError(
                f"{self.where}: {key} names a folder and should be letters, digits, spaces and any of -_.,+*()=; got {value!r}."
            )
        return value

    def choice(self, key: str, options: Sequence[str], default: Any = ...) -> str:
        value = str(self.take(key, str, default))
        if value not in options:
            raise SpecError(f"{self.where}: {key} should be one of {', '.join(options)}; got {value!r}.")
        return value

    def sequence(self, key: str, kind: type, default: Any = ...) -> tuple[Any, ...]:
        """A list of values of one kind."""
        values = self.take(key, list, default if default is ... else list(default))
        return tuple(
            Table({f"{key}[{k}]": v}, self.where).take(f"{key}[{k}]", kind) for k, v in enumerate(values)
        )

    def tables(self, key: str) -> list[Table]:
        entries = self.take(key, list, [])
        for k, entry in enumerate(entries):
            if not isinstance(entry, dict):
                raise SpecError(f"{self.where}: {key}[{k}] should be a table; got {entry!r}.")
        return [
            Table(entry, f"{self.where}, {key} {entry.get('name', entry.get('id', k + 1))!r}")
            for k, entry in enumerate(entries)
        ]

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.content:
            if key not in self.asked:
                close = difflib.get_close_matches(key, self.asked, n=1)
                hint = (
                    f"did you mean {close[0]!r}?"
                    if close
                    else f"known are {', '.join(sorted(set(self.asked)))}."
                )
                raise SpecError(f"{self.where} has the unknown key {key!r}; {hint}")


def _word(kind: type) -> str:
    words: dict[type, str] = {
        int: "a whole number", float: "a number", str: "a text", bool: "true or false", list: "a list", dict: "a table",
    }  # fmt: skip
    return words[kind]
