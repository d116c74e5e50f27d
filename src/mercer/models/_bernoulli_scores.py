"""Presence and absence scored by one product of matrices, sparse where the data are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.models._base import Array, is_sparse
from mercer.models._discrete import times

#: a product of fractions with indicators that is this close to 0 is 0
ROUNDING = 1e-9


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
