"""LLVM code of one panel of a matrix product; imported when numba compiles a loop that uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from mercer._jit.gram import CACHE_LINE

BYTE = ir.IntType(8)
INT = ir.IntType(32)
FLOAT = ir.FloatType()
#: locality argument of `llvm.prefetch` for the L1 cache
L1_CACHE = 3
#: locality argument of `llvm.prefetch` for the L2 cache
L2_CACHE = 2
#: numbers of float64 in the longest vectors of any machine
LONGEST_VECTOR = 8


def machine_lanes() -> int:
    """Return the float64 numbers in a vector; the machine has registers for that many rows of three vectors."""
    return 8 if llvm.get_host_cpu_features().get("avx512f", False) else 4


def write_fetch(builder: Any, address: Any, cache: int) -> None:
    """Write a prefetch of the line at an address into a cache; it does not block."""
    kind = ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), INT, INT, INT])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    reading, data = 0, 1
    builder.call(fetch, [builder.bitcast(address, BYTE.as_pointer()), INT(reading), INT(cache), INT(data)])


def panel(vectors: int) -> Any:
    """Return the intrinsic of `gram.add_panel`: out[r, v] += Σ left[k, r] · right[k, v] for `vectors` vectors of v."""

    @intrinsic
    def add_panel(typing, left, left_at, right, right_at, count, out, out_at, ahead, fetched):  # type: ignore[no-untyped-def]
        place = types.UniTuple(types.intp, 2)
        three = types.UniTuple(types.intp, 3)
        signature = types.void(left, three, right, place, types.intp, out, place, ahead, types.intp)

        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            left, right, out, ahead = (
                arrayobj.make_array(signature.args[k])(context, builder, values[k]).data for k in (0, 2, 5, 7)
            )
            left_at, right_at, out_at = (cgutils.unpack_tuple(builder, values[k]) for k in (1, 3, 6))
            arguments = [left, *left_at, right, *right_at, values[4], out, *out_at, ahead, values[8]]
            builder.call(_function(builder.module, vectors, arguments), arguments)
            return context.get_dummy_value()

        return signature, write

    return add_panel


def _function(module: Any, vectors: int, arguments: list[Any]) -> Any:
    """Write the panel as a function; if it were inlined, its loop would share address registers with the caller."""
    kinds = [argument.type for argument in arguments]
    name = ".".join(["mercer_panel", str(vectors), *(str(kind.pointee) for kind in kinds if kind.is_pointer)])
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    left, begin, step, stride, right, right_begin, right_step, count, out, out_begin, out_stride, *ahead = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    writer = _PanelWriter(builder, vectors, out.type.pointee)
    left, right = writer.steps(left, begin, step), writer.steps(right, right_begin, right_step)
    writer.add_to(out, out_begin, out_stride, writer.sums(left, stride, right, count, ahead))
    builder.ret_void()
    return function


class _PanelWriter:
    """Writer of the instructions of a panel."""

    def __init__(self, builder: Any, vectors: int, number: Any) -> None:
        self._builder, self._vectors, self._number = builder, vectors, number
        self._rows = machine_lanes()
        self._lanes, name = (2 * self._rows, "f32") if number == FLOAT else (self._rows, "f64")
        self._vector = ir.VectorType(number, self._lanes)
        self._zero = ir.Constant(self._vector, [0.0] * self._lanes)
        self._multiply_add = self._function(f"llvm.fma.v{self._lanes}{name}", self._vector, [self._vector] * 3)

    def steps(self, array: Any, start: Any, step: Any) -> Callable[[Any], Any]:
        """Return the function from k to the address of the k-th step."""
        return lambda k: self._builder.gep(array, [self._builder.add(start, self._builder.mul(k, step))])

    def sums(self, left: Any, stride: Any, right: Any, count: Any, ahead: list[Any]) -> list[Any]:
        """Sum the vectors of products over all steps."""
        builder, zero = self._builder, self._index(0)
        before, steps, after = builder.block, builder.append_basic_block("steps"), builder.append_basic_block("after")
        builder.cbranch(builder.icmp_signed("<", zero, count), steps, after)

        builder.position_at_end(steps)
        k = builder.phi(zero.type)
        sums = [builder.phi(self._vector) for _ in range(self._rows * self._vectors)]
        self._fetch_line(ahead[0], builder.add(ahead[1], builder.mul(k, self._index(CACHE_LINE))))
        larger = self._with_step(sums, left(k), stride, right(k))
        following = builder.add(k, self._index(1))
        k.add_incoming(zero, before)
        k.add_incoming(following, steps)
        for value, next_value in zip(sums, larger, strict=True):
            value.add_incoming(self._zero, before)
            value.add_incoming(next_value, steps)
        again = builder.cbranch(builder.icmp_signed("<", following, count), steps, after)
        again.set_metadata("llvm.loop", self._one_step_at_a_time())

        builder.position_at_end(after)
        totals = [builder.phi(self._vector) for _ in sums]
        for total, value in zip(totals, larger, strict=True):
            total.add_incoming(self._zero, before)
            total.add_incoming(value, steps)
        return totals

    def _one_step_at_a_time(self) -> Any:
        """Return metadata that disable unrolling: with two steps at once, LLVM would spill sums to memory."""
        module = self._builder.module
        metadata = module.add_metadata([module.add_metadata(["llvm.loop.unroll.disable"])])
        metadata.operands = (metadata, *metadata.operands)  # the first operand of loop metadata is itself
        return metadata

    def add_to(self, out: Any, start: Any, stride: Any, sums: list[Any]) -> None:
        """Add the sums to the rows of `out`."""
        row = self.steps(out, start, stride)
        for position, value in enumerate(sums):
            r, v = divmod(position, self._vectors)
            place = self._builder.gep(row(self._index(r)), [self._index(v * self._lanes)])
            place = self._builder.bitcast(place, self._vector.as_pointer())
            larger = self._builder.fadd(self._builder.load(place, align=_bytes(self._number)), value)
            self._builder.store(larger, place, align=_bytes(self._number))

    def _with_step(self, sums: list[Any], left: Any, stride: Any, right: Any) -> list[Any]:
        """Add the products of each number at `left` with each vector at `right` to the sums."""
        factors = [self._vector_at(right, v * self._lanes) for v in range(self._vectors)]
        number_at = self.steps(left, self._index(0), stride)
        larger = []
        for r in range(self._rows):
            number = self._broadcast(self._widen(self._builder.load(number_at(self._index(r))), self._number))
            for v, factor in enumerate(factors):
                larger.append(self._builder.call(self._multiply_add, [number, factor, sums[r * self._vectors + v]]))
        return larger

    def _vector_at(self, array: Any, position: int) -> Any:
        place = self._builder.gep(array, [self._index(position)])
        element = array.type.pointee
        place = self._builder.bitcast(place, ir.VectorType(element, self._lanes).as_pointer())
        return self._widen(self._builder.load(place, align=_bytes(element)), self._vector)

    def _widen(self, value: Any, kind: Any) -> Any:
        """Convert a value to the precision of the sums."""
        return value if value.type == kind else self._builder.fpext(value, kind)

    def _broadcast(self, number: Any) -> Any:
        """Return a vector of copies of a number."""
        unknown = ir.Constant(self._vector, ir.Undefined)
        one = self._builder.insert_element(unknown, number, ir.Constant(INT, 0))
        from_first = ir.Constant(ir.VectorType(INT, self._lanes), [0] * self._lanes)
        return self._builder.shuffle_vector(one, unknown, from_first)

    def _fetch_line(self, array: Any, byte: Any) -> None:
        begin = self._builder.bitcast(array, BYTE.as_pointer())
        # into the L2 cache, so that the tile stays in the L1 cache
        write_fetch(self._builder, self._builder.gep(begin, [byte]), L2_CACHE)

    def _index(self, value: int) -> Any:
        return ir.Constant(ir.IntType(64), value)

    def _function(self, name: str, returns: Any, takes: list[Any]) -> Any:
        return cgutils.get_or_insert_function(self._builder.module, ir.FunctionType(returns, takes), name)


def _bytes(number: Any) -> int:
    return 4 if number == FLOAT else 8
