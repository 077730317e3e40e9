"""What ends a run from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def check_limits(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Budget, max_iter and max_lmo as whole numbers, max_time as a float, all positive; None for no limit."""
    for name, limit in limits.items():
        if name not in ("budget", "max_iter", "max_lmo", "max_time"):
            raise TypeError(f"There is no limit {name!r}; there are budget, max_iter, max_lmo and max_time.")
        if limit is not None and not (limit > 0 and (name == "max_time" or float(limit).is_integer())):
            kind = "number" if name == "max_time" else "whole number"
            raise ValueError(f"{name} should be a positive {kind}; got {limit!r}.")
    return {
        name: None if v is None else float(v) if name == "max_time" else int(v) for name, v in limits.items()
    }
