"""One way to compile: ahead of the first call, kept on disk, without the interpreter's lock, rounding as written."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

import numba
from llvmlite import ir
from numba.core import types, typing
from numba.core.base import BaseContext
from numba.core.types import boolean, float64, int64, uint64
from numba.extending import intrinsic
from numba.types import NamedTuple as Structure

from zofw.kernels import forget_stale, rows

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])
Emitter: TypeAlias = Callable[..., ir.Value]
forget_stale()

REALS = types.Array(float64, 1, "C", readonly=True)
LONGS = types.Array(int64, 1, "C", readonly=True)
INTS = types.Array(types.int32, 1, "C", readonly=True)
TABLE = types.Array(float64, 2, "C", readonly=True)
OUT = types.Array(float64, 1, "C")
OUT_TABLE = types.Array(float64, 2, "C")
OUT_LONGS = types.Array(int64, 1, "C")
GROUPS = types.Array(float64, 3, "C")
SHIFT = Structure([REALS, float64], rows.Shift)
STEPS = Structure([float64, int64, boolean], rows.StencilSteps)
SOURCE = Structure([int64, uint64, int64], rows.Source)
ROWS = {
    index: Structure([REALS, index, index, LONGS, int64, int64, int64], rows.Rows) for index in (INTS, LONGS)
}


def kernel(*signatures: typing.Signature) -> Callable[[F], F]:
    """Compile for the given argument types now; a product and a sum are never contracted into one rounding."""

    def compiled(function: F) -> F:
        made: F = numba.njit(list(signatures), nogil=True, cache=True, error_model="numpy")(function)
        return made

    return compiled


def over_rows(*others: types.Type) -> Callable[[Callable[P, R]], Callable[[rows.Rows], Callable[P, R]]]:
    """Compile a kernel whose first argument is rows, for both widths of their indices;
    ``made(rows)`` is the one for these.

    It is called past numba's dispatcher, which takes structures apart in Python and refuses
    arrays that are read-only.
    """

    def compiled(function: Callable[P, R]) -> Callable[[rows.Rows], Callable[P, R]]:
        forms = [types.void(ROWS[index], *others) for index in (INTS, LONGS)]
        made: Any = kernel(*forms)(function)
        short, long = (made.overloads[form.args].entry_point for form in forms)
        return lambda rows: short if rows.indices.itemsize == 4 else long

    return compiled


def device(function: F) -> F:
    """Return a piece of other kernels."""
    made: F = numba.njit(error_model="numpy")(function)
    return made


class Emission(NamedTuple):
    """Where the code of an intrinsic goes, and the types of its arguments."""

    context: BaseContext
    builder: ir.IRBuilder
    kinds: tuple[Any, ...]


def emitting(form: Callable[..., typing.Signature]) -> Callable[[Emitter], Callable[..., Any]]:
    """Return an intrinsic whose signature ``form`` makes of its arguments' types, and whose code the function emits."""

    def made(emit: Emitter) -> Callable[..., Any]:
        def typed(context: BaseContext, *kinds: types.Type) -> tuple[typing.Signature, Emitter]:
            return form(*kinds), lambda context, builder, made, values: emit(
                Emission(context, builder, made.args), *values
            )

        names = [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD), *signature(form).parameters.values()]
        vars(typed)["__signature__"] = Signature(names)  # numba goes by names
        found: Callable[..., Any] = intrinsic(typed)
        return found

    return made


@emitting(lambda array, place: types.void(array, uint64))
def fetch(to: Emission, array: ir.Value, place: ir.Value) -> ir.Value:
    """Have a place of a contiguous array brought near, without waiting for it."""
    context, builder, kinds = to
    data = context.make_array(kinds[0])(context, builder, array).data
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    form = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", fnty=form)
    here = builder.bitcast(builder.gep(data, [place]), byte)
    builder.call(prefetch, [here, *(ir.Constant(number, value) for value in (0, 3, 1))])
    return context.get_dummy_value()
