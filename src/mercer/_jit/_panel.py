"""The machine's instructions for one panel of a product; imported when numba compiles a loop that has one."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

BYTE, INT, DOUBLE = ir.IntType(8), ir.IntType(32), ir.DoubleType()
#: bytes that are fetched into the cache at once
LINE = 64
#: to read; into the second of the caches, so that the tile stays in the first; data, not code
FETCH = [ir.Constant(INT, value) for value in (0, 2, 1)]


def machine_lanes() -> int:
    """Numbers in a vector, such that the machine has registers for a panel that is three vectors wide."""
    return 8 if llvm.get_host_cpu_features().get("avx512f", False) else 4


def panel(vectors: int) -> Any:
    """total[i…, j…] += tile[first:last, i…]ᵀ tile[first:last, j…]: `lanes` columns times `vectors · lanes` columns.

    With each row, a line of `ahead` is fetched into the cache, from the byte `start` on.
    """

    @intrinsic
    def add_panel(typing, tile, first, last, i, j, total, ahead, start):  # type: ignore[no-untyped-def]
        index = types.intp
        signature = types.void(tile, index, index, index, index, total, ahead, index)

        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            tile, total, ahead = (_array(context, builder, signature, values, at) for at in (0, 5, 6))
            first, last, i, j, start = (values[at] for at in (1, 2, 3, 4, 7))
            writer = _Writer(builder, vectors)
            writer.add_to(total, i, j, writer.sums_over_rows(tile, first, last, i, j, ahead, start))
            return context.get_dummy_value()

        return signature, write

    return add_panel


def _array(context: Any, builder: Any, signature: Any, values: Any, at: int) -> Any:
    return arrayobj.make_array(signature.args[at])(context, builder, values[at])


class _Writer:
    """Writes the instructions of a panel."""

    def __init__(self, builder: Any, vectors: int) -> None:
        self._builder, self._vectors, self._lanes = builder, vectors, machine_lanes()
        self._vector = ir.VectorType(DOUBLE, self._lanes)
        self._zero = ir.Constant(self._vector, [0.0] * self._lanes)
        self._multiply_add = self._function(f"llvm.fma.v{self._lanes}f64", self._vector, [self._vector] * 3)
        self._fetch = self._function("llvm.prefetch.p0", ir.VoidType(), [BYTE.as_pointer(), INT, INT, INT])

    def sums_over_rows(self, tile: Any, first: Any, last: Any, i: Any, j: Any, ahead: Any, start: Any) -> list[Any]:
        """Vectors of products, row after row of the panel."""
        builder = self._builder
        before, rows, after = builder.block, builder.append_basic_block("rows"), builder.append_basic_block("after")
        builder.cbranch(builder.icmp_signed("<", first, last), rows, after)

        builder.position_at_end(rows)
        row = builder.phi(first.type)
        sums = [builder.phi(self._vector) for _ in range(self._lanes * self._vectors)]
        self._fetch_line(ahead, builder.add(start, builder.mul(builder.sub(row, first), self._index(LINE))))
        larger = self._with_row(sums, self._place(tile, row, i), self._place(tile, row, j))
        following = builder.add(row, self._index(1))
        row.add_incoming(first, before)
        row.add_incoming(following, rows)
        for value, next_value in zip(sums, larger, strict=True):
            value.add_incoming(self._zero, before)
            value.add_incoming(next_value, rows)
        builder.cbranch(builder.icmp_signed("<", following, last), rows, after)

        builder.position_at_end(after)
        totals = [builder.phi(self._vector) for _ in sums]
        for total, value in zip(totals, larger, strict=True):
            total.add_incoming(self._zero, before)
            total.add_incoming(value, rows)
        return totals

    def add_to(self, matrix: Any, i: Any, j: Any, sums: list[Any]) -> None:
        for position, value in enumerate(sums):
            r, v = divmod(position, self._vectors)
            place = self._place(matrix, self._builder.add(i, self._index(r)), j)
            place = self._builder.gep(place, [self._index(v * self._lanes)])
            place = self._builder.bitcast(place, self._vector.as_pointer())
            self._builder.store(self._builder.fadd(self._builder.load(place, align=8), value), place, align=8)

    def _with_row(self, sums: list[Any], left: Any, right: Any) -> list[Any]:
        """`sums` plus the products of each number at `left` with each vector at `right`."""
        builder = self._builder
        at_right = [builder.gep(right, [self._index(v * self._lanes)]) for v in range(self._vectors)]
        factors = [builder.load(builder.bitcast(p, self._vector.as_pointer()), align=8) for p in at_right]
        larger = []
        for r in range(self._lanes):
            number = self._repeated(builder.load(builder.gep(left, [self._index(r)])))
            for v, factor in enumerate(factors):
                larger.append(builder.call(self._multiply_add, [number, factor, sums[r * self._vectors + v]]))
        return larger

    def _repeated(self, number: Any) -> Any:
        """A vector of one number."""
        unknown = ir.Constant(self._vector, ir.Undefined)
        one = self._builder.insert_element(unknown, number, ir.Constant(INT, 0))
        from_first = ir.Constant(ir.VectorType(INT, self._lanes), [0] * self._lanes)
        return self._builder.shuffle_vector(one, unknown, from_first)

    def _fetch_line(self, array: Any, byte: Any) -> None:
        begin = self._builder.bitcast(array.data, BYTE.as_pointer())
        self._builder.call(self._fetch, [self._builder.gep(begin, [byte]), *FETCH])

    def _place(self, matrix: Any, row: Any, column: Any) -> Any:
        width = cgutils.unpack_tuple(self._builder, matrix.shape)[1]
        return self._builder.gep(matrix.data, [self._builder.add(self._builder.mul(row, width), column)])

    def _index(self, value: int) -> Any:
        return ir.Constant(ir.IntType(64), value)

    def _function(self, name: str, returns: Any, takes: list[Any]) -> Any:
        return cgutils.get_or_insert_function(self._builder.module, ir.FunctionType(returns, takes), name)
