"""The formulas of :mod:`zofw.kernels.losses` as compiled loops."""

from __future__ import annotations

from numba.core.types import void
from numba.extending import register_jitable

from zofw.core import Array
from zofw.kernels import losses
from zofw.kernels.jit import OUT, kernel

for formula in (losses.exp_parts, losses.log1p_unit, losses.logistic_formula, losses.welsch_formula):
    register_jitable(formula)


@kernel(void(OUT))
def logistic(t: Array) -> None:
    """log(1 + e^{−t}) over t."""
    for i in range(t.size):
        t[i] = losses.logistic_formula(t[i])


@kernel(void(OUT))
def welsch(t: Array) -> None:
    """1 − e^{−t²} over t."""
    for i in range(t.size):
        t[i] = losses.welsch_formula(t[i])
