"""One way to compile: ahead of the first call, kept on disk, without the interpreter's lock, rounding as written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from zofw.kernels import forget_stale

F = TypeVar("F", bound=Callable[..., Any])


forget_stale()

REALS = types.Array(types.float64, 1, "C", readonly=True)
LONGS = types.Array(types.int64, 1, "C", readonly=True)
INTS = types.Array(types.int32, 1, "C", readonly=True)
TABLE = types.Array(types.float64, 2, "C", readonly=True)
OUT = types.Array(types.float64, 1, "C")
OUT_TABLE = types.Array(types.float64, 2, "C")
OUT_LONGS = types.Array(types.int64, 1, "C")


def kernel(*signatures: Any) -> Callable[[F], F]:
    """Compile for the given argument types now; a product and a sum are never contracted into one rounding."""

    def compiled(function: F) -> F:
        made: F = numba.njit(list(signatures), nogil=True, cache=True, error_model="numpy")(function)
        return made

    return compiled


def device(function: F) -> F:
    """A piece of other kernels."""
    made: F = numba.njit(error_model="numpy")(function)
    return made


def _bitcast(source: Any, target: Any) -> Any:
    """The same bits under another type of the same width."""

    def typing(context: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(source), emit

    return intrinsic(typing)


def _fetch(typing: Any, array: Any, place: Any) -> Any:
    """Have a place of a contiguous array brought near, without waiting for it."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", fnty=form)
        here = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(prefetch, [here, *(ir.Constant(number, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.uint64), emit


fetch: Callable[[Any, Any], None] = intrinsic(_fetch)
as_float: Callable[[Any], float] = _bitcast(types.uint64, types.float64)
as_bits: Callable[[Any], Any] = _bitcast(types.float64, types.uint64)
as_float32: Callable[[Any], Any] = _bitcast(types.uint32, types.float32)
as_bits32: Callable[[Any], Any] = _bitcast(types.float32, types.uint32)
