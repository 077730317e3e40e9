"""Whether what a file says of a run could have been written by one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from zofw.core import Answer
from zofw.run.trace import COLUMNS, Trace


def check_sizes_agree(saved: Mapping[str, Any]) -> None:
    """The iterate has the stated dimension: looked at before anything of that size is made."""
    x = saved["state"].x
    if not (_numbers(x) and x.shape == (saved["dim"],)):
        raise TypeError(f"its iterate is no vector of the stated dimension {saved['dim']!r}")


def check_progress(fresh: Any, saved: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Every part of a run's progress is of the kind that a fresh session has, or a sentence says which is not."""
    for name in names:
        if not _like(getattr(fresh, name), saved[name]):
            raise TypeError(f"its {name} is {saved[name]!r:.60}")
    if saved["ledger"].keys() != fresh.ledger.keys():
        raise TypeError(f"its ledger has the lines {', '.join(map(str, saved['ledger']))}")
    if not all(isinstance(answer, Answer) and _is_answer(answer) for answer in saved["answers"]):
        raise TypeError("it has answers that are none")
    if not (isinstance(saved["seconds"], float) and 0 <= saved["seconds"] < math.inf):
        raise TypeError(f"its seconds are {saved['seconds']!r:.60}")


def _like(example: Any, found: Any) -> bool:
    if example is None:
        return found is None or (isinstance(found, (int, float)) and not isinstance(found, bool))
    if isinstance(example, Enum):
        return type(found) is type(example)
    if isinstance(example, Trace):
        return isinstance(found, Trace) and _is_trace(found)
    if isinstance(example, dict):
        return isinstance(found, dict) and all(_like_entry(example, *item) for item in found.items())
    if isinstance(example, int) and not isinstance(example, bool):
        return type(found) is int and found >= 0
    if dataclasses.is_dataclass(example):
        return type(found) is type(example) and all(
            _like_field(getattr(example, field.name), getattr(found, field.name))
            for field in dataclasses.fields(example)
        )
    return type(found) is type(example)


def _like_entry(example: dict[Any, Any], key: Any, value: Any) -> bool:
    return isinstance(key, str) and (key not in example or _like(example[key], value))


def _like_field(example: Any, found: Any) -> bool:
    """A part of a method's state: numbers where it had numbers, nothing told of what it had not."""
    if isinstance(example, np.ndarray):
        return found is None or (_numbers(found) and found.ndim == example.ndim)
    if isinstance(example, (int, float)):
        return isinstance(found, (int, float, np.number)) or found is None
    return example is None or type(found) is type(example) or found is None


def _is_trace(trace: Trace) -> bool:
    rows, infos = trace.rows, trace.infos
    return (
        isinstance(rows, list)
        and isinstance(infos, list)
        and len(rows) == len(infos)
        and all(isinstance(row, tuple) and len(row) == len(COLUMNS) for row in rows)
        and all(isinstance(number, (int, float)) for row in rows for number in row)
        and all(isinstance(info, dict) for info in infos)
    )


def _is_answer(answer: Answer) -> bool:
    return all(
        _numbers(array) and array.ndim == 2 for array in (answer.values, answer.variance) if array is not None
    )


def _numbers(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiub" and bool(np.isfinite(array).all())
