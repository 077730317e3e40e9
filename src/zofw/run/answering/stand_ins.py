"""Stand-ins for values that failed for good: worse than their neighbours, so that steps shrink away from there."""

from __future__ import annotations

import numpy as np

from zofw.core import WORST, Array, Query, Stencil, Task, Tile
from zofw.run.record.run import Run

STEEP = 4.0  # times as fast as f: enough to turn an average of earlier slopes round
RISE = 1e-3  # of the highest value, where all values so far are equal


def stand_ins(run: Run, task: Task, query: Query, tile: Tile, table: Array) -> Array:
    """Return a table of values (anchors, points, components) with a number for each NaN.

    A method whose state knows walls gets ``WORST`` for plain values. Elsewhere a point is as high as
    the highest of the other points around its anchor. If all of these failed, values grow with the
    distance from the best point z, faster than f does from z to the highest point h, so that slopes
    lead back:

        f(h) + s·‖x − z‖²/‖anchor − z‖,    s = 4(f(h) − f(z))/‖h − z‖
    """
    missing = np.isnan(table)
    alone = query.stencil is Stencil.VALUE and (run.n == 1 or query.each)
    if alone and getattr(run.state, "walls", False):
        return np.where(missing, WORST, table)
    around = np.where(missing, -np.inf, table).max(axis=1, keepdims=True)
    table = np.where(missing, around, table)
    for anchor in np.flatnonzero(np.isinf(table).any(axis=(1, 2))).tolist():
        rows, columns = np.nonzero(np.isinf(table[anchor]))
        table[anchor, rows, columns] = _bowl(run, task, query, tile, anchor)[rows]
    return table


def _bowl(run: Run, task: Task, query: Query, tile: Tile, anchor: int) -> Array:
    """Return values at the points of an anchor that grow with the distance from the best point."""
    z = task.set.initial_point(run.dim) if run.best is None else run.best.x
    distance = float(np.linalg.norm(query.anchors[anchor] - z)) or 1.0
    slope, high = 0.0, 0.0 if run.high is None else run.high.value
    if run.best is not None and run.high is not None and high > run.best.value:
        slope = (high - run.best.value) / float(np.linalg.norm(run.high.x - z))
    slope = STEEP * slope or RISE * abs(high) / distance or 1.0
    x = query.points(anchor, tile)
    return np.asarray(high + slope / distance * ((x - z) ** 2).sum(axis=1))
