"""Arrays of other kinds at the boundary, torch tensors and those of the array API standard; and least squares with u ≥ 0."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

FETCHES = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""True if NumPy can fetch an array from its device; 2.0 takes those in main memory only."""


def is_tensor(value: object) -> bool:
    """Return True if it is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(value: Any) -> np.ndarray:
    """As a NumPy array: fetched from its device, cut from its gradient, sharing memory where that is possible."""
    if is_tensor(value):
        value = value.detach().cpu()
        return np.asarray((value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy())
    if hasattr(value, "__array_namespace__") and not isinstance(value, (np.ndarray, np.generic)):
        return np.from_dlpack(value, device="cpu") if FETCHES else np.from_dlpack(value)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("it is masked")
    return np.asarray(value)


def sample_of_kind(like: Any) -> Any:
    """Return an empty array of the kind, precision and device of ``like``, or a sentence on why there is none."""
    if is_tensor(like):
        real, made = like.dtype.is_floating_point, like.new_empty
    elif hasattr(like, "__array_namespace__"):
        xp = like.__array_namespace__()
        real = xp.isdtype(like.dtype, "real floating")

        def made(size: int) -> Any:
            return xp.empty(size, dtype=like.dtype, device=like.device)

    else:
        raise TypeError(
            f"like should be an array whose kind the function wants: a torch tensor, or an array of a library that follows "
            f"the array API standard; got {type(like).__name__}."
        )
    if not real:
        raise ValueError(f"like should hold real numbers in floating point; its dtype is {like.dtype}.")
    return made(0)


def as_kind(array: np.ndarray, like: Any) -> Any:
    """Return the array as one of the kind of ``like``, on its device; real numbers in its precision, whole numbers as they are.

    A tensor is always a copy, as torch knows no read-only memory; other kinds share memory where they can.
    """
    precision = None if array.dtype.kind in "iu" else like.dtype
    if is_tensor(like):
        return sys.modules["torch"].tensor(array, dtype=precision, device=like.device)
    return like.__array_namespace__().asarray(array, dtype=precision, device=like.device)


def nonnegative(E: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return argmin ‖Eu − f‖ over u ≥ 0."""
    from scipy.optimize import lsq_linear, nnls

    try:
        return np.asarray(nnls(E, f, maxiter=50 * (E.shape[1] + 10))[0])
    except RuntimeError:  # nnls of SciPy 1.12 to 1.14 can circle
        return np.asarray(np.maximum(lsq_linear(E, f, bounds=(0, np.inf), method="bvls").x, 0.0))
