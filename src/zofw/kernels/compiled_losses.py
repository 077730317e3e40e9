"""The formulas of :mod:`zofw.kernels.losses` as compiled elementwise functions."""

from __future__ import annotations

import numba
from numba.extending import register_jitable

from zofw.kernels import losses

for helper in (losses.exp_parts, losses.log1p_unit):
    register_jitable(helper)

logistic = numba.vectorize(["float64(float64)"], cache=True)(losses.logistic_formula)
welsch = numba.vectorize(["float64(float64)"], cache=True)(losses.welsch_formula)
