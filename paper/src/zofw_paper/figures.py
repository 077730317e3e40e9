"""Figures with matplotlib: one panel a case, PNG and SVG; and the grid of adversarial examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from zofw.comparison import PALETTE, QUERIES
from zofw.core import Array
from zofw.extras import extra
from zofw_paper.spec import Measure
from zofw_paper.summary import CaseSummary, Curve, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


WIDTH = 7.8  # inches: 780 pixels on a page, where the smallest letters are 11 pixels high
MANY = 12  # curves; beyond, only a few are drawn strongly
LONG = 22  # letters of a title, beyond which its sizes have a line of their own
GREY = "#8b95a1"  # seen on white and on black
STYLES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))

AXES = {
    "gap": "objective gap  f(x) − f*",
    "objective": "objective  f(x)",
    "success-rate": "attack success rate",
}


def strong(labels: Sequence[str]) -> set[str]:
    """Return the curves to look at: all where they are few; else the first, which is the paper's, and the default."""
    if len(labels) <= MANY:
        return {*labels}
    return {labels[0], *(label for label in labels if label == "auto" or label.startswith("default"))}


def colours(labels: Sequence[str]) -> dict[str, str]:
    """Return a colour for every label, in order; grey for those in the background."""
    front = [label for label in labels if label in strong(labels)]
    return dict.fromkeys(labels, GREY) | {label: PALETTE[k % len(PALETTE)] for k, label in enumerate(front)}


def _pyplot() -> ModuleType:
    matplotlib = extra("matplotlib", "plot")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "zofw"
    return extra("matplotlib.pyplot", "plot")


def draw_curves(summary: Summary, stem: Path, *, group: str | None = None) -> list[Path]:
    """Window median and quartile band of every method against queries, the last iterates thin beneath.

    ``group`` picks the paper's methods alone.
    """
    plt = _pyplot()
    cases, labels = summary.cases, summary.labels
    palette = colours(labels)
    columns = 1 if len(cases) == 1 or len(labels) > MANY else 2
    rows = math.ceil(len(cases) / columns)
    size = WIDTH, (3.7 if columns == 1 else 2.9) * rows + 0.9
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    shown: dict[str, Line2D] = {}
    for axis, case in zip(axes.flat, cases, strict=False):
        for curve in case.curves:
            if group is not None and curve.group != group:
                continue
            front = palette[curve.label] != GREY
            dash = STYLES[(labels.index(curve.label) // 5) % len(STYLES)] if len(labels) <= MANY else "-"
            style = {"color": palette[curve.label], "linestyle": dash, "zorder": 3 if front else 2}
            low, middle, high = curve.band
            if curve.window:
                axis.plot(case.queries, curve.median, linewidth=0.6, alpha=0.6, **style)
            width = 1.7 if len(labels) <= MANY else 2.6 if front else 0.9
            (line,) = axis.plot(case.queries, middle, linewidth=width, **style)
            axis.fill_between(case.queries, low, high, color=palette[curve.label], alpha=0.16, linewidth=0)
            shown[curve.label] = line
        _dress(axis, case, summary.measure)
        if len(labels) > MANY:
            _label_ends(axis, [curve for curve in case.curves if curve.label in shown], palette)
    for axis in list(axes.flat)[len(cases) :]:
        axis.remove()
    if len(labels) <= MANY:
        look = {"loc": "outside lower center", "ncols": min(len(shown), 4), "frameon": False, "fontsize": 8.5}
        figure.legend(list(shown.values()), list(shown), **look)
    figure.suptitle(summary.title, fontsize=12)
    return _saved(figure, stem)


def apart(heights: Mapping[str, float], step: float) -> dict[str, float]:
    """Return heights between 0 and 1 from the lowest up, moved so that neighbours are a step apart."""
    moved, lowest = {}, -step / 2
    for rank, label in enumerate(sorted(heights, key=heights.__getitem__)):
        lowest = min(max(heights[label], lowest + step), 1.0 - step * (len(heights) - 1 - rank))
        moved[label] = lowest
    return moved


def _label_ends(axis: Axes, curves: Sequence[Curve], palette: Mapping[str, str]) -> None:
    """Every name at the end of its curve, moved apart where ends are close."""
    ends = {curve.label: (curve.window or curve.median)[-1] for curve in curves}
    place = axis.transAxes.inverted().transform
    heights = {
        label: float(place(axis.transData.transform((axis.get_xlim()[1], end)))[1])
        for label, end in ends.items()
    }
    for label, height in apart(heights, 0.042).items():
        weight = "bold" if palette[label] != GREY else "normal"
        drawn = axis.text(1.01, height, label, transform=axis.transAxes, fontsize=7.5, va="center")
        drawn.set(color=palette[label], weight=weight)


def _saved(figure: Figure, stem: Path) -> list[Path]:
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=200, metadata={"Date": None} if path.suffix == ".svg" else None)
    _pyplot().close(figure)
    return paths


def _dress(axis: Axes, case: CaseSummary, measure: Measure) -> None:
    axis.set_xscale("log")
    if measure == "gap":
        axis.set_yscale("log")
    elif measure == "success-rate":
        axis.set_ylim(-0.02, 1.02)
    axis.set_xlim(case.queries[0], case.queries[-1])
    between = "   " if len(case.title) < LONG else "\n"
    axis.set_title(f"{case.title}{between}(n = {case.n:,}, d = {case.dim:,})", fontsize=10)
    axis.set_xlabel(QUERIES, fontsize=9)
    axis.set_ylabel(AXES[measure], fontsize=9)
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def draw_images(rows: Sequence[tuple[str, Array, Sequence[str]]], stem: Path, title: str) -> list[Path]:
    """Images in a grid, one named row each: (name, (m, C, H, W) in [−½, ½], m captions)."""
    plt = _pyplot()
    count = max(len(images) for _, images, _ in rows)
    size = 1.05 * count + 1.5, 1.25 * len(rows) + 0.7
    figure, axes = plt.subplots(len(rows), count, figsize=size, squeeze=False, layout="constrained")
    for line, (name, images, captions) in zip(axes, rows, strict=True):
        for axis, image, caption in zip(line, images, captions, strict=True):
            pixels = np.clip(np.moveaxis(image, 0, -1) + 0.5, 0.0, 1.0)
            axis.imshow(pixels[..., 0] if pixels.shape[-1] == 1 else pixels, cmap="gray", vmin=0, vmax=1)
            axis.set_title(caption, fontsize=8, pad=2)
            axis.set_xticks([])
            axis.set_yticks([])
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    figure.suptitle(title, fontsize=11)
    return _saved(figure, stem)
