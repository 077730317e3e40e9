"""What ends a run from outside."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Limits:
    """Queries, iterations, LMO calls and seconds that a run may take; None for no limit."""

    budget: int | None = None
    max_iter: int | None = None
    max_lmo: int | None = None
    max_time: float | None = None

    def __post_init__(self) -> None:
        whole = {name: _whole(name, vars(self)[name]) for name in ("budget", "max_iter", "max_lmo")}
        vars(self).update(whole)
        if self.max_time is not None:
            if not (_is_number(self.max_time) and self.max_time > 0):
                raise ValueError(f"max_time should be a positive number; got {self.max_time!r}.")
            vars(self).update(max_time=float(self.max_time))

    def with_(self, **limits: float | None) -> Limits:
        """Some of them replaced."""
        if unknown := limits.keys() - vars(self).keys():
            raise TypeError(
                f"There is no limit {min(unknown)!r}; there are budget, max_iter, max_lmo and max_time."
            )
        return replace(self, **limits)  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _whole(name: str, limit: float | None) -> int | None:
    if limit is None:
        return None
    if not (_is_number(limit) and limit > 0 and float(limit).is_integer()):
        raise ValueError(f"{name} should be a positive whole number; got {limit!r}.")
    return int(limit)


def check_sizes(
    *, n: object, dim: object, gap_tol: float | None, resolution: float = 0.0, diagnose: int = 0
) -> None:
    """Whole positive sizes, a tolerance that can be reached, and a number of rows that can be kept."""
    for name, size in (("n", n), ("dim", dim)):
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} should be a whole number of at least 1; got {size!r}.")
    if gap_tol is not None and not gap_tol >= 0:
        raise ValueError(f"gap_tol should be a number of at least 0; got {gap_tol!r}.")
    if (
        isinstance(resolution, bool)
        or not isinstance(resolution, (int, float))
        or not 0 <= resolution < math.inf
    ):
        raise ValueError(
            "resolution should be a distance: how far apart two points must lie to be different for whoever evaluates, or 0 "
            f"if any two points are different; got {resolution!r}."
        )
    if not diagnose >= 0:
        raise ValueError(f"diagnose should be at least 0, which switches diagnosis off; got {diagnose!r}.")


class BudgetError(ValueError):
    """The budget cannot pay for one iteration; ``least`` is what it takes."""

    def __init__(self, budget: int, least: int, reserve: int, method: str) -> None:
        kept = f", and {reserve} are kept back to evaluate f at the end" if reserve else ""
        super().__init__(
            f"A budget of {budget} queries was given; one iteration of {method} takes {least - reserve}{kept}. Give at least "
            f"{least}, or choose a smaller batch or fewer directions."
        )
        self.least = least
