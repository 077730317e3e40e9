"""What ends a run from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def check_limits(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Budget, max_iter and max_lmo as whole numbers, max_time as a float, all positive; None for no limit."""
    for name, limit in limits.items():
        if name not in ("budget", "max_iter", "max_lmo", "max_time"):
            raise TypeError(f"There is no limit {name!r}; there are budget, max_iter, max_lmo and max_time.")
        number = isinstance(limit, (int, float, np.number)) and not isinstance(limit, bool)
        if limit is not None and not (
            number and limit > 0 and (name == "max_time" or float(limit).is_integer())
        ):
            kind = "number" if name == "max_time" else "whole number"
            raise ValueError(f"{name} should be a positive {kind}; got {limit!r}.")
    return {
        name: None if v is None else float(v) if name == "max_time" else int(v) for name, v in limits.items()
    }


def check_sizes(*, n: Any, dim: Any, gap_tol: Any, diagnose: Any) -> None:
    """Whole positive sizes, a tolerance that can be reached, and a number of rows that can be kept."""
    for name, size in (("n", n), ("dim", dim)):
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} should be a whole number of at least 1; got {size!r}.")
    if gap_tol is not None and not gap_tol >= 0:
        raise ValueError(f"gap_tol should be a number of at least 0; got {gap_tol!r}.")
    if not diagnose >= 0:
        raise ValueError(f"diagnose should be at least 0, which switches diagnosis off; got {diagnose!r}.")


class BudgetError(ValueError):
    """The budget cannot pay for one iteration; ``least`` is what it takes."""

    def __init__(self, budget: int, least: int, method: str) -> None:
        super().__init__(
            f"A budget of {budget} queries was given; one iteration of {method} takes {least}. Give at least {least}, or "
            "choose a smaller batch or fewer directions."
        )
        self.least = least
