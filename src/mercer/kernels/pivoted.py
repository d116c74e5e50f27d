"""A kernel matrix as LLᵀ with few columns, from some of its rows: the pivots, where most is left of the diagonal.

Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber 2025), a block of pivots at a time; the seed is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer.kernels.gram import Gram

Array = NDArray[Any]

#: pivots that are looked at together
BLOCK = 64
#: what is left of a diagonal entry below this portion of it is rounding
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class PivotedCholesky:
    """K ≈ LLᵀ, exact on the rows and columns of the pivots, where L is `corner`, a lower triangle."""

    L: Array
    pivots: Array

    @property
    def corner(self) -> Array:
        return np.asarray(self.L[self.pivots])

    @classmethod
    def of(cls, gram: Gram, most: int, enough: float) -> Self:
        """Of no more than `most` pivots, or as many as leave no more than `enough` of the diagonal, on average."""
        n, rng = gram.shape[0], np.random.default_rng(0)
        L, pivots = np.zeros((n, min(most, n)), order="F"), np.zeros(0, dtype=np.intp)
        smallest, left = ROUNDING * gram.diagonal, np.array(gram.diagonal, dtype=float)
        while len(pivots) < most and left.sum() > enough * n:
            chance = np.where(left > smallest, left, 0.0)
            if not (candidates := int(np.count_nonzero(chance))):
                break
            size = min(BLOCK, most - len(pivots), candidates)
            block = rng.choice(n, size, replace=False, p=chance / chance.sum())
            added = _columns(gram, L[:, : len(pivots)], block, smallest)
            if added is None:
                left[block] = 0.0
                continue
            columns, block = added
            L[:, len(pivots) : len(pivots) + len(block)] = columns
            pivots = np.append(pivots, block)
            left = np.maximum(left - np.einsum("ij,ij->i", columns, columns), 0.0)
            left[pivots] = 0.0
        return cls(L[:, : len(pivots)], pivots)


def _columns(gram: Gram, L: Array, block: Array, smallest: Array) -> tuple[Array, Array] | None:
    """The next columns of L from some pivots, less those that depend on others; None if all do."""
    rest = np.asarray(gram.rows(block), dtype=float) - L[block] @ L.T
    factor, order, rank, _ = dpstrf(rest[:, block], tol=float(smallest[block].max()), lower=1)
    if rank == 0:
        return None
    chosen = order[:rank] - 1
    columns = solve_triangular(np.tril(factor[:rank, :rank]), rest[chosen], lower=True, check_finite=False)
    return columns.T, block[chosen]
