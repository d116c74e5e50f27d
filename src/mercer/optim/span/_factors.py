"""Preconditioners (λI + WK)⁻¹ by Cholesky factors of n × n matrices, with the intercept eliminated.

The factors are in single precision where that suffices for a preconditioner of conjugate gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from mercer._errors import KernelError
from mercer._threads import blas_for, ordered_map
from mercer._typing import Array
from mercer.optim.span.losses import SoftmaxCurvature

#: rows below which single precision gains nothing
MIN_SINGLE_ROWS = 2000
#: condition number up to which a factor of single precision is a good preconditioner
MAX_SINGLE_CONDITION = 1e5
#: columns up to which each is solved separately
FEW_RIGHT_SIDES = 3
#: lower bound for curvatures as a portion of the largest one: smaller ones would cause overflow
FLATTEST = 1e-20
#: lower bound for curvatures as a portion of λ, for the same reason
FLATTEST_OF_STRENGTH = 1e-280


class KernelFactor:
    """K + λW⁻¹ = LLᵀ for one curvature h of each row, so that (λI + WK)⁻¹ = (LLᵀ)⁻¹ W⁻¹.

    From `single_rows` rows on, the factor is in single precision if the condition number allows it.
    """

    def __init__(self, K: Array, h: Array, strength: float, *, single_rows: int = MIN_SINGLE_ROWS) -> None:
        self.h = np.maximum(h, max(FLATTEST * h.max(), FLATTEST_OF_STRENGTH * strength))
        self._lower = _factorise(K, self.h, strength, single_rows)
        self._strength = strength

    def solve(self, V: Array) -> Array:
        """Return (λI + WK)⁻¹ V."""
        # λ/h is finite; its product with a V of very large weights may overflow
        own = np.abs(V).max(initial=0.0) or 1.0
        scaled = V / own * (self._strength / self.h)[:, None]
        size = np.abs(scaled).max(initial=0.0) or 1.0  # single precision has a smaller range
        with blas_for(len(self._lower)):
            solved = np.ascontiguousarray(_solve_lower(self._lower, scaled / size), dtype=float)
        return solved * size * (own / self._strength)

    def inverse(self) -> Array:
        """Return (K + λW⁻¹)⁻¹, which overwrites the factor."""
        potri = lapack.spotri if self._lower.dtype == np.float32 else lapack.dpotri
        with blas_for(len(self._lower)):
            half, _ = potri(self._lower, lower=1, overwrite_c=1)
        half = np.tril(half)
        return np.asarray(half + np.tril(half, -1).T)


def _factorise(K: Array, h: Array, strength: float, single_rows: int) -> Array:
    """Return L with LLᵀ = K + λW⁻¹, in single precision if the condition number allows it."""
    if len(K) >= single_rows and _estimate_condition(K, h, strength) < MAX_SINGLE_CONDITION:
        lower = _cholesky(K, strength / h, np.float32)
        if lower is not None:
            return lower
    # if λ is lost in the rounding of K, a slightly larger λ gives a factor; conjugate gradients correct for it
    rounding = len(K) * np.finfo(float).eps * float(np.max(np.diagonal(K)))
    for raised in (0.0, rounding, 100 * rounding):
        lower = _cholesky(K, strength / h + raised, np.float64)
        if lower is not None:
            return lower
    raise KernelError(
        "the kernel matrix is not positive definite on these rows, by more than rounding explains; check the kernel by "
        "mercer.kernels.check_positive_definite(kernel, X), or raise the penalty."
    )


def _solve_lower(lower: Array, V: Array) -> Array:
    """Return (LLᵀ)⁻¹ V; few columns are solved one by one, which is three times as fast as LAPACK's blocked solver."""
    single = lower.dtype == np.float32
    if V.shape[1] > FEW_RIGHT_SIDES:
        return np.asarray((lapack.spotrs if single else lapack.dpotrs)(lower, V, lower=1)[0])
    trsv = blas.strsv if single else blas.dtrsv
    return np.column_stack([trsv(lower, trsv(lower, v, lower=1), lower=1, trans=1) for v in V.T])


def _estimate_condition(K: Array, h: Array, strength: float) -> float:
    """Estimate the condition number of K + λW⁻¹ by two products, which bound the largest eigenvalue of K from below."""
    v = K @ np.ones(len(K))
    largest = np.linalg.norm(K @ v) / (np.linalg.norm(v) or 1.0)
    return 1 + float(np.max(h) / strength * max(largest, np.max(np.diagonal(K))))


def _cholesky(K: Array, added: Array, dtype: Any) -> Array | None:
    """Return L with L Lᵀ = K + diag(added); None if that is not positive definite."""
    potrf = lapack.spotrf if dtype == np.float32 else lapack.dpotrf
    matrix = np.array(K, dtype=dtype, order="C")
    np.einsum("ii->i", matrix)[...] += added
    with blas_for(len(K)):
        # the transpose is the same matrix, in the memory order that LAPACK needs
        lower, failed = potrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    return None if failed else lower


class FactorPreconditioner:
    """P for one curvature per row: exact if outputs are independent and have the same curvature."""

    def __init__(
        self, K: Array, h: Array, strength: float, *, intercept: bool, single_rows: int = MIN_SINGLE_ROWS
    ) -> None:
        self._strength, self._factor = strength, KernelFactor(K, h, strength, single_rows=single_rows)
        level = self._factor.solve(self._factor.h[:, None]) if intercept else None
        self._level = None if level is None else level / level.sum()

    def matvec(self, V: Array) -> Array:
        """Return P V."""
        result = self._factor.solve(V)
        if self._level is not None:
            # column sums of the result are those of V divided by λ, for every K
            missing = V.sum(axis=0) / self._strength - result.sum(axis=0)
            result += self._level * missing
        return result


class ClassFactorPreconditioner:
    """P for the curvature of a softmax, exact: a factor for each class, and one for all (Rasmussen and Williams 3.3).

    W = D − D1 w⁻¹ 1ᵀD with D the diagonals w p_k of all classes and 1 the sum over classes. So x = (λI + WK)⁻¹ v has
    x_k = (λI + D_kK)⁻¹ (v_k + D_k t), and the sum over classes of the equations gives t.
    """

    def __init__(self, K: Array, curvature: SoftmaxCurvature, strength: float, *, intercept: bool) -> None:
        self._strength, outputs = strength, curvature.p.shape[1]
        weight = np.ones(len(K)) if curvature.weight is None else curvature.weight
        D = weight[:, None] * curvature.p
        rest = weight - D.sum(axis=1)  # the diagonal of a reference class
        found = ordered_map(lambda k: _invert(KernelFactor(K, D[:, k], strength)), range(outputs))
        self._D = np.column_stack([h for h, _ in found])
        self._inverses = [inverse for _, inverse in found]
        shared = strength * sum(self._inverses[1:], np.array(self._inverses[0], dtype=float))
        self._sum = _factorise_sum(shared, np.maximum(rest, 0.0))
        self._levels = self._solve_levels(curvature) if intercept else None

    def _solve_levels(self, curvature: SoftmaxCurvature) -> tuple[Array, Array]:
        """Return the solutions for a constant in each class, and the pseudo-inverse of their sums."""
        n, outputs = self._D.shape
        moved = [self._solve(curvature.matvec(np.tile(one, (n, 1)))) for one in np.eye(outputs)]
        return np.stack(moved, axis=2), np.linalg.pinv(np.column_stack([part.sum(axis=0) for part in moved]))

    def matvec(self, V: Array) -> Array:
        """Return P V."""
        result = self._solve(V)
        if self._levels is not None:
            moved, inverse = self._levels
            missing = V.sum(axis=0) / self._strength - result.sum(axis=0)
            result += moved @ (inverse @ missing)
        return result

    def _solve(self, V: Array) -> Array:
        scaled = V / self._D
        alone = np.column_stack([inverse @ scaled[:, k] for k, inverse in enumerate(self._inverses)])
        t = _solve_lower(self._sum, (V.sum(axis=1) - self._strength * alone.sum(axis=1))[:, None])[:, 0]
        return np.asarray(alone + np.column_stack([inverse @ t for inverse in self._inverses]))


def _invert(factor: KernelFactor) -> tuple[Array, Array]:
    return factor.h, factor.inverse()


def _factorise_sum(matrix: Array, added: Array) -> Array:
    """Return L with LLᵀ = matrix + diag(added), raised by rounding if necessary."""
    size = float(np.max(np.diagonal(matrix)))
    for raised in (0.0, 1e-14, 1e-12, 1e-10):
        lower = _cholesky(matrix, added + raised * size, np.float64)
        if lower is not None:
            return lower
    raise KernelError("the classes cannot be distinguished by these rows, up to rounding; raise the penalty.")
