"""The laws of a law of directions, by simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from zofw.core import Law
from zofw.sets.check import Report, examine

DIM, COUNT, DRAWS, ERRORS = 13, 5, 3000, 5.0


def matrix_has_many_views(law: Law) -> Iterator[str]:
    """columns, rows, U c, Uᵀ g and Z U are of one d×b matrix"""
    for d, b in ((1, 1), (5, 5), (70, 67), (33, 4)):
        rng = np.random.default_rng(1)
        U = law.draw(np.random.default_rng(0), d, b)
        M = U.columns(0, b)
        c, g, Z = rng.standard_normal(b), rng.standard_normal(d), rng.standard_normal((3, d))
        views = {
            "columns one by one": (np.concatenate([U.columns(j, j + 1) for j in range(b)], axis=1), M),
            "rows": (U.rows(np.arange(d)[::-1]), M[::-1]),
            "combine(c)": (U @ c, M @ c),
            "project(g)": (U.T @ g, M.T @ g),
            "product(Z)": (U.product(Z), Z @ M),
        }
        for name, (found, expected) in views.items():
            if not np.allclose(found, expected, atol=1e-10):
                yield f"{name} of a {d}×{b} draw is not that of columns(0, {b})."


def key_decides(law: Law) -> Iterator[str]:
    """the same generator gives the same matrix, another one another"""
    first, again, other = (law.draw(np.random.default_rng(s), 40, 12).columns(0, 12) for s in (5, 5, 6))
    if not np.array_equal(first, again):
        yield "two draws with one seed differ; draw from the rng alone."
    if np.array_equal(first, other):
        yield "draws with seeds 5 and 6 are the same."


def constants_are_as_stated(law: Law) -> Iterator[str]:
    """s E[UUᵀ] = I and E‖UUᵀx‖² = κ‖x‖², with the scale s and the second moment κ that it states"""
    rng = np.random.default_rng(2)
    x = rng.standard_normal(DIM)
    x /= np.linalg.norm(x)
    s, kappa = law.scale(DIM, COUNT), law.second_moment(DIM, COUNT)
    images = np.array([U @ (U.T @ x) for U in (law.draw(rng, DIM, COUNT) for _ in range(DRAWS))])
    error = images.std(axis=0) / math.sqrt(DRAWS)
    off = np.abs(images.mean(axis=0) - x / s) - ERRORS * error
    if (off > 1e-9).any():
        j = int(np.argmax(off))
        yield f"entry {j} of E[UUᵀ]x is {images.mean(axis=0)[j]:.4f} ± {error[j]:.4f}, and x/scale is {x[j] / s:.4f}."
    squares = (images**2).sum(axis=1)
    error = squares.std() / math.sqrt(DRAWS)
    if abs(squares.mean() - kappa) > ERRORS * error + 1e-9:
        yield f"E‖UUᵀx‖² is {squares.mean():.4f} ± {error:.4f} for a unit x, and second_moment is {kappa:.4f}."


def refuses_no_directions(law: Law) -> Iterator[str]:
    """less than one direction is refused with ValueError"""
    try:
        law.check(5, 0)
    except ValueError:
        return
    yield "check(5, 0) should raise ValueError."


LAWS = (matrix_has_many_views, key_decides, constants_are_as_stated, refuses_no_directions)


def check_law(law: Law) -> Report:
    """Run the laws of a law of directions on any of them, and explain each that is broken.

    >>> from zofw.directions import Rademacher
    >>> check_law(Rademacher()).ok
    True
    """
    return Report(repr(law), None, tuple(examine(rule, law) for rule in LAWS))
