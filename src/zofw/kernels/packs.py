"""A few numbers in registers, for loops that are too short for the compiler to vectorise them at a profit.

+, − and · work on every number of a pack, between packs of one size and with a number on their left, and round as they do
for numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model


class Pack(types.Type):
    """The type of ``size`` numbers."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(f"pack of {size}")


def _vector(size: int, kind: Any = None) -> Any:
    return ir.VectorType(kind or ir.DoubleType(), size)


@register_model(Pack)
class PackModel(models.PrimitiveModel):
    """One vector of LLVM's, which makes as many registers of it as the machine needs."""

    def __init__(self, manager: Any, pack: Pack) -> None:
        super().__init__(manager, pack, _vector(pack.size))


def _repeat(builder: Any, number: Any, size: int) -> Any:
    nothing, integer = ir.Constant(_vector(size), ir.Undefined), ir.IntType(32)
    one = builder.insert_element(nothing, number, ir.Constant(integer, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(_vector(size, integer), [0] * size))


def _place(context: Any, builder: Any, kind: Any, array: Any, place: Any, size: int) -> Any:
    if kind.dtype != types.float64 or kind.layout != "C":
        raise TypeError(f"Packs are read from and written to contiguous arrays of doubles; this is {kind}.")
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), _vector(size).as_pointer())


def of_size(size: int) -> tuple[Callable[[Any, Any], Any], Callable[[float], Any]]:
    """``at(array, place)`` reads array.flat[place : place + size] of a contiguous array, ``each(number)`` repeats a number."""
    pack = Pack(size)

    def at(typing: Any, array: Any, place: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_place(context, builder, array, arguments[0], arguments[1], size), align=8)

        return pack(array, types.uint64), emit

    def each(typing: Any, number: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _repeat(builder, arguments[0], size)

        return pack(types.float64), emit

    return intrinsic(at), intrinsic(each)


def _put(typing: Any, array: Any, place: Any, pack: Any) -> Any:
    """array.flat[place : place + size] = pack."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = _place(context, builder, array, arguments[0], arguments[1], pack.size)
        builder.store(arguments[2], where, align=8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, pack), emit


def _any_beyond(typing: Any, pack: Any, reach: Any) -> Any:
    """Whether a number of the pack exceeds ``reach`` in modulus; NaN does not."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, reach = arguments
        above = builder.fcmp_ordered(">", numbers, _repeat(builder, reach, pack.size))
        below = builder.fcmp_ordered("<", numbers, _repeat(builder, builder.fneg(reach), pack.size))
        bits = builder.bitcast(builder.or_(above, below), ir.IntType(pack.size))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(pack, types.float64), emit


QUAD = 4
SIGN_BITS = 32


def _table_of_signs(builder: Any) -> Any:
    """The address of sixteen rows of ±1, signs by the bits of the row's number; one table in a module."""
    name = "zofw.signs"
    if name not in builder.module.globals:
        rows = [[1.0 if value >> bit & 1 else -1.0 for bit in range(QUAD)] for value in range(1 << QUAD)]
        row, table = _vector(QUAD), ir.ArrayType(_vector(QUAD), len(rows))
        made = ir.GlobalVariable(builder.module, table, name)
        made.global_constant, made.linkage = True, "internal"
        made.initializer = ir.Constant(table, [ir.Constant(row, numbers) for numbers in rows])
    return builder.module.globals[name]


def _signs(size: int) -> Callable[[Any], Any]:
    """±1 for each of the lower ``size`` bits of a word, +1 where it is set, as a pack."""

    def signs(typing: Any, bits: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            (word,), table, parts = arguments, _table_of_signs(builder), []
            for shift in range(0, size, QUAD):
                value = builder.and_(builder.lshr(word, word.type(shift)), word.type((1 << QUAD) - 1))
                parts.append(builder.load(builder.gep(table, [word.type(0), value]), align=32))
            while len(parts) > 1:  # neighbours become one
                both = 2 * parts[0].type.count
                order = ir.Constant(_vector(both, ir.IntType(32)), list(range(both)))
                pairs = zip(parts[::2], parts[1::2], strict=True)
                parts = [builder.shuffle_vector(left, right, order) for left, right in pairs]
            return parts[0]

        return Pack(size)(types.uint64), emit

    made: Callable[[Any], Any] = intrinsic(signs)
    return made


four_signs, half_word_signs = _signs(QUAD), _signs(SIGN_BITS)
four_at, _ = of_size(QUAD)
put: Callable[[Any, Any, Any], None] = intrinsic(_put)
any_beyond: Callable[[Any, float], bool] = intrinsic(_any_beyond)


def _operation(sign: Callable[[Any, Any], Any], name: str) -> None:
    """Let a sign work between packs, or between a number and a pack."""

    def of_each(typing: Any, left: Any, right: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            first, second = arguments
            first = first if isinstance(left, Pack) else _repeat(builder, first, right.size)
            return getattr(builder, name)(first, second)

        return right(left if isinstance(left, Pack) else types.float64, right), emit

    each = intrinsic(of_each)

    def operation(left: Any, right: Any) -> Any:
        def applied(left: Any, right: Any) -> Any:
            return each(left, right)

        return applied if isinstance(right, Pack) else None

    overload(sign)(operation)


_operation(operator.add, "fadd")
_operation(operator.sub, "fsub")
_operation(operator.mul, "fmul")
