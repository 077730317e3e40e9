"""The loops of :mod:`zofw.kernels.losses`, compiled.

Loops and formulas share a file because numba's cache on disk notices a change of the loop's own file alone.
"""

from __future__ import annotations

from numba.core.types import void
from numba.extending import register_jitable

from zofw.kernels import losses
from zofw.kernels.jit import OUT, kernel

for piece in (
    losses.reduced,
    losses.exp_rest,
    losses.exp_parts,
    losses.exp_minus,
    losses.quotient,
    losses.twice_artanh,
    losses.softplus,
    losses.welsch_formula,
    losses.logistic_passes,
):
    register_jitable(piece)

logistic = kernel(void(OUT))(losses.logistic_loop)
welsch = kernel(void(OUT))(losses.welsch_loop)
