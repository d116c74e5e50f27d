"""X w, Xᵀ r, and the loss and gradient of a logistic regression in one reading of X on a card.

X in float32 is read once, from memory at its full speed, and shifted, multiplied and summed in float64: a card has
arithmetic to spare while it waits for the next rows. Chunks that are converted first would be read and written six
times as often.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._gpu import like, to_numpy
from mercer._gpu.compiler import compiles
from mercer._typing import Array

#: numbers of X that a program holds at a time; fewer where it has more to remember; and columns up to which it can
TILE, SMALL_TILE, MOST_COLUMNS = 4096, 1024, 2048
#: programs for each multiprocessor of a card
PER_PROCESSOR = 32
#: columns from which on a warp holds several rows in the same threads, so that their sum costs nothing
FLAT = 128


def reads_in_one_pass(X: Any) -> bool:
    """Whether X lies on a card, row by row, and Triton is there."""
    return bool(X.is_cuda and X.shape[1] <= MOST_COLUMNS and X.stride(1) == 1 and len(X) < 2**31 and compiles(X.device))


def times(X: Any, shift: Array, point: Array) -> Any:
    """(X − shift) w + b for a point (w, b)."""
    from mercer._gpu import triton_rows as triton

    product = _float64(X, len(X))
    _pass(triton.TIMES, X, shift, point, product, None)
    return product


def transposed_times(X: Any, shift: Array, r: Any) -> tuple[Array, float]:
    """(X − shift)ᵀ r and Σ r."""
    from mercer._gpu import triton_rows as triton

    sums = _pass(triton.TRANSPOSED, X, shift, np.zeros(1), r.contiguous(), None)
    return sums[:-2], float(sums[-2])


def logistic(X: Any, shift: Array, point: Array, y: Any, weight: Any) -> tuple[float, Array, float]:
    """Σ weight · loss of labels 0 and 1, its gradient (X − shift)ᵀ r, and Σ r."""
    from mercer._gpu import triton_rows as triton

    sums = _pass(triton.LOGISTIC, X, shift, point, y.contiguous(), None if weight is None else weight.contiguous())
    return float(sums[-1]), sums[:-2], float(sums[-2])


def _pass(mode: int, X: Any, shift: Array, point: Array, of_rows: Any, weight: Any) -> Array:
    import torch

    from mercer._gpu import triton_rows as triton

    n, d = X.shape
    columns = max(16, 1 << (d - 1).bit_length())
    by_row = columns < FLAT
    rows = max(1, (SMALL_TILE if by_row or mode == triton.LOGISTIC else TILE) // columns)
    grid = max(1, min(_programs(X), -(-n // rows)))
    sums = _float64(X, grid, columns + 2)
    triton.launch(
        grid,
        X,
        of_rows,
        of_rows if weight is None else weight,
        like(point, X, dtype=torch.float64),
        like(shift, X, dtype=torch.float64),
        sums,
        n,
        d,
        X.stride(0),
        MODE=mode,
        SHIFTED=bool(shift.any()),
        WEIGHTED=weight is not None,
        ROWS=rows,
        COLUMNS=columns,
        BY_ROW=by_row,
        num_warps=1,
    )
    if mode == triton.TIMES:
        return np.zeros(0)
    total = to_numpy(sums.sum(dim=0))
    return np.concatenate([total[:d], total[columns:]])


def _programs(X: Any) -> int:
    import torch

    if not X.is_cuda:  # Triton's interpreter
        return 3
    return int(PER_PROCESSOR * torch.cuda.get_device_properties(X.device).multi_processor_count)


def _float64(X: Any, *shape: int) -> Any:
    import torch

    return X.new_empty(shape, dtype=torch.float64)
