"""X w, Xᵀ r, and the loss and gradient of a logistic regression in one pass over X on a GPU.

X in float32 is read once, at the full speed of memory, and shifted, multiplied and summed in float64: the arithmetic
takes less time than the memory. Converting chunks first would read and write six times as much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._gpu import like, to_numpy
from mercer._gpu.compiler import compiles
from mercer._typing import Array

#: numbers of X that a program holds in registers
PROGRAM_NUMBERS = 4096
#: numbers of X that a program holds if it needs registers for other values
FEWER_PROGRAM_NUMBERS = 1024
#: columns up to which a row fits into registers
MAX_ONE_PASS_COLUMNS = 2048
#: programs for each multiprocessor of a GPU
PROGRAMS_PER_PROCESSOR = 32
#: columns from which a thread holds entries of several rows, so that their sum needs no exchange between threads
SUM_WITHIN_THREADS_FROM = 128


def reads_in_one_pass(X: Any) -> bool:
    """Return whether X is on a GPU, in row order and not too wide, and Triton works there."""
    fits = X.shape[1] <= MAX_ONE_PASS_COLUMNS and len(X) < 2**31
    return bool(X.is_cuda and fits and X.stride(1) == 1 and compiles(X.device))


def times(X: Any, shift: Array, point: Array) -> Any:
    """(X − shift) w + b for a point (w, b)."""
    from mercer._gpu import triton_rows as triton

    product = _float64(X, len(X))
    _pass(triton.TIMES, X, shift, point, product, None)
    return product


def rmatvec(X: Any, shift: Array, r: Any) -> tuple[Array, float]:
    """(X − shift)ᵀ r and Σ r."""
    from mercer._gpu import triton_rows as triton

    sums = _pass(triton.TRANSPOSED, X, shift, np.zeros(1), r.contiguous(), None)
    return sums[:-2], float(sums[-2])


def logistic(X: Any, shift: Array, point: Array, y: Any, weight: Any) -> tuple[float, Array, float]:
    """Σ weight · loss for labels 0 and 1, its gradient (X − shift)ᵀ r, and Σ r."""
    from mercer._gpu import triton_rows as triton

    sums = _pass(triton.LOGISTIC, X, shift, point, y.contiguous(), None if weight is None else weight.contiguous())
    return float(sums[-1]), sums[:-2], float(sums[-2])


def _pass(mode: int, X: Any, shift: Array, point: Array, of_rows: Any, weight: Any) -> Array:
    import torch

    from mercer._gpu import triton_rows as triton

    n, d = X.shape
    columns = max(16, 1 << (d - 1).bit_length())
    by_row = columns < SUM_WITHIN_THREADS_FROM
    numbers = FEWER_PROGRAM_NUMBERS if by_row or mode == triton.LOGISTIC else PROGRAM_NUMBERS
    rows = max(1, numbers // columns)
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
    return int(PROGRAMS_PER_PROCESSOR * torch.cuda.get_device_properties(X.device).multi_processor_count)


def _float64(X: Any, *shape: int) -> Any:
    import torch

    return X.new_empty(shape, dtype=torch.float64)
