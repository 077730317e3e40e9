"""Frozen dataclasses from the plain values of TOML and JSON, and back: read strictly, with a sentence for every mistake."""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
T = TypeVar("T")

WORDS: dict[object, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


class SpecError(ValueError):
    """A specification that cannot be used, and why."""


def record(cls: type[T], content: object, where: str) -> T:
    """Return a dataclass from a table: every key is one of its fields, with a value of the field's type.

    Raises
    ------
    SpecError
        A key is unknown or missing, a value is of another type, or ``__post_init__`` refuses the whole.
    """
    if not isinstance(content, Mapping):
        raise SpecError(f"{where} should be a table; got {content!r}.")
    made: Any = cls
    kinds = _kinds(made)
    for key in content:
        if key not in kinds:
            close = difflib.get_close_matches(str(key), kinds, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(kinds))}."
            raise SpecError(f"{where} has the unknown key {key!r}; {hint}")
    given = {}
    for key, field in kinds.items():
        if key in content:
            given[field.name] = _value(field.kind, content[key], where, key)
        elif field.needed:
            raise SpecError(f"{where} has no {key!r}, which is needed.")
    try:
        return cls(**given)
    except ValueError as error:
        raise SpecError(f"{where}: {error}") from error


@dataclasses.dataclass(frozen=True)
class _Field:
    name: str
    kind: object
    needed: bool


@cache
def _kinds(cls: Any) -> dict[str, _Field]:
    """Return the fields by their keys: their names, or what ``metadata["key"]`` says."""
    hints, none = typing.get_type_hints(cls), dataclasses.MISSING
    return {
        field.metadata.get("key", field.name): _Field(
            field.name, hints[field.name], field.default is none and field.default_factory is none
        )
        for field in dataclasses.fields(cls)
    }


def _value(kind: object, value: object, where: str, key: str) -> object:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        if value not in inner:
            raise SpecError(f"{where}: {key} should be one of {', '.join(map(str, inner))}; got {value!r}.")
        return value
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        return _value(next(kind for kind in inner if kind is not type(None)), value, where, key)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise SpecError(f"{where}: {key} should be a list; got {value!r}.")
        return tuple(
            _value(inner[0], item, _item(where, item), f"{key}[{k}]") for k, item in enumerate(value)
        )
    if origin is not None:  # Mapping[str, X]
        if not isinstance(value, Mapping):
            raise SpecError(f"{where}: {key} should be a table; got {value!r}.")
        return {
            str(name): _value(inner[1], item, f"{where}, {key}", str(name)) for name, item in value.items()
        }
    if kind is object:
        return value
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise SpecError(f"{where}: {key} should be a table; got {value!r}.")
        return record(kind, value, where if where.endswith("'") else f"{where}, {key}")
    return _scalar(kind, value, where, key)


def _item(where: str, item: object) -> str:
    """Where an entry of a list is, by its name or id if it has one."""
    name = item.get("name", item.get("id")) if isinstance(item, Mapping) else None
    return where if name is None else f"{where}, {name!r}"


def _scalar(kind: object, value: object, where: str, key: str) -> object:
    """Return a number, a text or a truth; whole floats pass for int, ints for float, and null for NaN."""
    if kind is float and value is None:
        return math.nan
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, typing.cast("type[object]", kind)):
        raise SpecError(f"{where}: {key} should be {WORDS[kind]}; got {value!r}.")
    return value


def plain(value: object) -> Plain:
    """Dataclasses, arrays and numbers as what JSON can hold; NaN and infinity are null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {key: plain(vars(value)[field.name]) for key, field in _kinds(type(value)).items()}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    assert value is None or isinstance(value, bool | int | str), f"{value!r} is no plain value"
    return value
