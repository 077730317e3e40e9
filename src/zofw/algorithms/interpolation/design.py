"""The first points: one along each direction of the hull, inside the set."""

from __future__ import annotations

import numpy as np

from zofw.algorithms.interpolation.frame import Frame
from zofw.core import Array

LEAST = 1e-9  # relative to Δ: what an edge must add to the span of those before it


def first_points(frame: Frame, z: Array, delta: float, axes: Array | None = None) -> Array:
    """Coordinates of r members about Δ from the member z, affinely independent with it as far as the set allows.

    Directions are the axes, made orthogonal to the edges that are there. Of x ± Δq, brought into the set by its projection
    or, without one, drawn from x towards the atoms of ±q, the one that reaches farther along q is taken.
    """
    r = frame.rank
    if axes is None:
        axes = np.eye(r) if frame.basis is None else _hull_axes(frame.basis)
    edges: list[Array] = []
    span = np.zeros((r, 0))
    waiting = list(range(len(axes)))
    while waiting and len(edges) < r:
        rest = axes[waiting] - (axes[waiting] @ span) @ span.T
        lengths = np.linalg.norm(rest, axis=1)
        first = int(np.argmax(lengths > 0.7 * lengths.max()))
        q = rest[first] / max(lengths[first], 1e-300)
        waiting.pop(first)
        best = max(
            (edge for sign in (1.0, -1.0) for edge in _edges(frame, z, sign * q, delta)),
            key=lambda e: abs(float(e @ q)),
        )
        fresh = best - span @ (span.T @ best)
        length = float(np.linalg.norm(fresh))
        if length > LEAST * delta:
            edges.append(best)
            span = np.column_stack([span, fresh / length])
    return z + np.array(edges).reshape(-1, r)


def _hull_axes(axes: Array) -> Array:
    """The axes of the space, (d, r), seen in the hull."""
    lengths = np.linalg.norm(axes, axis=1)
    seen: Array = axes[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    return seen


def _edges(frame: Frame, z: Array, q: Array, delta: float) -> list[Array]:
    """Return ways from z along q that stay in the set, not shorter than the resolution if the set has room for them."""
    if frame.task.resolution > 0:
        delta = max(delta, (1 + LEAST) * frame.task.resolution / float(np.linalg.norm(frame.steps(q))))
    if frame.sure_to_contain(z + delta * q):
        return [delta * q]
    if frame.task.can_project:
        return [frame.inward(frame.task.project(frame.outward(z + delta * q))) - z]
    edge = frame.lmo(-q) - z
    return [edge * min(1.0, delta / max(float(np.linalg.norm(edge)), 1e-300))]
