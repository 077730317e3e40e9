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

FEASIBILITY = 1e-10  # the least HiGHS accepts


def solve_scipy(c: ArrayLike, **constraints: Any) -> Array | None:
    """Return a vertex of least ⟨c, x⟩ under the constraints of SciPy's `linprog`, or None."""
    from scipy.optimize import linprog

    options = {"primal_feasibility_tolerance": FEASIBILITY, "dual_feasibility_tolerance": FEASIBILITY}
    solution: Mapping[str, Any] = linprog(c, method="highs-ds", options=options, **constraints)
    if solution["status"] in (2, 3):
        return None
    if solution["status"] != 0:
        raise RuntimeError(f"HiGHS did not solve the linear programme and says: {solution['message']}")
    x: Array = np.asarray(solution["x"])
    return x
