"""Small instances of every registered set: the registry name, a set, and a dimension to test it in."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

zs = importlib.import_module("zofw.sets")  # whatever the front door calls `sets`

POINTS = np.random.default_rng(5).integers(-3, 4, size=(7, 3)).astype(float)
FLAT_POINTS = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0], [2.0, 1.0, 1.0]])
ROWS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.5], [-1.0, 0.3, 0.0]])
RIGHT = np.array([2.0, 1.0, 1.5])
EQUATION = {"A_eq": [[1.0, 2.0, -1.0]], "b_eq": [0.5]}

INSTANCES: list[tuple[str, Any, int]] = [
    ("l1-ball", zs.L1Ball(2.0), 5),
    ("l1-ball", zs.L1Ball(1e-3), 1),
    ("l2-ball", zs.L2Ball(2.0), 5),
    ("linf-ball", zs.LinfBall(0.5), 4),
    ("lp-ball", zs.LpBall(2.0, 3.0), 5),
    ("lp-ball", zs.LpBall(2.0, 1.25), 5),
    ("lp-ball", zs.LpBall(2.0, 1.0), 4),
    ("lp-ball", zs.LpBall(2.0, np.inf), 4),
    ("lp-ball", zs.LpBall(1.0, 2.0), 4),
    ("box", zs.Box(-1.0, 2.0), 4),
    ("box", zs.Box([0.0, 1.0, -2.0], [1.0, 1.0, 5.0]), 3),
    ("box", zs.Box(0.5, [1.0, 2.0]), 2),
    ("box", zs.Box([1.0, 2.0], [1.0, 2.0]), 2),
    ("simplex", zs.Simplex(2.0), 5),
    ("simplex", zs.Simplex(), 1),
    ("capped-simplex", zs.CappedSimplex(1.7, 0.5), 6),
    ("capped-simplex", zs.CappedSimplex(2.0, 1.0), 5),
    ("capped-simplex", zs.CappedSimplex(0.3, 0.1), 3),
    ("capped-simplex", zs.CappedSimplex(1.0, 4.0), 3),
    ("capped-simplex", zs.CappedSimplex(1.0, lower=[0.1, 0.0, 0.2, 0.0], upper=[0.5, 0.4, 0.2, 1.0]), 4),
    ("capped-simplex", zs.CappedSimplex(1.0, lower=0.1), 5),
    ("capped-simplex", zs.CappedSimplex(0.6, lower=[0.1, 0.2, 0.3]), 3),
    ("k-sparse", zs.KSparse(2, 1.5), 6),
    ("k-sparse", zs.KSparse(5), 3),
    ("group-ball", zs.GroupBall([[0, 2], [4, 1, 3]], 1.5), 5),
    ("nuclear-ball", zs.NuclearBall(1.5, (3, 4)), 12),
    ("nuclear-ball", zs.NuclearBall(1.5, (4, 2)), 8),
    ("spectral-ball", zs.SpectralBall(1.5, (3, 4)), 12),
    ("spectral-ball", zs.SpectralBall(0.3, (4, 1)), 4),
    ("spectraplex", zs.Spectraplex(3, 2.0), 9),
    ("spectraplex", zs.Spectraplex(1), 1),
    ("birkhoff", zs.Birkhoff(3), 9),
    ("birkhoff", zs.Birkhoff(1), 1),
    ("convex-hull", zs.ConvexHull(POINTS), 3),
    ("convex-hull", zs.ConvexHull(FLAT_POINTS), 3),
    ("polytope", zs.Polytope(ROWS, RIGHT, bounds=(-1.0, 2.0)), 3),
    ("polytope", zs.Polytope(ROWS, RIGHT, **EQUATION, bounds=[(0, 3), (0, None), (None, 1)]), 3),
    ("polytope", zs.Polytope.shares(5, [([0, 2], 0.4), ([1], 0.3)], lower=0.05), 5),
    ("product", zs.Product([zs.Simplex(), zs.L1Ball(2.0), zs.Box([0, 0], [1, 3])], [3, 2, 2]), 7),
    ("product", zs.Product([zs.NuclearBall(1.0, (2, 2)), zs.ConvexHull(POINTS)]), 7),
]
IDS = [f"{name}-{i}" for i, (name, _, _) in enumerate(INSTANCES)]
