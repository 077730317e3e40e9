"""A result to look at: lines for a terminal, a small table and the curve for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from zofw.core import Array
from zofw.run.record.run import FAILED

if TYPE_CHECKING:
    from zofw.run.record.result import Result

SHOWN = 6  # entries of x
WIDTH, HEIGHT, MARGIN = 360, 140, 6  # of the curve, in pixels


def facts(result: Result) -> list[tuple[str, str]]:
    """What a reader asks first, as pairs of a name and a text."""
    spent = ", ".join(f"{count:,} {purpose}" for purpose, count in result.ledger.items() if count)
    x = np.array2string(result.x, precision=4, threshold=SHOWN, edgeitems=SHOWN // 2, separator=", ")
    found: list[tuple[str, str | None]] = [
        ("message", result.message),
        ("success", f"{result.success} ({result.status.name})"),
        ("fun", _unknown(result) if np.isnan(result.fun) else f"{result.fun:.8g}"),
        ("x", f"{x.replace(chr(10), '')}, {result.x.size} entries, {np.count_nonzero(result.x)} not zero"),
        ("gap", None if result.gap is None else _with_error(result.gap, result.get("gap_error"))),
        ("nfev", f"{result.nfev:,}" + (f" ({spent})" if spent else "")),
        ("nit", f"{result.nit:,}"),
        ("nlmo", f"{result.nlmo:,}"),
        ("time", f"{result.time:.3g} s"),
        ("method", result.settings),
        ("seed", str(result.seed)),
        ("trace", f"{len(result.trace)} rows; trace.to_frame() shows them"),
    ]
    return [(name, text) for name, text in found if text is not None]


def _unknown(result: Result) -> str:
    return "not evaluated" + (" (evaluations failed)" if result.ledger.get(FAILED) else " at x")


def _with_error(gap: float, error: float | None) -> str:
    return f"{gap:.3g}" + (f" ± {error:.1g}" if error else "")


def as_text(result: Result) -> str:
    """Return one fact a line."""
    return "\n".join(f"{name:>8}: {text}" for name, text in facts(result))


def as_html(result: Result) -> str:
    """Return the table, and the objective along the queries where it was diagnosed."""
    rows = "".join(
        f"<tr><th style='text-align:right'>{name}</th><td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in facts(result)
    )
    return f"<div><table>{rows}</table>{curve(result.trace.queries, result.trace.objective)}</div>"


def curve(queries: Array, objective: Array) -> str:
    """Return the objective against queries on a logarithmic axis, as SVG in the colour of the text around it."""
    seen = np.isfinite(objective) & (queries > 0)
    if np.count_nonzero(seen) < 2:
        return ""
    across, up = np.log10(queries[seen]), objective[seen]
    left, right, low, high = across[0], across[-1], up.min(), up.max()
    x = MARGIN + (across - left) / max(right - left, 1e-300) * (WIDTH - 2 * MARGIN)
    y = HEIGHT - MARGIN - (up - low) / max(high - low, 1e-300) * (HEIGHT - 2 * MARGIN)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    label = f"objective from {up[0]:.4g} to {up[-1]:.4g} over {queries[-1]:,.0f} queries (log axis)"
    return (
        f"<figure style='margin:0.5em 0;max-width:{WIDTH}px'><svg viewBox='0 0 {WIDTH} {HEIGHT}' role='img' "
        f"aria-label='{label}'><polyline points='{points}' fill='none' stroke='currentColor' stroke-width='2'/></svg>"
        f"<figcaption style='font-size:smaller'>{label}</figcaption></figure>"
    )
