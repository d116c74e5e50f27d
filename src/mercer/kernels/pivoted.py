"""A kernel matrix as LLᵀ with few columns, from some of its rows: the pivots, where most of the diagonal remains.

Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber 2025) draws each pivot with a probability proportional to the
remainder of its diagonal entry. One at a time, each pivot would read L once. Therefore many are proposed at once, and
one that the pivots before it have made unlikely is rejected, so that the pivots are distributed as if each had been
drawn on its own (Epperly, Tropp and Webber 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import dtrsm

from mercer._typing import Array
from mercer.kernels.gram import GivenMatrix, Gram

#: pivots that are proposed together
PROPOSED_PIVOTS = 128
#: … and the least number of them
MIN_PROPOSED = 16
#: entries of their rows of the matrix, above which fewer pivots are proposed
MAX_PROPOSED_ENTRIES = 2**25
#: portion of a diagonal entry below which its remainder is rounding
PIVOT_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class PivotedCholesky:
    """K ≈ LLᵀ, exact on the rows and columns of the pivots, where L is `corner`, a lower triangle."""

    L: Array
    pivots: Array
    #: sum of the diagonal of K
    trace: float
    #: sum of the diagonal of K − LLᵀ
    left: float

    @property
    def corner(self) -> Array:
        return np.asarray(self.L[self.pivots])

    @property
    def error(self) -> float:
        """Unexplained share of the trace."""
        return self.left / self.trace if self.trace > 0 else 0.0

    @classmethod
    def of(cls, gram: Gram | GivenMatrix, most: int, enough: float, *, rng: Any = 0) -> Self:
        """Add pivots until there are `most`, or until the remaining diagonal entries average `enough` or less.

        Parameters
        ----------
        gram : Gram or GivenMatrix
            Matrix of rows with themselves.
        most : int
            Largest number of pivots; each adds a column to L.
        enough : float
            Mean of the remaining diagonal entries at which to stop.
        rng : int or numpy.random.Generator, default=0
            Seed of the pivots, or random number generator.
        """
        n, draw = gram.shape[0], np.random.default_rng(rng)
        diagonal = np.array(gram.diagonal, dtype=float)
        most = min(most, n)
        rows, pivots = np.zeros((most, n)), np.zeros(0, dtype=np.intp)  # of Lᵀ
        smallest, left = PIVOT_ROUNDING * np.abs(diagonal), np.maximum(diagonal, 0.0)
        block = min(PROPOSED_PIVOTS, max(MIN_PROPOSED, MAX_PROPOSED_ENTRIES // n))
        while len(pivots) < most and left.sum() > enough * n:
            chance = np.where(left > smallest, left, 0.0)
            if not chance.any():
                break
            known = rows[: len(pivots)]
            proposed = draw_rows(chance, min(block, most - len(pivots)), draw)
            new, corner = _accept_pivots(gram, known, proposed, chance, smallest, draw)
            if not len(new):
                left[proposed[0]] = 0.0
            else:
                added = np.asarray(gram.rows(new), dtype=float)
                added -= known[:, new].T @ known
                added = dtrsm(1.0, corner, added.T, side=1, lower=1, trans_a=1, overwrite_b=1).T  # corner⁻¹ added
                size = _count_needed(added, float(left.sum()), enough * n)
                new, added = new[:size], added[:size]
                rows[len(pivots) : len(pivots) + len(new)] = added
                pivots = np.append(pivots, new)
                left = np.maximum(left - np.einsum("ij,ij->j", added, added), 0.0)
                left[pivots] = 0.0
        return cls(rows[: len(pivots)].T, pivots, float(diagonal.sum()), float(left.sum()))


def _count_needed(added: Array, left: float, enough: float) -> int:
    """Return how many of the new rows of Lᵀ, in order, reduce the remaining trace to `enough`; all if none do."""
    reached = left - np.cumsum(np.einsum("ij,ij->i", added, added)) <= enough
    return int(np.argmax(reached)) + 1 if reached.any() else len(added)


def draw_rows(chance: Array, size: int, draw: np.random.Generator) -> Array:
    """Draw positions of rows in proportion to their chances, with replacement."""
    sums = np.cumsum(chance)
    places = np.searchsorted(sums, sums[-1] * draw.random(size), side="right")
    return np.asarray(np.minimum(places, len(sums) - 1))


def _accept_pivots(
    gram: Gram | GivenMatrix, known: Array, proposed: Array, chance: Array, smallest: Array, draw: np.random.Generator
) -> tuple[Array, Array]:
    """Return the accepted pivots, each with the probability that remains after those before it, and their triangle."""
    rest = np.array(gram.part(proposed).rows(np.arange(len(proposed))), dtype=float)
    part = known[:, proposed]
    rest -= part.T @ part
    factor, kept = np.zeros_like(rest), list[int]()
    thresholds = np.maximum(draw.random(len(proposed)) * chance[proposed], smallest[proposed])
    for i, threshold in enumerate(thresholds):
        if rest[i, i] > threshold:
            column = rest[:, i] / np.sqrt(rest[i, i])
            factor[:, len(kept)] = column
            kept.append(i)
            rest -= np.outer(column, column)
    return proposed[kept], np.tril(factor[kept, : len(kept)])
