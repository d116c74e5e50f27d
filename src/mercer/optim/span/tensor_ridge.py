"""Exact kernel ridge regression of the rows of a tensor: (S K S + alpha) c = S y on their device.

Few rows are solved by a Cholesky factor, many by conjugate gradients on tiles that are not stored, with a low-rank
preconditioner from randomly chosen pivots: (LLᵀ + alpha)⁻¹ with K ≈ LLᵀ. If tiles of float32 have too few digits for a
small alpha, those of float64 continue from their solution.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import DeviceMemoryError
from mercer._gpu import like, to_numpy
from mercer._gpu.chunks import device_memory_for
from mercer._typing import Array
from mercer.kernels import Kernel
from mercer.kernels.tensors import TensorGram
from mercer.matrices.mapped_tensors import worth_double
from mercer.optim.certificate import Solution
from mercer.optim.krylov import conjugate_gradient
from mercer.optim.span._tensor_curvature import cholesky, pivoted_factor
from mercer.optim.span.ridge import RIDGE_TOLERANCE, DualFit, residual_certificate
from mercer.optim.span.system import largest_share

#: rows up to which the matrix is stored in GPU memory and factorised
MAX_FACTORED_ROWS_ON_CARD = 30_000
#: rows up to which the matrix is stored in main memory and factorised
MAX_FACTORED_ROWS_ON_CPU = 4_000
#: bound for the relative residual with products in float32
SINGLE_RIDGE_TOLERANCE = 1e-4
#: steps of conjugate gradients
MAX_TENSOR_STEPS = 1_000


def kernel_ridge(
    kernel: Kernel,
    X: Any,
    Y: Array,
    weight: Array | None,
    alpha: Array,
    *,
    max_factored_rows: int | None = None,
    double: bool | None = None,
) -> Solution:
    """Solve for a `DualFit`, with the penalty of each target; all weights are above 0.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : tensor of shape (n, columns)
        The rows.
    Y : array of shape (n, targets)
        The responses.
    weight : array of shape (n,), optional
        The weights of the rows.
    alpha : array of shape (targets,)
        The penalty of each target.
    max_factored_rows : int, optional
        Rows up to which the matrix is factorised; by default `MAX_FACTORED_ROWS_ON_CARD` or `MAX_FACTORED_ROWS_ON_CPU`.
    double : bool, optional
        Whether kernels are computed in float64 from the beginning; by default if X is, or if it costs little
        (`worth_double`).

    Raises
    ------
    DeviceMemoryError
        If a preconditioner does not fit in GPU memory.
    """
    double = worth_double(X, len(X)) if double is None else double
    rows = X.double() if double else X
    root = np.ones((len(X), 1)) if weight is None else np.sqrt(weight)[:, None]
    if max_factored_rows is None:
        max_factored_rows = MAX_FACTORED_ROWS_ON_CARD if X.is_cuda else MAX_FACTORED_ROWS_ON_CPU
    if len(X) <= max_factored_rows:
        with suppress(DeviceMemoryError):  # conjugate gradients need less
            return _solve_by_cholesky(TensorGram(kernel, rows.double()), root, Y, alpha)
    if double:
        return _solve_by_steps(TensorGram(kernel, rows), root, Y, alpha, RIDGE_TOLERANCE)
    rough = _solve_by_steps(TensorGram(kernel, rows), root, Y, alpha, SINGLE_RIDGE_TOLERANCE)
    if not (rough.certificate.holds or rough.interrupted):
        with suppress(DeviceMemoryError):
            begin = rough.coef.coefficients / root
            return _solve_by_steps(TensorGram(kernel, X.double()), root, Y, alpha, SINGLE_RIDGE_TOLERANCE, begin)
    return rough


def _solve_by_cholesky(gram: TensorGram, root: Array, Y: Array, alpha: Array) -> Solution:
    import torch

    K = gram.matrix()
    S, strengths = like(root, K), like(alpha, K)
    right, c = like(root * Y, K), like(np.zeros(Y.shape), K)
    with device_memory_for("a kernel matrix and its Cholesky factor"):
        K.mul_(S).mul_(S.T)
        for strength in np.unique(alpha):
            matrix = K.clone()
            matrix.diagonal().add_(float(strength))
            L, of = cholesky(matrix), torch.as_tensor(alpha == strength, device=K.device)
            for _ in range(2):  # the second corrects rounding errors of the first
                c[:, of] += torch.cholesky_solve((right - K @ c - strengths * c)[:, of], L)
    left = right - K @ c - strengths * c
    return _solution(to_numpy(S * c), largest_share(to_numpy(left), root * Y), RIDGE_TOLERANCE, "a Cholesky factor")


def _solve_by_steps(
    gram: TensorGram, root: Array, Y: Array, alpha: Array, tolerance: float, start: Array | None = None
) -> Solution:
    S = like(root, gram.diagonal).double()

    def product(v: Array) -> Array:
        return np.asarray(to_numpy(S * gram.matvec(S * like(v, S))) + alpha * v)

    inverse, rank = _deflation(gram, S, alpha)
    path = f"conjugate gradients by tiles of {str(gram.dtype).removeprefix('torch.')}, {rank} pivots"
    found = conjugate_gradient(
        product, root * Y, start=start, precondition=inverse, tolerance=tolerance, most_steps=MAX_TENSOR_STEPS
    )
    steps = f"{found.n_iter} steps of {path}"
    solution = _solution(root * found.coef, found.certificate.value, tolerance, steps)
    return replace(solution, interrupted=found.interrupted)


def _deflation(gram: TensorGram, S: Any, alpha: Array) -> tuple[Callable[[Array], Array], int]:
    """Return r ↦ (LLᵀ + alpha)⁻¹ r for each target, with the weights in L, and the number of pivots."""
    import torch

    L = pivoted_factor(gram, float(alpha.min()))
    L *= S.to(L.dtype)
    square = (L.T @ L).double()
    factors = {}
    for strength in np.unique(alpha):
        matrix = square.clone()
        matrix.diagonal().add_(float(strength))
        factors[float(strength)] = cholesky(matrix)

    def inverse(R: Array) -> Array:
        result = np.empty_like(R)
        for strength, factor in factors.items():
            of = alpha == strength
            part = like(np.ascontiguousarray(R[:, of]), S)
            inside = torch.cholesky_solve((L.T @ part.to(L.dtype)).double(), factor)
            result[:, of] = to_numpy((part - (L @ inside.to(L.dtype)).double()) / strength)
        return result

    return inverse, int(L.shape[1])


def _solution(coefficients: Array, error: float, tolerance: float, path: str) -> Solution:
    return Solution(DualFit(coefficients, path), residual_certificate(error, tolerance))
