"""A polytope given by linear inequalities and equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zofw.atoms import Array, Atom, Dense, by_value
from zofw.sets.lp import FEASIBILITY, solve_scipy
from zofw.sets.protocol import EPS, Inball, SetFacts, Vertices, bound_rows, frozen, register


@register("polytope")
@by_value
@dataclass(frozen=True, eq=False)
class Polytope(Vertices):
    r"""The polytope :math:`\{x : A_{ub} x \le b_{ub},\ A_{eq} x = b_{eq},\ l \le x \le u\}`.

    The oracle is one linear programme, solved by the simplex method of HiGHS to a primal and
    dual feasibility of 1e-10. Where several vertices are optimal the value is the same and the
    vertex is the one the solver ends on, which may differ between versions of HiGHS.

    An empty or unbounded polytope is refused when it is made.

    The diameter is bounded by the diagonal of the bounds, or of the least box where some are
    infinite.

    Parameters
    ----------
    A_ub, b_ub
        Inequalities, shapes (m, d) and (m,).
    A_eq, b_eq
        Equations, shapes (q, d) and (q,).
    bounds
        One pair (l, u) for all coordinates or a sequence of d pairs; None is no bound. Unlike
        `scipy.optimize.linprog`, the default is *no* bound, not x ≥ 0.

    References
    ----------
    J. Edmonds, Submodular functions, matroids, and certain polyhedra, 1970 (the greedy oracle of `shares`).

    Q. Huangfu and J. A. J. Hall, Parallelizing the dual revised simplex method, Math. Program.
    Comput. 10, 2018.

    Examples
    --------
    >>> Polytope(A_ub=[[1.0, 1.0]], b_ub=[1.5], bounds=(0.0, 1.0)).lmo([-2.0, -1.0])
    array([1. , 0.5])
    """

    A_ub: Any = None
    b_ub: Any = None
    A_eq: Any = None
    b_eq: Any = None
    bounds: Any = (None, None)

    facts = SetFacts(
        members=r"Ax \le b,\ Ex = f,\ l \le x \le u",
        oracle="linear programme (HiGHS)",
        cost=r"\text{one LP}",
        atom="dense",
        inball="Chebyshev",
    )

    def __post_init__(self) -> None:
        limits = np.array(self.bounds, dtype=np.float64)  # None becomes NaN
        dims = {np.shape(matrix)[-1] for matrix in (self.A_ub, self.A_eq) if matrix is not None}
        dims |= {len(limits)} if limits.ndim == 2 else set()
        if len(dims) != 1 or limits.shape[-1:] != (2,) or limits.ndim > 2:
            raise ValueError(
                "Polytope: A_ub, A_eq and a list of pairs of bounds must agree on one dimension, but give "
                f"{sorted(dims) or 'none'} with bounds of shape {limits.shape}."
            )
        dim = dims.pop()
        for kind in ("ub", "eq"):
            self._set_rows(f"A_{kind}", f"b_{kind}", dim)
        limits = np.where(np.isnan(limits), [-np.inf, np.inf], limits) + np.zeros((dim, 1))
        if (limits[:, 0] > limits[:, 1]).any():
            raise ValueError(
                f"Polytope: a lower bound exceeds its upper bound at {np.argmax(np.diff(limits) < 0)}."
            )
        vars(self)["bounds"] = frozen(self, "bounds", limits, 2)
        self._require_bounded()
        self.inball(dim)  # raises if the polytope is empty

    def _set_rows(self, matrix: str, vector: str, dim: int) -> None:
        left, right = vars(self)[matrix], vars(self)[vector]
        if (left is None) != (right is None):
            raise ValueError(f"Polytope: {matrix} and {vector} must be given together.")
        left = frozen(self, matrix, np.zeros((0, dim)) if left is None else left, 2)
        right = frozen(self, vector, np.zeros(0) if right is None else right, 1)
        if len(left) != len(right) or not np.isfinite(left).all() or not np.isfinite(right).all():
            raise ValueError(
                f"Polytope: {matrix} and {vector} must be finite with as many rows as right-hand sides, but have shapes "
                f"{left.shape} and {right.shape}."
            )
        vars(self).update({matrix: left, vector: right})

    def _require_bounded(self) -> None:
        """A polyhedron is bounded iff 0 is its only direction of recession r.

        If there is another, then ⟨h, r⟩ ≠ 0 for a random h with probability one, and one of ±h
        finds it.
        """
        finite = np.isfinite(self.bounds)
        if finite.all():
            return
        h = np.random.default_rng(0).standard_normal(len(finite))
        box = np.where(finite, 0.0, [-1.0, 1.0])
        for c in (h, -h):
            r = solve_scipy(
                c, A_ub=self.A_ub, b_ub=0 * self.b_ub, A_eq=self.A_eq, b_eq=0 * self.b_eq, bounds=box
            )
            if r is not None and c @ r < -1e3 * FEASIBILITY:
                raise ValueError(
                    f"Polytope: the constraints leave coordinate {int(np.argmax(np.abs(r)))} unbounded; add bounds or rows."
                )

    @property
    def fixed_dim(self) -> int:
        """Return d."""
        return len(self.bounds)

    @classmethod
    def shares(
        cls,
        dim: int,
        groups: Sequence[tuple[Sequence[int], float]],
        *,
        total: float = 1.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
    ) -> Polytope:
        """Return shares of a total with a cap on the sum of each of some disjoint groups, and
        floors and caps on each share.

        Parameters
        ----------
        dim
            The number of shares.
        groups
            Pairs of a list of indices and the most they may sum to.
        total, lower, upper
            What all shares sum to, and the bounds of each.

        Examples
        --------
        >>> Polytope.shares(4, [([0, 1], 0.5)]).lmo([0.0, 1.0, 2.0, 3.0])
        array([0.5, 0. , 0.5, 0. ])
        """
        rows = np.zeros((len(groups), dim))
        for row, (members, _) in zip(rows, groups, strict=True):
            row[np.asarray(members)] = 1.0
        bounds = np.stack([np.broadcast_to(side, dim) for side in (lower, upper)], axis=1)
        return cls(rows, [cap for _, cap in groups], np.ones((1, dim)), [total], bounds)

    @cached_property
    def _groups(self) -> NDArray[np.int64] | None:
        """Return the row of A_ub of each coordinate, −1 for none; None if it is not one of `shares`."""
        rows = self.A_ub
        one_total = (
            self.A_eq.shape[0] == 1 and np.all(self.A_eq == 1.0) and np.isfinite(self.bounds[:, 0]).all()
        )
        if not one_total or not np.isin(rows, (0.0, 1.0)).all() or np.any(rows.sum(axis=0) > 1):
            return None
        return np.where(rows.any(axis=0), np.argmax(rows, axis=0), -1) if len(rows) else None

    def _fill(self, g: Array, groups: NDArray[np.int64]) -> Array:
        """Return the floors, filled in increasing order of g as far as caps, groups and total
        allow.

        The constraints are a laminar family, and the greedy algorithm is exact on the bases of
        its polymatroid.
        """
        lower, upper = self.bounds.T
        s: Array = lower.copy()
        left = float(self.b_eq[0] - lower.sum())
        room = self.b_ub - self.A_ub @ lower
        for i in np.argsort(g, kind="stable"):
            group = groups[i]
            step = min(left, upper[i] - lower[i], room[group] if group >= 0 else np.inf)
            if step > 0:
                s[i] += step
                left -= step
                if group >= 0:
                    room[group] -= step
            if left <= 0:
                break
        return s

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Dense:
        """Return a vertex of least ⟨g, s⟩: by the simplex method, or by sorting for `shares`."""
        g = self._scaled(g)
        if self._groups is not None:
            return Dense(self._fill(g, self._groups))
        constraints = {"A_ub": self.A_ub, "b_ub": self.b_ub, "A_eq": self.A_eq, "b_eq": self.b_eq}
        return Dense(np.asarray(solve_scipy(g, **constraints, bounds=self.bounds)))

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if every constraint holds up to tol times the greatest of its terms."""
        x = self._point(x)
        size = np.abs(x)
        excess = np.concatenate([self.A_ub @ x - self.b_ub, np.abs(self.A_eq @ x - self.b_eq)])
        terms = np.concatenate([np.abs(self.A_ub) @ size, np.abs(self.A_eq) @ size])
        slack = tol * np.maximum(terms, np.abs(np.concatenate([self.b_ub, self.b_eq])))
        lower, upper = self.bounds.T
        margin = tol * max(np.max(size), np.max(np.abs(self.bounds[np.isfinite(self.bounds)]), initial=0.0))
        return bool(np.all(excess <= slack) and np.all(x >= lower - margin) and np.all(x <= upper + margin))

    def _diameter(self, dim: int) -> float:
        """Return an upper bound: the diagonal of the bounds, or of the least box (2d programmes)."""
        return self._diagonal

    @cached_property
    def _diagonal(self) -> float:
        widths = np.diff(self.bounds)[:, 0]
        if not np.isfinite(self.bounds).all():
            widths = np.array([self.lmo(-e) @ e - self.lmo(e) @ e for e in np.eye(self.fixed_dim)])
        return float(np.linalg.norm(widths))

    @cached_property
    def _frame(self) -> Array:
        """Return orthonormal rows that span the normals of equations and of l = u, (rank, d)."""
        fixed = np.flatnonzero(self.bounds[:, 0] == self.bounds[:, 1])
        normals = np.concatenate([self.A_eq, np.eye(self.fixed_dim)[fixed]])
        _, sigma, rows = np.linalg.svd(normals, full_matrices=False)
        return np.asarray(rows[sigma > max(normals.shape) * np.finfo(float).eps * np.max(sigma, initial=0.0)])

    @cached_property
    def _chebyshev(self) -> tuple[Array, float]:
        """Return centre and radius of a greatest ball inside, within the flat of the equations."""
        eye = np.eye(self.fixed_dim)
        lower, upper = self.bounds.T
        low, high = np.isfinite(lower), np.isfinite(upper)
        normals = np.concatenate([self.A_ub, -eye[low], eye[high]])
        right = np.concatenate([self.b_ub, -lower[low], upper[high]])
        lengths = np.linalg.norm(self.tangent(normals.T), axis=0)
        lengths[lengths <= 1e-12 * np.linalg.norm(normals, axis=1)] = 0.0  # constant on the flat
        single = not lengths.any()
        solution = solve_scipy(
            np.append(np.zeros(self.fixed_dim), -1.0),
            A_ub=np.column_stack([normals, lengths]),
            b_ub=right,
            A_eq=np.column_stack([self.A_eq, np.zeros(len(self.b_eq))]),
            b_eq=self.b_eq,
            bounds=[*self.bounds, (0.0, 0.0 if single else np.inf)],
        )
        if solution is None:
            raise ValueError("Polytope: no point satisfies all constraints; the set is empty.")
        return solution[:-1], np.inf if single else float(solution[-1])

    def _start(self, dim: int) -> Array:
        """Return the centre of a greatest inscribed ball."""
        return self._chebyshev[0].copy()

    def _inball(self, dim: int) -> Inball | None:
        """Return a greatest inscribed ball within the flat of the equations.

        None if it has no radius there, which happens when inequalities hide an equation.
        """
        centre, radius = self._start(dim), self._chebyshev[1]
        return (
            (centre, radius) if radius > 1e3 * FEASIBILITY * max(1.0, float(np.abs(centre).max())) else None
        )

    @property
    def clip(self) -> Callable[[ArrayLike], Array]:
        """Return bounds and inequalities exact, equations to rounding; absent if no ball inside is known."""
        if self.inball(self.fixed_dim) is None:
            raise AttributeError(
                "Polytope: some inequalities hold with equality everywhere in the set, and no exact member is known; write these as A_eq and b_eq."
            )
        return self._clip

    def _clip(self, x: ArrayLike) -> Array:
        """Return x on the flat and in the bounds, drawn to the centre until the inequalities hold."""
        x = self._finite(x)
        if self._holds(x):
            return x.copy()
        start, share = self._level(x), 0.0
        centre = self._level(self.initial_point(x.size))
        while not self._holds(inside := self._level(start + share * (centre - start))) and share < 1.0:
            share = min(1.0, max(2 * share, EPS))
        return inside

    def _level(self, x: Array) -> Array:
        """Return x moved along the normals until the equations hold, then put in the bounds."""
        for _ in range(2):  # the second pass removes what rounding left of the first
            x = x + self._solve_equations @ (self.b_eq - self.A_eq @ x)
        lower, upper = self.bounds.T
        return np.asarray(np.clip(x, lower, upper))

    @cached_property
    def _solve_equations(self) -> Array:
        """Return the right-hand inverse of A_eq restricted to the coordinates that move, (d, q)."""
        moves = self.bounds[:, 0] < self.bounds[:, 1]
        inverse: Array = np.linalg.pinv(self.A_eq * moves)
        return inverse

    def _holds(self, x: Array) -> bool:
        """Return True if bounds and inequalities hold, and equations up to d roundings."""
        lower, upper = self.bounds.T
        terms = np.abs(self.A_eq) @ np.abs(x) + np.abs(self.b_eq)
        level = np.abs(self.A_eq @ x - self.b_eq) <= 2 * x.size * EPS * terms
        return bool(
            np.all(x >= lower) and np.all(x <= upper) and np.all(self.A_ub @ x <= self.b_ub) and level.all()
        )

    def tangent(self, v: ArrayLike) -> Array:
        """Return v without its part along the normals of the equations."""
        v = np.asarray(v, dtype=np.float64)
        along: Array = self._frame.T @ (self._frame @ v)
        return v - along

    def facets(self, dim: int) -> tuple[Array, Array]:
        """Return A, b with A x ≤ b: the inequalities and the finite bounds."""
        self.check_dim(dim)
        rows, sides = bound_rows(*self.bounds.T)
        return np.concatenate([self.A_ub, rows]), np.concatenate([self.b_ub, sides])
