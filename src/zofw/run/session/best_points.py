"""The points that a run remembers: the last ones, x itself, and the best that was evaluated whole."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from zofw.core import Array, ConvexSet, Query, Tile
from zofw.problems.evaluate import single_evaluations
from zofw.run.record.run import Known, Run
from zofw.run.session.inside import is_member

SEEN = 4  # points evaluated whole in an iteration that are remembered to its end
LOOKED_AT = 4  # points of a sum's answer, the lowest first, that are tried for membership beside its anchors; of one function all


def remembered(
    run: Run, query: Query, values: Array, region: ConvexSet
) -> tuple[list[Known], Known | None, Known | None]:
    """Return the last points at which all components were evaluated, x itself where it is one, and the lowest that is in the set.

    ``values`` are those of the objective, (k, points of the query).
    """
    seen, here, key = run.seen, run.here, np.asarray(run.state.x, dtype=float).tobytes()
    if query.stencil.has_base:
        asked = [
            Known(x, value)
            for x, value in zip(query.anchors, values[:, -1].tolist(), strict=True)
            if value < math.inf
        ]
        seen = [*seen, *asked][-SEEN:]
        for one in asked:
            if one.x.tobytes() == key:
                here = one
    best = _lowest(query, values, region, run)
    if best is not None and best is not run.best and run.nit and best.x.tobytes() == key:
        best = replace(best, gap=run.gap, gap_error=run.info.gap_error)
    return seen, here, best


def highest(query: Query, values: Array) -> Known:
    """Return the point with the highest value."""
    place = int(values.argmax())
    return Known(query.point(*divmod(place, values.size // len(query.anchors))), float(values.flat[place]))


def without_stand_ins(query: Query, values: Array, replaced: list[Tile]) -> Array:
    """Return values of the objective with infinity at points that have none."""
    values = values.copy()
    for tile in replaced:
        anchor, row = divmod(
            tile.start // (1 if query.paired else tile.bottom - tile.top), query.tile_width(tile)
        )
        values[anchor, 0 if query.each else query.tile_columns(tile)[row]] = math.inf
    return values


def _lowest(query: Query, values: Array, region: ConvexSet, run: Run) -> Known | None:
    """Return the lowest point of an answer that is in the set, if it is below the best so far; else that one."""
    flat, best = values.ravel(), run.best
    most = math.inf if best is None else best.value
    first = int(flat.argmin())
    if flat[first] >= most:
        return best
    found = _member(query, first, flat, region)
    if found is None:
        places = flat.argsort(kind="stable")[1:].tolist()
        if run.n > 1:  # the lowest, and the anchors, which methods take from the set
            width = values.shape[1]
            anchors = range(width - 1, flat.size, width) if query.stencil.has_base else ()
            places = [place for at, place in enumerate(places, 1) if at < LOOKED_AT or place in anchors]
        for place in places:
            if flat[place] >= most:
                break
            found = _member(query, place, flat, region)
            if found is not None:
                break
    return best if found is None else found


def _member(query: Query, place: int, flat: Array, region: ConvexSet) -> Known | None:
    """Return the point of one value of the answer, if it is in the set."""
    x = query.point(*divmod(place, flat.size // len(query.anchors)))
    return Known(x, float(flat[place])) if is_member(region, x) else None


def member_of_cells(
    query: Query, tile: Tile, values: Array, best: Known | None, region: ConvexSet
) -> Known | None:
    """Return the lowest member among single evaluations of one function that is below the best."""
    most = math.inf if best is None else best.value
    for place in () if query.each else np.argsort(values, kind="stable").tolist():
        if values[place] >= most:
            break
        cell = tile.cells(tile.start + place, tile.start + place + 1)
        x = single_evaluations(query, cell)[0][0]
        if is_member(region, x):
            return Known(x, float(values[place]))
    return None
