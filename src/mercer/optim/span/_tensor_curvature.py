"""Preconditioners for kernels on tensors: the curvature of landmarks, and pivoted Cholesky factors.

H = K_nMᵀ W K_nM + λ K_MM. For not too many landmarks the first term is estimated from a sample of rows; for many, whose
square hardly fits in memory, from the landmarks: with K_MM = TᵀT it is (n/M) h TᵀTTᵀT (Falkon: Rudi, Carratino and
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

#: landmarks up to which the curvature is that of a sample of rows, in float64
MAX_SAMPLED_LANDMARKS = 20_000
#: rows of a sample that are multiplied at once
ROWS_PER_SQUARE = 16_384
#: columns of a triangle that are multiplied at once
TRIANGLE_BLOCK = 8_192
#: matrices of the size of the landmarks in memory at once, besides their kernel matrix
LANDMARK_MATRICES = 3
#: first addition to the diagonal of an indefinite matrix, in units of rounding
CHOLESKY_JITTER = 10.0
#: largest addition, in units of the largest diagonal entry: more is not rounding
MAX_CHOLESKY_JITTER = 0.1


class TensorInverse:
    """Approximate inverse r ↦ H⁻¹ r, for each output with its λ.

    For up to `max_sampled` landmarks the curvature is that of a sample of the rows, else that of the landmarks.
    """

    def __init__(
        self, design: Any, sample: Array, curvature: Any, strengths: Array, *, max_sampled: int = MAX_SAMPLED_LANDMARKS
    ) -> None:
        import torch

        self._M, self._intercept = design.n_features, design.intercept
        h = curvature.typical.double()
        try:
            if design.n_features <= max_sampled:
                self._curve: Any = _SampledCurvature(design, sample, h)
            else:
                self._curve = _LandmarkCurvature(design, float(h.mean()), float(h.sum()))
            self._factorise(strengths)
        except torch.cuda.OutOfMemoryError as full:  # pragma: no cover – only on a card
            raise DeviceMemoryError(
                f"a preconditioner of {self._M:,} landmarks does not fit in the memory of {design.X.device}; use fewer "
                "landmarks (approximate=Nystroem(n_components=…)), or free memory there."
            ) from full

    def with_penalties(self, strengths: Array) -> TensorInverse:
        """Return the inverse for other penalties."""
        other = copy(self)
        other._factorise(strengths)
        return other

    def _factorise(self, strengths: Array) -> None:
        each, self._of = np.unique(strengths, return_inverse=True)
        self._factors = [self._curve.factor(float(strength)) for strength in each]

    def matvec(self, R: Array) -> Array:
        """Return H⁻¹ R."""
        result = np.empty_like(R)
        for number, factor in enumerate(self._factors):
            of = self._of == number
            result[:, of] = to_numpy(factor(like(np.ascontiguousarray(R[:, of]), self._curve.like)))
        return result

    def used_degrees(self) -> float:
        """Return the degrees of freedom, estimated from the sample; NaN from landmarks alone."""
        return float(self._curve.used_degrees(self._factors[0]))


class _SampledCurvature:
    """ZᵀWZ of all rows, estimated from a sample, and K_MM."""

    def __init__(self, design: Any, sample: Array, h: Any) -> None:
        import torch

        some = design.take(sample) if len(sample) < design.n_rows else design
        of_sample = h[like(sample, h, dtype=torch.int64)]
        share = float(of_sample.sum() / h.sum()) if float(h.sum()) > 0 else 1.0
        weight = (of_sample / share).clamp_min(0.0).sqrt() if share > 0 else torch.ones_like(of_sample)
        p = design.n_columns
        self.gram = torch.zeros(p, p, dtype=torch.float64, device=design.X.device)
        for start in range(0, len(sample), ROWS_PER_SQUARE):
            rows = slice(start, start + ROWS_PER_SQUARE)
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
    """With K_MM = TTᵀ (T lower), H⁻¹ = T⁻ᵀ (h n/M TᵀT + λ)⁻¹ T⁻¹; the intercept has its own curvature.

    It is in float64 if the design is and memory suffices: float32 needs a larger addition to the diagonal of K_MM,
    which costs steps.
    """

    def __init__(self, design: Any, level: float, total: float) -> None:
        self._intercept, self._total = design.intercept, total
        K = design.metric_matrix()
        self._T = cholesky(K if LANDMARK_MATRICES * K.numel() * K.element_size() <= free_bytes(K) else K.float())
        self._scale = level * design.n_rows / design.n_features
        self.like = self._T

    def factor(self, strength: float) -> Any:
        import torch

        T = self._T
        square = square_of_triangle(T)
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


def square_of_triangle(T: Any, *, block: int = TRIANGLE_BLOCK) -> Any:
    """Return TᵀT of a lower triangle, on and below the diagonal, by blocks: a sixth of the work of the full product."""
    square = T.new_zeros(T.shape)
    for i in range(0, len(T), block):
        square[i : i + block, : i + block] = T[i:, i : i + block].T @ T[i:, : i + block]
    return square


def free_bytes(tensor: Any) -> float:
    """Return the free memory of the device of a tensor."""
    import torch

    return float(torch.cuda.mem_get_info(tensor.device)[0] if tensor.is_cuda else available_bytes())


def cholesky(matrix: Any) -> Any:
    """Return the lower Cholesky factor; if rounding has made the matrix indefinite, its diagonal is raised."""
    import torch

    largest = float(matrix.diagonal().abs().max())
    size = largest * torch.finfo(matrix.dtype).eps
    jitter, most = 0.0, MAX_CHOLESKY_JITTER * largest
    while True:
        L, failed = torch.linalg.cholesky_ex(matrix)
        if not int(failed):
            return L
        del L
        step = CHOLESKY_JITTER * size if jitter == 0.0 else 9 * jitter
        if not 0 < step < most:
            raise NotPositiveDefiniteError(
                "the kernel matrix of the landmarks has no factor: the kernel is not positive definite on them, or "
                "gives values that are not finite. Divide the columns by their scale, or choose another kernel."
            )
        matrix.diagonal().add_(step)
        jitter += step


# Pivoted Cholesky factors

#: pivots that are processed together
PIVOTS_PER_BLOCK = 256
#: number of pivots
MAX_TENSOR_PIVOTS = 4_096
#: share of the free memory for L
PIVOT_MEMORY_SHARE = 0.2
#: mean remaining diagonal, in units of alpha, at which more pivots would save no steps
TENSOR_LEAST_LEFT = 0.1
#: a remainder of a diagonal entry below this portion of it is rounding, in units of rounding
REMAINDER_ROUNDING = 100.0


def pivoted_factor(gram: TensorGram, alpha: float, *, block: int = PIVOTS_PER_BLOCK) -> Any:
    """Return L (n, pivots) with K ≈ LLᵀ.

    Pivots are drawn with probabilities proportional to the remaining diagonal, `block` at a time.
    """
    import torch

    n, diagonal = gram.shape[0], gram.diagonal
    most = min(
        n, MAX_TENSOR_PIVOTS, max(block, int(PIVOT_MEMORY_SHARE * free_bytes(diagonal) / (diagonal.element_size() * n)))
    )
    try:
        L = torch.zeros(n, most, dtype=diagonal.dtype, device=diagonal.device)
    except torch.cuda.OutOfMemoryError as full:  # pragma: no cover – only on a card
        raise DeviceMemoryError(
            f"{most} pivots of {n:,} rows do not fit in the memory of {diagonal.device}; free memory there, or give "
            "approximate='nystroem'."
        ) from full
    generator = torch.Generator(device=diagonal.device).manual_seed(0)
    least = REMAINDER_ROUNDING * torch.finfo(diagonal.dtype).eps * diagonal
    left, rank = diagonal.double().clone(), 0
    while rank < most and float(left.sum()) > TENSOR_LEAST_LEFT * alpha * n:
        chance = torch.where(left > least, left, 0.0)
        size = min(block, most - rank, int(torch.count_nonzero(chance)))
        if size == 0:
            break
        pivots = torch.multinomial(chance, size, generator=generator)
        columns = gram.rows(pivots).T - L[:, :rank] @ L[pivots, :rank].T
        factor = cholesky(columns[pivots].double().contiguous())
        columns = torch.linalg.solve_triangular(factor.to(L.dtype).T, columns, upper=True, left=False)
        L[:, rank : rank + size] = columns
        left = (left - columns.double().square().sum(dim=1)).clamp_min(0.0)
        left[pivots] = 0.0
        rank += size
    return L[:, :rank]
