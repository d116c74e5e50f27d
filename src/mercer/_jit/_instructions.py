"""Intrinsics of `instructions`; imported when numba compiles a loop that uses them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from mercer._jit._panel import BYTE, L1_CACHE, write_fetch

#: type of an integer of 8 bytes
INT64 = ir.IntType(64)
#: bytes that are compared at once
BYTE_LANES = 64


def _load_at(context: Any, builder: Any, signature: Any, values: Any, kind: Any) -> Any:
    """Load a value of another type from a position of an array, without alignment."""
    data = arrayobj.make_array(signature.args[0])(context, builder, values[0]).data
    place = builder.bitcast(builder.gep(data, [values[1]]), kind.as_pointer())
    return builder.load(place, align=1)


@intrinsic
def eight_bytes(typing, data, position):  # type: ignore[no-untyped-def]
    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _load_at(context, builder, signature, values, INT64)

    return types.uint64(data, types.intp), write


@intrinsic
def four_bytes(typing, data, position):  # type: ignore[no-untyped-def]
    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _load_at(context, builder, signature, values, ir.IntType(32))

    return types.uint32(data, types.intp), write


@intrinsic
def word_bits(typing, data, position):  # type: ignore[no-untyped-def]
    """Letters, digits, the underscore, and bytes of characters beyond ASCII; see `instructions.word_bits`."""

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.VectorType(BYTE, BYTE_LANES)

        def each(value: int) -> Any:
            return ir.Constant(vector, [value] * BYTE_LANES)

        read = _load_at(context, builder, signature, values, vector)
        letter = builder.icmp_unsigned("<", builder.sub(builder.or_(read, each(0x20)), each(ord("a"))), each(26))
        digit = builder.icmp_unsigned("<", builder.sub(read, each(ord("0"))), each(10))
        underscore = builder.icmp_unsigned("==", read, each(ord("_")))
        not_ascii = builder.icmp_signed("<", read, each(0))
        in_word = builder.or_(builder.or_(letter, digit), builder.or_(underscore, not_ascii))
        return builder.bitcast(in_word, INT64)

    return types.uint64(data, types.intp), write


@intrinsic
def lowest_bit(typing, bits):  # type: ignore[no-untyped-def]
    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(INT64, [INT64, ir.IntType(1)])
        count = cgutils.get_or_insert_function(builder.module, kind, "llvm.cttz.i64")
        return builder.call(count, [values[0], ir.IntType(1)(0)])

    return types.intp(types.uint64), write


@intrinsic
def fetch(typing, data, position):  # type: ignore[no-untyped-def]
    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = arrayobj.make_array(signature.args[0])(context, builder, values[0]).data
        write_fetch(builder, builder.gep(data, [values[1]]), L1_CACHE)
        return context.get_dummy_value()

    return types.void(data, types.intp), write


@intrinsic
def put_eight(typing, data, position, value):  # type: ignore[no-untyped-def]
    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = arrayobj.make_array(signature.args[0])(context, builder, values[0]).data
        builder.store(values[2], builder.bitcast(builder.gep(data, [values[1]]), INT64.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, types.uint64), write


@intrinsic
def number_at(typing, address, like):  # type: ignore[no-untyped-def]
    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = context.get_data_type(signature.return_type)
        return builder.load(builder.inttoptr(values[0], kind.as_pointer()), align=1)

    return like.dtype(types.intp, like), write
