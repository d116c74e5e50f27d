"""Matrix products in panels that are held in registers (`gram`).

The BLAS of NumPy chooses its instructions by a list of processors; on processors that are not on it, such as AMD's of
2024, it uses vectors of half the length. Panels use the machine's vectors, and reach nine tenths of peak speed. Where
these vectors are not longer than those of BLAS, BLAS is used.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mercer._jit import jit, overload
from mercer._jit.gram import CACHE_LINE, add_panel_1, add_panel_2, add_panel_3, lanes, mirror

#: bytes of a column that one panel reads: three vectors of columns are then in the L1 cache
PANEL_DEPTH_BYTES = 2048
#: rows of the left factor that stay in the L2 cache
PANEL_ROWS = 192


def multiply(left: Any, right: Any, out: Any) -> None:
    """Compute out = left right, all of one dtype; a factor may be transposed."""
    np.dot(left, right, out)


@overload(multiply)
def _choose_multiply(left, right, out) -> Any:  # type: ignore[no-untyped-def]
    alike = left.dtype == right.dtype == out.dtype and left.layout in "CF" and out.layout == "C"
    if not (alike and _panels_are_faster()):
        return lambda left, right, out: np.dot(left, right, out)

    # flattened arrays, so that panels are compiled once for both orders
    if left.layout == "C":

        def call(left, right, out):  # type: ignore[no-untyped-def]
            if out.shape[0] < lanes():
                np.dot(left, right, out)
            else:
                by_panels(left.reshape(left.size), left.shape[1], 1, in_vectors(right), out, False)
    else:

        def call(left, right, out):  # type: ignore[no-untyped-def]
            if out.shape[0] < lanes():
                np.dot(left, right, out)
            else:
                by_panels(left.T.reshape(left.size), 1, left.shape[0], in_vectors(right), out, False)

    return call


@jit
def put_product(left, right, out):  # type: ignore[no-untyped-def]
    """Compute out = left right for callers that are not compiled, on one thread."""
    multiply(left, right, out)


def square(rows: Any, *, by_panels: bool | None = None) -> Any:
    """rowsᵀ rows, exactly symmetric; by panels or the symmetric product of BLAS, by default the faster one."""
    by_panels = _panels_are_faster() if by_panels is None else by_panels
    return _square_by_panels(rows) if by_panels and rows.flags.forc else rows.T @ rows


@cache
def _panels_are_faster() -> bool:
    from numba import config

    from mercer._jit._panel import LONGEST_VECTOR, machine_lanes

    return not config.DISABLE_JIT and machine_lanes() == LONGEST_VECTOR  # type: ignore[attr-defined]


@jit
def _square_by_panels(rows):  # type: ignore[no-untyped-def]
    out, packed = np.empty((rows.shape[1], rows.shape[1]), rows.dtype), in_vectors(rows)
    by_panels(packed.reshape(packed.size), 1, 1, packed, out, True)
    mirror(out)
    return out


@jit
def by_panels(left, down, along, packed, out, itself):  # type: ignore[no-untyped-def]
    """Compute out = left right, where `left` is flattened, with the strides `down` of rows and `along` of columns.

    With `itself`, left is the transpose of the packed matrix and is read from there; only the lower triangle is
    computed.
    """
    scratch = np.zeros((lanes(), packed.shape[2]), packed.dtype)
    out[:] = 0.0
    for top in range(0, out.shape[0], PANEL_ROWS):
        for k in range(0, packed.shape[1], PANEL_DEPTH_BYTES // packed.itemsize):
            add_panels(left, down, along, top, k, packed, out, scratch, itself)


@jit
def vector_of(matrix):  # type: ignore[no-untyped-def]
    """Number of values in a vector of the machine, in the precision of a matrix."""
    return lanes() * 8 // matrix.itemsize


@jit
def in_vectors(right):  # type: ignore[no-untyped-def]
    """Pack the columns of a matrix in groups of three vectors, padded with zeros: (groups, rows, 3 vectors).

    The result is aligned to a cache line.
    """
    depth, columns = right.shape
    wide, line = 3 * vector_of(right), CACHE_LINE // right.itemsize
    groups = (columns + wide - 1) // wide
    numbers = np.empty(groups * depth * wide + line, right.dtype)
    first = -(numbers.ctypes.data // right.itemsize) % line
    packed = numbers[first : first + groups * depth * wide].reshape(groups, depth, wide)
    for g in range(groups):
        begin = g * wide
        kept = min(wide, columns - begin)
        for k in range(depth):
            for c in range(kept):
                packed[g, k, c] = right[k, begin + c]
            for c in range(kept, wide):
                packed[g, k, c] = 0.0
    return packed


@jit
def add_panels(left, down, along, top, k, packed, out, scratch, itself):  # type: ignore[no-untyped-def]
    """Add the products of `PANEL_ROWS` rows from `top` on with the part of the columns from k on."""
    side, vector, size = lanes(), vector_of(packed), packed.itemsize
    depth, wide, (n, columns) = packed.shape[1], packed.shape[2], out.shape
    bottom, count = min(top + PANEL_ROWS, n), min(PANEL_DEPTH_BYTES // size, depth - k)
    for g in range(packed.shape[0]):
        begin = g * wide
        kept = min(wide, columns - begin)
        vectors = (kept + vector - 1) // vector
        right = ((g * depth + k) * wide, wide)
        first = max(top, begin // side * side) if itself else top
        for i in range(first, bottom, side):
            if itself:
                row, place = i, ((i // wide * depth + k) * wide + i % wide, wide, 1)
            else:
                row = min(i, n - side)  # the last panel overlaps the previous one
                place = (row * down + k * along, along, down)
            ahead = size * ((g + 1) * depth + k) * wide + (i - first) // side * count * CACHE_LINE
            if i + side <= n and kept == vectors * vector:
                add_panel(vectors, left, place, packed, right, count, out, (row * columns + begin, columns), ahead)
            else:
                scratch[:] = 0.0
                add_panel(vectors, left, place, packed, right, count, scratch, (0, wide), ahead)
                for r in range(i - row, min(side, n - row)):
                    for c in range(kept):
                        out[row + r, begin + c] += scratch[r, c]


@jit
def add_panel(vectors, left, left_at, right, right_at, count, out, out_at, ahead):  # type: ignore[no-untyped-def]
    """Add a panel of one, two or three vectors."""
    if vectors == 3:
        add_panel_3(left, left_at, right, right_at, count, out, out_at, right, ahead)
    elif vectors == 2:
        add_panel_2(left, left_at, right, right_at, count, out, out_at, right, ahead)
    else:
        add_panel_1(left, left_at, right, right_at, count, out, out_at, right, ahead)
