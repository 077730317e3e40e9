"""Linear programmes: the simplex method of HiGHS, to the greatest accuracy it offers.

    min ⟨c, x⟩   subject to   lower ≤ R x ≤ upper,   l ≤ x ≤ u                          R (m, d), bounds may be infinite

The simplex method and not an interior-point method, because its answer is a vertex: d linearly
independent constraints are active.

References
----------
Q. Huangfu, J. A. J. Hall, Parallelizing the dual revised simplex method, Mathematical Programming Computation 10, 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array
from zofw.extras import extra

FEASIBILITY = 1e-10  # the least HiGHS accepts
ACTIVE = 1e-9  # a constraint this near to its bound, relative to its terms, is active at a warm vertex


def solve_scipy(c: ArrayLike, **constraints: Any) -> Array | None:
    """Return a vertex that minimises ⟨c, x⟩ under the constraints of `scipy.optimize.linprog`; None if there is none."""
    from scipy.optimize import linprog

    options = {"primal_feasibility_tolerance": FEASIBILITY, "dual_feasibility_tolerance": FEASIBILITY}
    solution: Mapping[str, Any] = linprog(c, method="highs-ds", options=options, **constraints)
    if solution["status"] in (2, 3):
        return None
    if solution["status"] != 0:
        raise RuntimeError(f"HiGHS did not solve the linear programme and says: {solution['message']}")
    x: Array = np.asarray(solution["x"])
    return x


def solve_highspy(
    c: Array, rows: Array, row_bounds: Array, bounds: Array, warm: Array | None
) -> Array:  # (m, d), (m, 2), (d, 2), (d,)
    """Return a vertex that minimises ⟨c, x⟩ over row_bounds ≤ rows·x, bounds ≤ x, from the
    basis of a warm vertex if given.

    The model is built for each call, so that the result depends on the arguments alone. A
    degenerate warm vertex has more active constraints than a basis holds; HiGHS picks among
    them.
    """
    from scipy.sparse import csc_array

    highspy = extra("highspy", "lp")
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = rows.shape
    model.col_cost_ = c
    model.col_lower_, model.col_upper_ = bounds.T.copy()
    model.row_lower_, model.row_upper_ = row_bounds.T.copy()
    columns = csc_array(rows)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = columns.indptr, columns.indices
    model.a_matrix_.value_ = columns.data
    solver = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("primal_feasibility_tolerance", FEASIBILITY),
        ("dual_feasibility_tolerance", FEASIBILITY),
        (
            "simplex_strategy",
            1 if warm is None else 4,
        ),  # Dual without a start, primal from a feasible vertex.
    ):
        solver.setOptionValue(option, value)
    solver.passModel(model)
    if warm is not None:
        basis = highspy.HighsBasis()
        basis.valid, basis.alien = True, True
        states = [
            highspy.HighsBasisStatus.kBasic,
            highspy.HighsBasisStatus.kLower,
            highspy.HighsBasisStatus.kUpper,
        ]
        basis.col_status = [states[i] for i in _active(warm, np.abs(warm), bounds)]
        basis.row_status = [states[i] for i in _active(rows @ warm, np.abs(rows) @ np.abs(warm), row_bounds)]
        solver.setBasis(basis)
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(
            f"HiGHS did not solve the linear programme and says: {solver.modelStatusToString(status)}"
        )
    return np.asarray(solver.getSolution().col_value, dtype=np.float64)


def _active(values: Array, terms: Array, bounds: Array) -> Array:
    """Return 0 for a value between its bounds, 1 at the lower, 2 at the upper."""
    near = np.abs(values[:, None] - bounds) <= ACTIVE * np.maximum(terms, 1.0)[:, None]
    states: Array = np.where(near[:, 0], 1, np.where(near[:, 1], 2, 0))
    return states
