"""Uniform indices as NumPy's generators draw them, sooner: the same numbers, and the generator left in the same state.

References
----------
D. Lemire, Fast random integer generation in an interval, ACM Transactions on Modeling and Computer Simulation 29, 2019.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.types import int64, void
from numba.extending import intrinsic

from zofw.core import Indices
from zofw.kernels.generator import U64
from zofw.kernels.jit import OUT_LONGS, kernel

LOWER = U64(0xFFFFFFFF)


def _next_word(typing: Any, function: Any, state: Any) -> Any:
    """The next 32 bits of the generator in ``state``, by its own C function; both are addresses."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = ir.FunctionType(ir.IntType(32), [ir.IntType(64)])
        drawn = builder.call(builder.inttoptr(arguments[0], form.as_pointer()), [arguments[1]])
        return builder.zext(drawn, ir.IntType(64))

    return types.uint64(types.int64, types.int64), emit


next_word: Callable[[Any, Any], Any] = intrinsic(_next_word)


@kernel(void(int64, int64, int64, OUT_LONGS))
def fill(function: int, state: int, n: int, out: Any) -> None:
    """Indices below n < 2³²: the upper half of n times a word, words whose lower half is below 2³² mod n set aside."""
    times, threshold = U64(n), (U64(1) << U64(32)) % U64(n)
    for i in range(len(out)):
        product = next_word(function, state) * times
        while product & LOWER < threshold:
            product = next_word(function, state) * times
        out[i] = product >> U64(32)


@lru_cache(maxsize=16)
def addresses(bits: np.random.BitGenerator) -> tuple[int, int]:
    """Of the C function that draws 32 bits, and of the state it draws them from."""
    interface = bits.ctypes
    return ctypes.cast(interface.next_uint32, ctypes.c_void_p).value or 0, interface.state_address


def integers(rng: np.random.Generator, n: int, size: int) -> Indices:
    """``rng.integers(n, size=size)`` for 1 < n < 2³²."""
    out = np.empty(size, dtype=np.int64)
    with rng.bit_generator.lock:
        fill(*addresses(rng.bit_generator), n, out)
    return out
