"""Products with a kernel matrix K, kept in memory or made tile by tile, and preconditioners for λI + WK.

A preconditioner P is self-adjoint in the inner product ⟨u, v⟩ = uᵀKv of the functions Σ uᵢ k(·, xᵢ), as λI + WK is:
there conjugate gradients need one product with K for a step, and no root of W, which may be singular.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from mercer._errors import KernelError
from mercer._memory import available_bytes, refuse_beyond_memory
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.kernels import Gram
from mercer.kernels.pivoted import PivotedCholesky
from mercer.optim.span._factors import FactorPreconditioner, ClassFactorPreconditioner
from mercer.optim.span.losses import LossCurvature, SoftmaxCurvature

#: of the memory that is left, what K and its factor may take
SHARE = 0.6
#: most columns of a factor of low rank, and what it may leave of λ W⁻¹, on average
MOST_PIVOTS, LEAST_LEFT = 1500, 0.1


class Preconditioner(Protocol):
    """V ↦ P V with P close to (λI + WK)⁻¹, less what an intercept takes of it."""

    def times(self, V: Array) -> Array: ...


class KernelProducts(ABC):
    """K, known by what it makes of vectors."""

    name: str

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def times(self, V: Array) -> Array:
        """K V for V of shape (n, outputs)."""

    @abstractmethod
    def preconditioner(self, bend: LossCurvature, strength: float, *, intercept: bool, better: bool = False) -> Preconditioner:
        """P for that W; `better` if the last one was poor."""

    @abstractmethod
    def worth_steps(self) -> int:
        """How many steps of conjugate gradients take as long as a new preconditioner."""


def make_products(gram: Gram, *, in_memory: bool | None = None) -> KernelProducts:
    """K in memory where it and a factor fit there; else by tiles, whose preconditioner has low rank."""
    n = gram.shape[0]
    if in_memory is None:
        in_memory = 2 * 8 * n**2 <= SHARE * available_bytes()
    elif in_memory:
        refuse_beyond_memory(2 * 8.0 * n**2, f"a kernel matrix of {n:,} rows with a factor", "use solver='newton-cg'")
    return StoredMatrix(gram.matrix()) if in_memory else TiledMatrix(gram)


@dataclass(frozen=True, eq=False)
class StoredMatrix(KernelProducts):
    """All of K, and Cholesky factors of K + λ W⁻¹."""

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

    def times(self, V: Array) -> Array:
        return self.K @ V

    def preconditioner(self, bend: LossCurvature, strength: float, *, intercept: bool, better: bool = False) -> Preconditioner:
        if isinstance(bend, SoftmaxCurvature) and better and self._fit(bend.p.shape[1]):
            return ClassFactorPreconditioner(self.K, bend, strength, intercept=intercept)
        return FactorPreconditioner(self.K, bend.typical, strength, intercept=intercept)

    def _fit(self, matrices: int) -> bool:
        """Whether so many inverses have room, beside what every thread needs to make one."""
        return 8 * self.K.size * (matrices + 3 * (1 + thread_count())) <= SHARE * available_bytes()

    def worth_steps(self) -> int:
        return max(3, len(self.K) // 150)


@dataclass(frozen=True, eq=False)
class TiledMatrix(KernelProducts):
    """K is never formed."""

    gram: Gram
    name = "a pivoted Cholesky factor of low rank"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pivoted", None)

    def __len__(self) -> int:
        return self.gram.shape[0]

    def times(self, V: Array) -> Array:
        return self.gram.times(V)

    def preconditioner(self, bend: LossCurvature, strength: float, *, intercept: bool, better: bool = False) -> Preconditioner:
        h = bend.typical
        pivoted = self._found(strength / float(h.mean()))
        return LowRankPreconditioner(pivoted, h, strength, intercept=intercept)

    def _found(self, level: float) -> PivotedCholesky:
        """The pivots do not depend on W, so that they are found once."""
        known: PivotedCholesky | None = self.__dict__["_pivoted"]
        if known is None:
            most = max(1, min(MOST_PIVOTS, len(self), int(SHARE * available_bytes() / (16 * len(self)))))
            known = PivotedCholesky.of(self.gram, most, LEAST_LEFT * level)
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

    def times(self, V: Array) -> Array:
        result = V / self._strength
        inside = self._vectors @ (self._shares[:, None] * (self._vectors.T @ (self._pivoted.L.T @ V)))
        result[self._pivoted.pivots] += solve_triangular(
            self._pivoted.corner, inside, lower=True, trans="T", check_finite=False
        )
        return result
