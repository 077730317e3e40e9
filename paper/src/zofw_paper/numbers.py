"""Numbers as people write them."""

from __future__ import annotations

import math

__all__ = ["number"]


def number(value: float | None, digits: int = 3) -> str:
    """A number as people write it."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e7:
        return f"{int(value):,}"
    return f"{value:.{digits - 1}e}" if abs(value) >= 1e7 or abs(value) < 1e-2 else f"{value:.{digits}g}"
