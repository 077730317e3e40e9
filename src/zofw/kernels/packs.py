"""A few numbers in registers, for loops that are too short for the compiler to vectorise them
at a profit.

+, − and · work on every number of a pack, between packs of one size and with a number on their
left, and round as they do for numbers. Packs are for "a9a iteration, Rademacher" of ``make
bench``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import DataModelManager, models
from numba.core.types import float64, uint64
from numba.extending import overload, register_model

from zofw.kernels.jit import Emission, emitting

QUAD = 4
SIGN_BITS = 32


class Pack(types.Type):
    """The type of ``size`` numbers."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(f"pack of {size}")


def _vector(size: int, kind: ir.Type = None) -> ir.VectorType:
    return ir.VectorType(kind or ir.DoubleType(), size)


@register_model(Pack)
class PackModel(models.PrimitiveModel):
    """One vector of LLVM's, which makes as many registers of it as the machine needs."""

    def __init__(self, manager: DataModelManager, pack: Pack) -> None:
        super().__init__(manager, pack, _vector(pack.size))


def _repeat(builder: ir.IRBuilder, number: ir.Value, size: int) -> ir.Value:
    nothing, integer = ir.Constant(_vector(size), ir.Undefined), ir.IntType(32)
    one = builder.insert_element(nothing, number, ir.Constant(integer, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(_vector(size, integer), [0] * size))


def _place(to: Emission, array: ir.Value, place: ir.Value, size: int) -> ir.Value:
    context, builder, (kind, *_) = to
    if kind.dtype != float64 or kind.layout != "C":
        raise TypeError(f"Packs are read from and written to contiguous arrays of doubles; this is {kind}.")
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), _vector(size).as_pointer())


def of_size(size: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return ``at(array, place)`` reads array.flat[place : place + size] of a contiguous array, ``each(number)`` repeats a number."""

    @emitting(lambda array, place: Pack(size)(array, uint64))
    def at(to: Emission, array: ir.Value, place: ir.Value) -> ir.Value:
        return to.builder.load(_place(to, array, place, size), align=8)

    @emitting(lambda number: Pack(size)(float64))
    def each(to: Emission, number: ir.Value) -> ir.Value:
        return _repeat(to.builder, number, size)

    return at, each


@emitting(lambda array, place, pack: types.void(array, uint64, pack))
def put(to: Emission, array: ir.Value, place: ir.Value, pack: ir.Value) -> ir.Value:
    """Return array.flat[place : place + size] = pack."""
    to.builder.store(pack, _place(to, array, place, to.kinds[2].size), align=8)
    return to.context.get_dummy_value()


@emitting(lambda pack, reach: types.boolean(pack, float64))
def any_beyond(to: Emission, pack: ir.Value, reach: ir.Value) -> ir.Value:
    """Whether a number of the pack exceeds ``reach`` in modulus; NaN does not."""
    builder, size = to.builder, to.kinds[0].size
    above = builder.fcmp_ordered(">", pack, _repeat(builder, reach, size))
    below = builder.fcmp_ordered("<", pack, _repeat(builder, builder.fneg(reach), size))
    bits = builder.bitcast(builder.or_(above, below), ir.IntType(size))
    return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))


def _table_of_signs(builder: ir.IRBuilder) -> ir.Value:
    """Return the address of sixteen rows of ±1, signs by the bits of the row's number; one table in a module."""
    name = "zofw.signs"
    if name not in builder.module.globals:
        rows = [[1.0 if value >> bit & 1 else -1.0 for bit in range(QUAD)] for value in range(1 << QUAD)]
        row, table = _vector(QUAD), ir.ArrayType(_vector(QUAD), len(rows))
        made = ir.GlobalVariable(builder.module, table, name)
        made.global_constant, made.linkage = True, "internal"
        made.initializer = ir.Constant(table, [ir.Constant(row, numbers) for numbers in rows])
    return builder.module.globals[name]


@emitting(lambda word: Pack(SIGN_BITS)(uint64))
def half_word_signs(to: Emission, word: ir.Value) -> ir.Value:
    """Return ±1 for each of the lower 32 bits of a word, +1 where it is set, as a pack."""
    builder, table, parts = to.builder, _table_of_signs(to.builder), []
    for shift in range(0, SIGN_BITS, QUAD):
        value = builder.and_(builder.lshr(word, word.type(shift)), word.type((1 << QUAD) - 1))
        parts.append(builder.load(builder.gep(table, [word.type(0), value]), align=32))
    while len(parts) > 1:  # neighbours become one
        both = 2 * parts[0].type.count
        order = ir.Constant(_vector(both, ir.IntType(32)), list(range(both)))
        parts = [builder.shuffle_vector(*two, order) for two in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


four_at, _ = of_size(QUAD)


def _operation(sign: Callable[..., object], instruction: Callable[..., ir.Value]) -> None:
    """Let a sign work between packs, or between a number and a pack."""

    @emitting(lambda left, right: right(left if isinstance(left, Pack) else float64, right))
    def of_each(to: Emission, left: ir.Value, right: ir.Value) -> ir.Value:
        first = left if isinstance(to.kinds[0], Pack) else _repeat(to.builder, left, to.kinds[1].size)
        return instruction(to.builder, first, right)

    def operation(left: types.Type, right: types.Type) -> Callable[..., Pack] | None:
        return (lambda left, right: of_each(left, right)) if isinstance(right, Pack) else None

    overload(sign, strict=False)(operation)


_operation(operator.add, ir.IRBuilder.fadd)
_operation(operator.sub, ir.IRBuilder.fsub)
_operation(operator.mul, ir.IRBuilder.fmul)
