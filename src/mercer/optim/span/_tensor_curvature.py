"""The curvature of a problem of kernels with landmarks on a card: from a sample of rows, or from the landmarks alone.

H = K_nMᵀ W K_nM + λ K_MM. Of not too many landmarks the first term is that of a sample of rows; of many, whose square
hardly has room, the landmarks stand for all rows: with K_MM = TᵀT it is (n/M) h TᵀTTᵀT (Falkon: Rudi, Carratino and
Rosasco 2017).
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from mercer._errors import DeviceMemoryError, NotPositiveDefiniteError
from mercer._gpu import like, to_numpy
from mercer._memory import available_bytes
from mercer._typing import Array
from mercer.kernels.tensors import TensorGram

#: landmarks up to which rows of a sample are squared, in float64
SQUARED = 20_000
#: rows of a sample that are multiplied at once
ROWS = 16_384
#: columns of a triangle that are multiplied at once
TENSOR_CURVATURE_BLOCK = 8_192
#: matrices of landmarks that are in memory at once beside their kernels, at most
MATRICES = 3
#: what is added to a diagonal for a start, in units of rounding, if there is no factor without it
JITTER = 10.0
#: … and the most, in units of its largest entry: more is no rounding
MOST_JITTER = 0.1


class TensorInverse:
    """r ↦ H⁻¹ r, about, for each output with its λ."""

    def __init__(self, design: Any, sample: Array, bend: Any, strengths: Array) -> None:
        import torch

        self._M, self._intercept = design.n_features, design.intercept
        h = bend.typical.double()
        try:
            if self._M <= SQUARED:
                self._curve: Any = _SampledCurvature(design, sample, h)
            else:
                self._curve = _LandmarkCurvature(design, float(h.mean()), float(h.sum()))
            self._factorise(strengths)
        except torch.cuda.OutOfMemoryError as full:  # pragma: no cover – only on a card
            raise DeviceMemoryError(
                f"a preconditioner of {self._M:,} landmarks has no room on {design.X.device}; use fewer landmarks "
                "(approximate=Nystroem(n_components=…)), or free what else lies there."
            ) from full

    def penalised(self, strengths: Array) -> TensorInverse:
        other = copy(self)
        other._factorise(strengths)
        return other

    def _factorise(self, strengths: Array) -> None:
        each, self._of = np.unique(strengths, return_inverse=True)
        self._factors = [self._curve.factor(float(strength)) for strength in each]

    def times(self, R: Array) -> Array:
        result = np.empty_like(R)
        for number, factor in enumerate(self._factors):
            of = self._of == number
            result[:, of] = to_numpy(factor(like(np.ascontiguousarray(R[:, of]), self._curve.like)))
        return result

    def used_degrees(self) -> float:
        """By the landmarks and the sample, as far as these tell."""
        return float(self._curve.used_degrees(self._factors[0]))


class _SampledCurvature:
    """Z_sᵀ W Z_s of a sample, for all rows, and K_MM."""

    def __init__(self, design: Any, sample: Array, h: Any) -> None:
        import torch

        some = design.take(sample) if len(sample) < design.n_rows else design
        of_sample = h[like(sample, h, dtype=torch.int64)]
        share = float(of_sample.sum() / h.sum()) if float(h.sum()) > 0 else 1.0
        weight = (of_sample / share).clamp_min(0.0).sqrt() if share > 0 else torch.ones_like(of_sample)
        p = design.n_columns
        self.gram = torch.zeros(p, p, dtype=torch.float64, device=design.X.device)
        for start in range(0, len(sample), ROWS):
            rows = slice(start, start + ROWS)
            Z = some.rows(rows).double()
            Z = torch.cat([Z, torch.ones_like(Z[:, :1])], dim=1) if design.intercept else Z
            Z *= weight[rows, None]
            self.gram += Z.T @ Z
        self.metric = torch.zeros_like(self.gram)
        self.metric[: design.n_features, : design.n_features] = design.metric_matrix().double()
        self.like = self.gram

    def factor(self, strength: float) -> Any:
        import torch

        L = cholesky(self.gram + strength * self.metric)
        return lambda R: torch.cholesky_solve(R, L)

    def used_degrees(self, factor: Any) -> Any:
        return factor(self.gram).trace()


class _LandmarkCurvature:
    """With K_MM = TTᵀ (T lower), H⁻¹ = T⁻ᵀ (h n/M TᵀT + λ)⁻¹ T⁻¹; the intercept by its own curvature.

    In float64, if the design is and there is room: what float32 adds to K_MM, so as to have a factor, costs steps.
    """

    def __init__(self, design: Any, level: float, total: float) -> None:
        self._intercept, self._total = design.intercept, total
        K = design.metric_matrix()
        self._T = cholesky(K if MATRICES * K.numel() * K.element_size() <= free_bytes(K) else K.float())
        self._scale = level * design.n_rows / design.n_features
        self.like = self._T

    def factor(self, strength: float) -> Any:
        import torch

        T = self._T
        square = _transposed_square(T)
        square *= self._scale
        square.diagonal().add_(strength)
        A = cholesky(square)
        del square

        def solve(R: Any) -> Any:
            inside = R[:-1] if self._intercept else R
            inside = torch.linalg.solve_triangular(T, inside, upper=False)
            inside = torch.cholesky_solve(inside, A)
            inside = torch.linalg.solve_triangular(T.T, inside, upper=True)
            return torch.cat([inside, R[-1:] / max(self._total, 1e-300)]) if self._intercept else inside

        return solve

    def used_degrees(self, factor: Any) -> float:
        return float("nan")


def _transposed_square(T: Any) -> Any:
    """TᵀT of a lower triangle, on and below the diagonal, by blocks: a sixth of the work of the product."""
    square = T.new_zeros(T.shape)
    for i in range(0, len(T), TENSOR_CURVATURE_BLOCK):
        below = T[i:, i : i + TENSOR_CURVATURE_BLOCK]
        square[i : i + TENSOR_CURVATURE_BLOCK, : i + TENSOR_CURVATURE_BLOCK] = (
            below.T @ T[i:, : i + TENSOR_CURVATURE_BLOCK]
        )
    return square


def free_bytes(tensor: Any) -> float:
    """Of memory where a tensor is."""
    import torch

    return float(torch.cuda.mem_get_info(tensor.device)[0] if tensor.is_cuda else available_bytes())


def cholesky(matrix: Any) -> Any:
    """The lower factor of a matrix that rounding may have left indefinite; its diagonal is then made larger."""
    import torch

    largest = float(matrix.diagonal().abs().max())
    size = largest * torch.finfo(matrix.dtype).eps
    jitter, most = 0.0, MOST_JITTER * largest
    while True:
        L, failed = torch.linalg.cholesky_ex(matrix)
        if not int(failed):
            return L
        del L
        step = JITTER * size if jitter == 0.0 else 9 * jitter
        if not 0 < step < most:
            raise NotPositiveDefiniteError(
                "the kernel matrix of the landmarks has no factor: the kernel is not positive definite on them, or "
                "gives values that are not finite. Divide the columns by their scale, or choose another kernel."
            )
        matrix.diagonal().add_(step)
        jitter += step


# K ≈ LLᵀ of few columns on a card: `kernels.pivoted` for tensors.

#: pivots that are looked at together, the most of them, and of the memory that is left what L may take
BLOCK, MOST, SHARE = 256, 4_096, 0.2
#: on average, what may be left of the diagonal, in alpha: more pivots would save no steps
ENOUGH = 0.1
#: what is left of a diagonal entry below this portion of it is rounding, in units of rounding
ROUNDING = 100.0


def pivoted_factor(gram: TensorGram, alpha: float) -> Any:
    """L, of shape (n, pivots), from rows that are drawn with the chance of what those before leave of them."""
    import torch

    n, diagonal = gram.shape[0], gram.diagonal
    most = min(n, MOST, max(BLOCK, int(SHARE * free_bytes(diagonal) / (diagonal.element_size() * n))))
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
