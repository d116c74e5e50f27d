"""K ≈ LLᵀ of few columns on a card: `kernels.pivoted` for tensors."""

from __future__ import annotations

from typing import Any

from mercer._errors import DeviceMemoryError
from mercer.kernels.tensors import TensorGram
from mercer.solvers.span._tensor_curvature import bytes_left, cholesky

#: pivots that are looked at together, the most of them, and of the memory that is left what L may take
BLOCK, MOST, SHARE = 256, 4_096, 0.2
#: on average, what may be left of the diagonal, in alpha: more pivots would save no steps
ENOUGH = 0.1
#: what is left of a diagonal entry below this portion of it is rounding, in units of rounding
ROUNDING = 100.0


def pivots_of(gram: TensorGram, alpha: float) -> Any:
    """L, of shape (n, pivots), from rows that are drawn with the chance of what those before leave of them."""
    import torch

    n, diagonal = gram.shape[0], gram.diagonal
    most = min(n, MOST, max(BLOCK, int(SHARE * bytes_left(diagonal) / (diagonal.element_size() * n))))
    try:
        L = torch.zeros(n, most, dtype=diagonal.dtype, device=diagonal.device)
    except torch.cuda.OutOfMemoryError as full:  # pragma: no cover – only on a card
        raise DeviceMemoryError(
            f"{most} pivots of {n:,} rows have no room on {diagonal.device}; free what else lies there, or give "
            "approximate='nystroem'."
        ) from full
    generator = torch.Generator(device=diagonal.device).manual_seed(0)
    least = ROUNDING * torch.finfo(diagonal.dtype).eps * diagonal
    left, rank = diagonal.double().clone(), 0
    while rank < most and float(left.sum()) > ENOUGH * alpha * n:
        chance = torch.where(left > least, left, 0.0)
        size = min(BLOCK, most - rank, int(torch.count_nonzero(chance)))
        if size == 0:
            break
        block = torch.multinomial(chance, size, generator=generator)
        columns = gram.rows(block).T - L[:, :rank] @ L[block, :rank].T
        factor = cholesky(columns[block].double().contiguous())
        columns = torch.linalg.solve_triangular(factor.to(L.dtype).T, columns, upper=True, left=False)
        L[:, rank : rank + size] = columns
        left = (left - columns.double().square().sum(dim=1)).clamp_min(0.0)
        left[block] = 0.0
        rank += size
    return L[:, :rank]
