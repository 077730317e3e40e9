"""One way to compile: ahead of the first call, kept on disk, without the interpreter's lock, rounding as written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Signature, signature
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numba
from llvmlite import ir
from numba.core import types, typing
from numba.core.base import BaseContext
from numba.core.types import boolean, float64, int64, uint64
from numba.extending import intrinsic
from numba.types import NamedTuple

from zofw.kernels import forget_stale, rows

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])
Kinds: TypeAlias = tuple[Any, ...]  # of the arguments of an intrinsic
forget_stale()

REALS = types.Array(float64, 1, "C", readonly=True)
LONGS = types.Array(int64, 1, "C", readonly=True)
INTS = types.Array(types.int32, 1, "C", readonly=True)
TABLE = types.Array(float64, 2, "C", readonly=True)
OUT = types.Array(float64, 1, "C")
OUT_TABLE = types.Array(float64, 2, "C")
OUT_LONGS = types.Array(int64, 1, "C")
GROUPS = types.Array(float64, 3, "C")
SHIFT = NamedTuple([REALS, float64], rows.Shift)
STEPS = NamedTuple([float64, int64, boolean], rows.StencilSteps)
SOURCE = NamedTuple([int64, uint64, int64], rows.Source)
ROWS = {
    index: NamedTuple([REALS, index, index, LONGS, int64, int64, int64], rows.Rows) for index in (INTS, LONGS)
}


def kernel(*signatures: typing.Signature) -> Callable[[F], F]:
    """Compile for the given argument types now; a product and a sum are never contracted into one rounding."""

    def compiled(function: F) -> F:
        made: F = numba.njit(list(signatures), nogil=True, cache=True, error_model="numpy")(function)
        return made

    return compiled


def over_rows(
    result: types.Type, *others: types.Type
) -> Callable[[Callable[P, R]], Callable[[rows.Rows], Callable[P, R]]]:
    """Compile a kernel whose first argument is rows, for both widths of their indices; ``made(rows)`` is the one for these.

    It is called past numba's dispatcher, which takes structures apart in Python and refuses arrays that are read-only.
    """

    def compiled(function: Callable[P, R]) -> Callable[[rows.Rows], Callable[P, R]]:
        forms = [result(ROWS[index], *others) for index in (INTS, LONGS)]
        made: Any = kernel(*forms)(function)
        short, long = (made.overloads[form.args].entry_point for form in forms)
        return lambda rows: short if rows.indices.itemsize == 4 else long

    return compiled


def device(function: F) -> F:
    """A piece of other kernels."""
    made: F = numba.njit(error_model="numpy")(function)
    return made


def emitting(
    form: Callable[..., typing.Signature],
) -> Callable[[Callable[..., ir.Value]], Callable[..., Any]]:
    """An intrinsic whose signature ``form`` makes of its arguments' types, and whose code the function emits."""

    def made(emit: Callable[..., ir.Value]) -> Callable[..., Any]:
        def typed(
            context: BaseContext, *kinds: types.Type
        ) -> tuple[typing.Signature, Callable[..., ir.Value]]:
            def code(
                context: BaseContext,
                builder: ir.IRBuilder,
                made: typing.Signature,
                values: Sequence[ir.Value],
            ) -> ir.Value:
                return emit(context, builder, made.args, *values)

            return form(*kinds), code

        context, names = signature(emit).parameters["context"], signature(form).parameters.values()
        vars(typed)["__signature__"] = Signature([context, *names])  # numba goes by names
        found: Callable[..., Any] = intrinsic(typed)
        return found

    return made


@emitting(lambda array, place: types.void(array, uint64))
def fetch(
    context: BaseContext, builder: ir.IRBuilder, kinds: Kinds, array: ir.Value, place: ir.Value
) -> ir.Value:
    """Have a place of a contiguous array brought near, without waiting for it."""
    data = context.make_array(kinds[0])(context, builder, array).data
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    form = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", fnty=form)
    here = builder.bitcast(builder.gep(data, [place]), byte)
    builder.call(prefetch, [here, *(ir.Constant(number, value) for value in (0, 3, 1))])
    return context.get_dummy_value()
