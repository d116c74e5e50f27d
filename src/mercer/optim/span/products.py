"""Products with a kernel matrix K, in memory or tile by tile, and preconditioners for λI + WK.

A preconditioner P is self-adjoint in the inner product ⟨u, v⟩ = uᵀKv of the functions Σ uᵢ k(·, xᵢ), as λI + WK is:
in it conjugate gradients need one product with K per step, and no root of W, which may be singular.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from mercer._errors import KernelError
from mercer._memory import available_bytes, check_memory
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.kernels import Gram
from mercer.kernels.pivoted import PivotedCholesky
from mercer.optim.span._factors import ClassFactorPreconditioner, FactorPreconditioner
from mercer.optim.span.losses import LossCurvature, SoftmaxCurvature

#: share of the free memory for K and its factor
MATRIX_MEMORY_SHARE = 0.6
#: largest rank of a low-rank factor
MAX_NEWTON_PIVOTS = 1500
#: mean remaining diagonal of a low-rank factor, in units of λ W⁻¹
NEWTON_LEAST_LEFT = 0.1


class Preconditioner(Protocol):
    """V ↦ P V with P close to (λI + WK)⁻¹, with an intercept eliminated."""

    def matvec(self, V: Array) -> Array: ...


class KernelProducts(ABC):
    """A kernel matrix K, given by its products."""

    name: str

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def matvec(self, V: Array) -> Array:
        """Return K V for V of shape (n, outputs)."""

    @abstractmethod
    def preconditioner(
        self, curvature: LossCurvature, strength: float, *, intercept: bool, better: bool = False
    ) -> Preconditioner:
        """Return P for W; `better` if the last one needed many steps."""

    @abstractmethod
    def worth_steps(self) -> int:
        """Return the number of conjugate gradient steps that take as long as a new preconditioner."""


def make_products(gram: Gram, *, in_memory: bool | None = None) -> KernelProducts:
    """Return K in memory if it and a factor fit there, else by tiles with a low-rank preconditioner."""
    n = gram.shape[0]
    if in_memory is None:
        in_memory = 2 * 8 * n**2 <= MATRIX_MEMORY_SHARE * available_bytes()
    elif in_memory:
        check_memory(2 * 8.0 * n**2, f"a kernel matrix of {n:,} rows with a factor", "use solver='newton-cg'")
    return StoredMatrix(gram.matrix()) if in_memory else TiledMatrix(gram)


@dataclass(frozen=True, eq=False)
class StoredMatrix(KernelProducts):
    """K in memory, with Cholesky factors of K + λ W⁻¹."""

    K: Array
    name = "Cholesky factors"

    def __post_init__(self) -> None:
        if not np.isfinite(np.sum(self.K)):
            raise KernelError(
                "the kernel gives values that are not finite, or too large for float64, on these rows; divide the "
                "columns by their scale, or use kernel.normalised()."
            )

    def __len__(self) -> int:
        return len(self.K)

    def matvec(self, V: Array) -> Array:
        return self.K @ V

    def preconditioner(
        self, curvature: LossCurvature, strength: float, *, intercept: bool, better: bool = False
    ) -> Preconditioner:
        if isinstance(curvature, SoftmaxCurvature) and better and self._fits_memory(curvature.p.shape[1]):
            return ClassFactorPreconditioner(self.K, curvature, strength, intercept=intercept)
        return FactorPreconditioner(self.K, curvature.typical, strength, intercept=intercept)

    def _fits_memory(self, matrices: int) -> bool:
        """Return whether that many inverses fit in memory, with the work space of all threads."""
        return 8 * self.K.size * (matrices + 3 * (1 + thread_count())) <= MATRIX_MEMORY_SHARE * available_bytes()

    def worth_steps(self) -> int:
        return max(3, len(self.K) // 150)


@dataclass(frozen=True, eq=False)
class TiledMatrix(KernelProducts):
    """K by tiles, never formed."""

    gram: Gram
    #: largest rank of the low-rank factor
    most_pivots: int = MAX_NEWTON_PIVOTS
    #: mean remaining diagonal at which no more pivots are added, in units of λ W⁻¹
    least_left: float = NEWTON_LEAST_LEFT
    name = "a pivoted Cholesky factor of low rank"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pivoted", None)

    def __len__(self) -> int:
        return self.gram.shape[0]

    def matvec(self, V: Array) -> Array:
        return self.gram.matvec(V)

    def preconditioner(
        self, curvature: LossCurvature, strength: float, *, intercept: bool, better: bool = False
    ) -> Preconditioner:
        h = curvature.typical
        pivoted = self._pivoted_factor(strength / float(h.mean()))
        return LowRankPreconditioner(pivoted, h, strength, intercept=intercept)

    def _pivoted_factor(self, level: float) -> PivotedCholesky:
        """Return the pivoted Cholesky factor, computed once, since the pivots do not depend on W."""
        known: PivotedCholesky | None = self.__dict__["_pivoted"]
        if known is None:
            most = max(
                1, min(self.most_pivots, len(self), int(MATRIX_MEMORY_SHARE * available_bytes() / (16 * len(self))))
            )
            known = PivotedCholesky.of(self.gram, most, self.least_left * level)
            object.__setattr__(self, "_pivoted", known)
        return known

    def worth_steps(self) -> int:
        return 20


class LowRankPreconditioner:
    """(λI + WK)⁻¹ on the functions of some rows, the pivots, and 1/λ on what is orthogonal to them.

    With K ≈ LLᵀ and U such that KU = L and UᵀKU = I, it is v ↦ v/λ + U ((λI + LᵀWL)⁻¹ − I/λ) Lᵀv.
    """

    def __init__(self, pivoted: PivotedCholesky, h: Array, strength: float, *, intercept: bool) -> None:
        self._pivoted, self._strength = pivoted, strength
        L = pivoted.L
        weighted = h[:, None] * L
        gram = L.T @ weighted
        if intercept:
            sums = weighted.sum(axis=0)
            gram -= np.outer(sums, sums) / h.sum()
        values, vectors = np.linalg.eigh(gram)
        values = np.maximum(values, 0.0)
        self._vectors, self._shares = vectors, -values / (strength * (strength + values))

    def matvec(self, V: Array) -> Array:
        result = V / self._strength
        inside = self._vectors @ (self._shares[:, None] * (self._vectors.T @ (self._pivoted.L.T @ V)))
        result[self._pivoted.pivots] += solve_triangular(
            self._pivoted.corner, inside, lower=True, trans="T", check_finite=False
        )
        return result
