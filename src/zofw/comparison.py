"""Compare methods on one problem: runs with several seeds, a table, a plot and an HTML report.

>>> import numpy as np, zofw
>>> found = zofw.compare(
...     lambda x: np.sum((x - 0.2) ** 2), zofw.Simplex(), ["auto", "spsa"], budget=600, seeds=2, dim=4
... )
>>> [row["method"] for row in found.rows()]
['auto', 'spsa']
>>> found.rows()[0]["queries"] <= 600
True
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zofw.core import Array, MethodLike, Problem
from zofw.extras import extra
from zofw.run.minimize import solve
from zofw.sets import SetLike
from zofw.storage import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from zofw.run.record.result import Result


# Okabe and Ito's palette, which people with any colour vision can read, then darker and lighter companions
PALETTE = (
    "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a4b9a", "#8c564b", "#5b6770", "#b8a200",
    "#a03058", "#2a6f4e", "#3b4cc0", "#c44e52", "#64b5cd", "#937860", "#da8bc3", "#4c72b0", "#8172b3", "#c0563a",
)  # fmt: skip
QUERIES = "queries (evaluations of single components)"
PER_DECADE = 20  # points of a grid of queries
QUARTILES = (0.25, 0.5, 0.75)
SMALLEST_GAP = 1e-16  # drawn for gaps below it, which a log axis cannot show
NAMED = 6  # curves with a colour and a name; of more, those of the best methods and of the default
GREY = "#8b95a1"  # seen on white and on black
INK = "#010203"  # of letters and axes, replaced by the colour of the page's text


def number(value: float | None, digits: int = 3) -> str:
    """Return a number as people write it, a dash if there is none."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e7:
        return f"{int(value):,}"
    return f"{value:.{digits - 1}e}" if abs(value) >= 1e7 or abs(value) < 1e-2 else f"{value:.{digits}g}"


def query_grid(queries: Sequence[Array], budget: int) -> Array:
    """Return log-spaced numbers of queries, from the first iteration to the budget."""
    first = min((float(q[1]) for q in queries if len(q) > 1), default=float(budget))
    low = max(1.0, min(first / 2, budget / 10))
    count = max(2, round(PER_DECADE * np.log10(budget / low)) + 1)
    return np.asarray(np.round(np.geomspace(low, budget, count)))


def held(queries: Array, values: Array, grid: Array) -> Array:
    """Return the last value known at each point of the grid."""
    return np.asarray(values[np.maximum(np.searchsorted(queries, grid, side="right") - 1, 0)])


def compare(
    fun: Problem | Callable[..., float],
    set: SetLike | None,
    methods: Sequence[MethodLike] | Mapping[str, MethodLike] = ("auto", "zsfw-dvr", "zo-sfw", "spsa"),
    *,
    budget: int,
    seeds: int = 3,
    optimum: float | None = None,
    diagnose: int = 20,
    watch: Callable[[str], object] = lambda words: None,
    **options: Any,
) -> Comparison:
    """Run every method with every seed on one problem and return the comparison of their results.

    Parameters
    ----------
    fun, set
        The problem and its set, as for :func:`zofw.minimize`.
    methods
        Registered names or settings; or a mapping from labels to them.
    budget
        Maximum number of evaluations of single components in each run.
    seeds
        Number of runs of each method, with the seeds 0, 1, ….
    optimum
        Smallest value of f over the set. If given, curves and table show the distance to it.
    diagnose
        Exact objectives on the curve per decade of queries, evaluated beyond the budget; 0 if ``fun`` is expensive.
    watch
        Function that receives a line about each finished run.
    options
        Further keywords of :func:`zofw.minimize`, such as ``n``, ``dim`` or ``x0``.
    """
    if not isinstance(methods, Mapping):
        several = methods if isinstance(methods, (list, tuple)) else [cast(MethodLike, methods)]
        methods = {_label(method): method for method in several}
    results: dict[str, tuple[Result, ...]] = {}
    for label, method in methods.items():
        runs = []
        for seed in range(seeds):
            run = solve(fun, set, method=method, budget=budget, rng=seed, diagnose=diagnose, **options)
            runs.append(run)
            watch(f"{label}, seed {seed}: objective {number(run.fun, 5)}, {run.nfev:,} queries")
        results[label] = tuple(runs)
    return Comparison(budget, results, optimum)


def _label(method: MethodLike) -> str:
    return method if isinstance(method, str) else method.name


@dataclass(frozen=True, repr=False)
class Comparison:
    """Results of several methods on one problem.

    Attributes
    ----------
    budget
        Queries that each run could spend.
    results
        Results of every method, by label; one for each seed.
    optimum
        Value that objectives are compared with, or None.
    """

    budget: int
    results: Mapping[str, Sequence[Result]]
    optimum: float | None = None

    @property
    def measure(self) -> str:
        """Name of what is compared: the objective, or its distance to the optimum."""
        return "objective" if self.optimum is None else "objective − optimum"

    def _height(self, values: Array) -> Array:
        return values if self.optimum is None else np.maximum(values - self.optimum, SMALLEST_GAP)

    def _curve(self, run: Result) -> tuple[Array, Array]:
        """Return queries and heights of a run, ending with the result's point."""
        known = np.isfinite(run.trace.objective)
        last = run.fun if math.isfinite(run.fun) else run.trace.objective[-1]
        queries, values = run.trace.queries[known], run.trace.objective[known]
        return np.append(queries, run.nfev), self._height(np.append(values, last))

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each method, the smallest median first."""
        rows = []
        for label, runs in self.results.items():
            low, median, high = np.quantile([self._curve(run)[1][-1] for run in runs], QUARTILES)
            counts = np.median([(run.nfev, run.nit, run.nlmo, run.time) for run in runs], axis=0)
            shares = dict(
                zip(("queries", "iterations", "LMO calls", "seconds"), counts.tolist(), strict=True)
            )
            rows.append(
                {"method": label, "runs": len(runs), "median": float(median), "lower quartile": float(low)}
                | {"upper quartile": float(high)}
                | shares
                | {"ended by": runs[0].status.name.lower().replace("_", " ")}
            )
        return sorted(rows, key=lambda row: row["median"])

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and the rows of the table as text."""
        rows = self.rows()
        single = all(row["runs"] == 1 for row in rows)  # then there is one value and no quartiles
        names = [
            name for name in rows[0] if not (single and name in ("runs", "lower quartile", "upper quartile"))
        ]
        cells = [
            [row[name] if isinstance(row[name], str) else number(row[name]) for name in names] for row in rows
        ]
        return [self.measure if single and name == "median" else name for name in names], cells

    def _named(self) -> list[str]:
        """Return the labels of the curves that have a name, the smallest median first."""
        ranked = [row["method"] for row in self.rows()]
        defaults = [label for label in ranked if label.startswith("auto")]
        few = ranked[: NAMED - len(defaults)]
        return ranked if len(ranked) <= NAMED else [label for label in ranked if label in {*few, *defaults}]

    def __repr__(self) -> str:
        heads, rows = self.cells()
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
            )
            for row in (heads, *rows)
        ]
        return "\n".join([f"{self.measure} after {self.budget:,} queries", *lines])

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        heads, rows = self.cells()
        head = "".join(f"<th>{escape(name)}</th>" for name in heads)
        body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw median and quartiles of every method against queries (extra ``plot``); returns the axes.

        Of many methods the best and the default are named, and the others are grey.
        """
        if ax is None:
            _, ax = extra("matplotlib.pyplot", "plot").subplots(figsize=(7.8, 4.4), layout="constrained")
        curves = {label: [self._curve(run) for run in runs] for label, runs in self.results.items()}
        grid = query_grid([queries for runs in curves.values() for queries, _ in runs], self.budget)
        named = self._named()
        quartiles = {
            label: np.quantile([held(*curve, grid) for curve in runs], QUARTILES, axis=0)
            for label, runs in curves.items()
        }
        _draw_named(ax, grid, {label: quartiles.pop(label) for label in named})
        for _, median, _ in quartiles.values():
            ax.plot(grid, median, color=GREY, linewidth=0.7, zorder=1)
        if quartiles:
            ax.plot([], [], color=GREY, linewidth=0.7, label=f"{len(quartiles)} other methods")
        ax.set_xscale("log")
        if self.optimum is not None:
            ax.set_yscale("log")
        ax.set_xlabel(QUERIES)
        ax.set_ylabel(self.measure)
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
        return ax

    def report(self, path: str | Path, title: str = "Comparison of methods", note: str = "") -> Path:
        """Write figure, table, settings and a note to one HTML file; return its path."""
        ink = dict.fromkeys(
            ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK
        )
        with extra("matplotlib", "plot").rc_context({**ink, "axes.facecolor": "none"}):
            figure = extra("matplotlib.figure", "plot").Figure(figsize=(9.4, 4.6), layout="constrained")
            self.plot(ax=figure.add_subplot())
            drawing = io.StringIO()
            figure.savefig(drawing, format="svg", transparent=True)
        settings = "".join(
            f"<li>{escape(label)}: <code>{escape(runs[0].settings)}</code>. {escape(runs[0].message)} "
            f"{escape(runs[0].reasons.get('method', ''))}</li>"
            for label, runs in self.results.items()
        )
        drawn = drawing.getvalue()
        page = PAGE.format(
            title=escape(title),
            note=f"<p>{escape(note)}</p>" if note else "",
            about=f"{self.measure.capitalize()} after at most {self.budget:,} {QUERIES}, best method first.",
            figure=drawn[drawn.index("<svg") :].replace(INK, "currentColor"),
            table=self._repr_html_(),
            settings=settings,
        )
        path = Path(path)
        write_whole(path, lambda stream: stream.write(page.encode()))
        return path


def _draw_named(ax: Axes, grid: Array, quartiles: Mapping[str, Array]) -> None:
    """Draw the curves that have a colour and a name."""
    lines: dict[bytes, Line2D] = {}
    for color, (label, (low, median, high)) in zip(PALETTE, quartiles.items(), strict=False):
        if same := lines.get(median.tobytes()):  # the default is one of the methods
            same.set_label(f"{same.get_label()} = {label}")
            continue
        (lines[median.tobytes()],) = ax.plot(grid, median, label=label, color=color, linewidth=2)
        ax.fill_between(grid, low, high, color=color, alpha=0.16, linewidth=0)


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1c2430; --line: #dfe4ea; --paper: #ffffff; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ee; --line: #313943; --paper: #14181d; }} }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 1080px; margin: 0 auto; padding: 1rem; color: var(--ink);
  background: var(--paper); }}
svg {{ width: 100%; height: auto; min-width: 640px; }} div {{ overflow-x: auto; }} code {{ overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.3rem 0.7rem; text-align: right; white-space: nowrap; border-top: 1px solid var(--line); }}
th:first-child, td:first-child {{ text-align: left; }} li {{ margin: 0.3rem 0; }}
</style></head><body>
<h1>{title}</h1><p>{about}</p>
{note}
<div>{figure}</div>
<div>{table}</div>
<h2>Settings</h2><ul>{settings}</ul>
</body></html>
"""
