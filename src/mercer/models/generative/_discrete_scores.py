"""Counts, presence and absence scored by products of matrices, sparse where the data are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from mercer._jit.designs import sparse as sparse_products
from mercer._stored import floats, optional, part_of, reals, stored
from mercer._typing import Array
from mercer.families import Multinomial
from mercer.models.base import is_sparse
from mercer.stats.sparse import Stored, one_entry_per_place

#: a product of fractions with indicators that is this close to 0 is 0
ROUNDING = 1e-9


def times(x: Any, table: Array) -> Array:
    """x @ table, for rows of any type of number; SciPy would convert those of a sparse matrix first."""
    if not is_sparse(x):
        return np.asarray(np.asarray(x, dtype=float) @ table)
    product: Array = sparse_products.times_matrix(*Stored.of(x), 0, x.shape[0], table)
    return product


@stored(logs=floats("dk"), impossible=optional(reals("dk")))
@dataclass(frozen=True)
class LogProduct:
    """x ↦ Σ_j x_j·log p_j of each class, with 0·log 0 = 0: of a word that is absent nothing is asked."""

    logs: Array
    impossible: Array | None

    @classmethod
    def of(cls, log_p: Array) -> Self:
        """From log p of shape (classes, columns)."""
        infinite = np.isinf(log_p)
        logs = np.ascontiguousarray(np.where(infinite, 0.0, log_p).T)
        return cls(logs, np.ascontiguousarray(infinite.T, dtype=float) if infinite.any() else None)

    def __call__(self, x: Any) -> Array:
        """Scores of shape (rows, classes)."""
        scores = times(x, self.logs)
        if self.impossible is not None:
            scores[times(x, self.impossible) > 0] = -np.inf
        return scores


def log_coefficient(counts: Any) -> Array:
    """log of the multinomial coefficient Γ(N+1) / Π Γ(x+1) of every row."""
    if not is_sparse(counts):
        return Multinomial().log_base(counts)
    n = counts.shape[0]
    indptr, _, values = Stored.of(one_entry_per_place(counts))
    row = np.repeat(np.arange(n), np.diff(indptr))
    length, terms, negative = (
        np.bincount(row, of_entry, minlength=n) for of_entry in (values, gammaln(values + 1.0), values < 0)
    )
    with np.errstate(invalid="ignore"):
        return np.where(negative > 0, -np.inf, gammaln(length + 1) - terms)


@stored(slope=floats("dk"), absent=floats("dk"), constant=floats("k"))
@dataclass(frozen=True)
class TwoSided:
    """x ↦ Σ_j x_j·present_j + (1 − x_j)·absent_j of each class, over what is not missing."""

    slope: Array
    absent: Array
    constant: Array

    @classmethod
    def of(cls, present: Array, absent: Array) -> Self:
        """From matrices of shape (classes, columns)."""
        return cls(np.ascontiguousarray((present - absent).T), np.ascontiguousarray(absent.T), absent.sum(axis=1))

    def __call__(self, x: Any, missing: Any) -> Array:
        """`x` is 0 where `missing`, an indicator or None, says that it is missing."""
        scores = times(x, self.slope) + self.constant
        return scores if missing is None else scores - times(missing, self.absent)


@stored(finite=part_of(TwoSided, d="d", k="k"), impossible=optional(part_of(TwoSided, d="d", k="k")))
@dataclass(frozen=True)
class BernoulliScores:
    """log p(x|y), with 0·log 0 = 0."""

    finite: TwoSided
    impossible: TwoSided | None

    @classmethod
    def of(cls, present: Array, absent: Array) -> Self:
        """From log p and log(1 − p) of shape (classes, columns)."""
        never, always = np.isneginf(present), np.isneginf(absent)
        finite = TwoSided.of(np.where(never, 0.0, present), np.where(always, 0.0, absent))
        certain = never.any() or always.any()
        return cls(finite, TwoSided.of(never.astype(float), always.astype(float)) if certain else None)

    def __call__(self, x: Any) -> Array:
        x, missing = without_missing(x)
        scores = self.finite(x, missing)
        if self.impossible is not None:
            scores[self.impossible(x, missing) > ROUNDING] = -np.inf
        return scores


def without_missing(x: Any) -> tuple[Any, Any]:
    """`x` with 0 in place of missing values, and an indicator of them; None if there are none."""
    values = x.data if is_sparse(x) else x
    missing = np.isnan(values)
    if not missing.any():
        return x, None
    known = np.where(missing, 0.0, values)
    if not is_sparse(x):
        return known, missing.astype(float)
    return with_entries(x, known), with_entries(x, missing.astype(float))


def with_entries(X: Any, data: Array) -> Any:
    """A CSR matrix with other numbers in the same places, which are shared."""
    result = type(X)(X.shape, dtype=data.dtype)
    result.data, result.indices, result.indptr = data, X.indices, X.indptr
    result.has_canonical_format = X.has_canonical_format
    return result
