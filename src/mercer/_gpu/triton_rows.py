"""Triton kernel of `row_products`; imported when a tensor is on a GPU."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

#: mode of a pass that stores X w
TIMES = 0
#: mode of a pass that sums Xᵀ r
TRANSPOSED = 1
#: mode of a pass that computes X w and sums Xᵀ r for the slopes r of logistic losses
LOGISTIC = 2


@triton.jit  # type: ignore[untyped-decorator]
def pass_over_rows(  # type: ignore[no-untyped-def]
    X,
    of_rows,
    weight,
    point,
    shift,
    sums,
    n,
    d,
    stride,
    MODE: tl.constexpr,
    SHIFTED: tl.constexpr,
    WEIGHTED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    BY_ROW: tl.constexpr,
):
    """Read X once: each program takes every k-th group of rows, for k programs, and has sums of its own in float64.

    `point` has a coefficient for each column and the intercept last. `sums` has a row for each program: Xᵀ r, then Σ r
    and Σ weight · loss. A program is one warp, which holds whole rows; with more warps each would compute each loss.
    """
    columns = tl.arange(0, COLUMNS)
    inside = columns < d
    if SHIFTED:
        about = tl.load(shift + columns, mask=inside, other=0.0)
    if MODE != 1:
        w = tl.load(point + columns, mask=inside, other=0.0)
        level = tl.load(point + d)
    gradient = tl.zeros((ROWS, COLUMNS) if BY_ROW else (COLUMNS,), tl.float64)
    slopes = tl.zeros((ROWS,), tl.float64)
    losses = tl.zeros((ROWS,), tl.float64)
    for first in range(tl.program_id(0) * ROWS, n, tl.num_programs(0) * ROWS):
        rows = first + tl.arange(0, ROWS)
        there = rows < n
        places = rows[:, None].to(tl.int64) * stride + columns[None, :]
        x = tl.load(X + places, mask=there[:, None] & inside[None, :], other=0.0).to(tl.float64)
        if SHIFTED:
            x -= about[None, :]
        if MODE != 1:
            eta = tl.sum(x * w[None, :], axis=1) + level
        if MODE == 0:
            tl.store(of_rows + rows, eta, mask=there)
        else:
            r = tl.load(of_rows + rows, mask=there, other=0.0)
            if MODE == 2:
                e = tl.exp(-tl.abs(eta))
                larger = 1.0 / (1.0 + e)
                smaller = e * larger
                loss = (tl.maximum(eta, 0.0) - r * eta) + tl.log(1.0 + e)
                r = tl.where(eta > 0, (1.0 - r) * larger - r * smaller, (1.0 - r) * smaller - r * larger)
                if WEIGHTED:
                    heavy = tl.load(weight + rows, mask=there, other=0.0)
                    loss *= heavy
                    r *= heavy
                losses += tl.where(there, loss, 0.0)
                r = tl.where(there, r, 0.0)
            slopes += r
            gradient += x * r[:, None] if BY_ROW else tl.sum(x * r[:, None], axis=0)
    if MODE != 0:
        own = sums + tl.program_id(0) * (COLUMNS + 2)
        tl.store(own + columns, tl.sum(gradient, axis=0) if BY_ROW else gradient)
        tl.store(own + COLUMNS, tl.sum(slopes, axis=0))
        tl.store(own + COLUMNS + 1, tl.sum(losses, axis=0))


def launch(grid: int, *arguments: Any, **constants: Any) -> None:
    """Launch `grid` programs."""
    pass_over_rows[(grid,)](*arguments, **constants)
