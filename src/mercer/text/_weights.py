"""Weights of counts of terms: by document frequency, by document length, or by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs_fast import inplace_csr_row_normalize_l1, inplace_csr_row_normalize_l2

from mercer._errors import DataError, MergeError, NonFiniteError
from mercer._stored import reals, stored
from mercer._threads import row_blocks
from mercer._typing import Array

#: number of entries weighed at a time, to bound the memory of their weights
ENTRIES_AT_ONCE = 1 << 16


@stored(document_counts=reals("v"))
@dataclass(frozen=True, eq=False)
class Totals:
    """The mergeable statistics behind the weights: numbers of documents, of documents with each term, of terms; and
    counts by class.
    """

    n_documents: int
    document_counts: Array
    #: number of terms in all documents together
    length: float
    #: number of occurrences of each term in each class
    by_class: dict[Any, Array] | None = None

    @classmethod
    def of(cls, X: sparse.csr_array, labels: Array | None = None, codes: Array | None = None) -> Self:
        """Compute the totals of documents × terms, and of the classes of the documents if given."""
        document_counts = np.bincount(X.indices, minlength=X.shape[1])
        by_class = None
        if labels is not None and codes is not None:
            sums = class_sums(X, codes, len(labels))
            by_class = dict(zip(labels.tolist(), sums, strict=True))
        with np.errstate(over="ignore", invalid="ignore"):  # only absurdly large counts overflow
            return cls(X.shape[0], document_counts, float(X.data.sum()), by_class)

    def merge(self, other: Self) -> Self:
        """Return the totals of these documents and those of `other`."""
        mine, theirs = len(self.document_counts), len(other.document_counts)
        if mine != theirs:
            raise MergeError(f"cannot merge weights of {theirs} columns into those of {mine}: give the same columns.")
        by_class = None
        if self.by_class is not None and other.by_class is not None:
            none = np.zeros(mine)
            labels = [*self.by_class, *(label for label in other.by_class if label not in self.by_class)]
            by_class = {label: self.by_class.get(label, none) + other.by_class.get(label, none) for label in labels}
        return type(self)(
            self.n_documents + other.n_documents,
            self.document_counts + other.document_counts,
            self.length + other.length,
            by_class,
        )

    @property
    def average_length(self) -> float:
        return self.length / self.n_documents if self.n_documents else 0.0


def class_sums(X: sparse.csr_array, codes: Array, n_classes: int) -> Array:
    """Return the number of occurrences of each term (column) in each class (row)."""
    member = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    return np.asarray((member @ X.astype(np.float64)).toarray())


def sklearn_idf(totals: Totals, *, smooth: bool, dtype: Any = np.float64) -> Array:
    """Compute 1 + log(n / df), with one more document that contains every term if `smooth`."""
    df = totals.document_counts.astype(dtype) + dtype(smooth)
    return np.asarray(np.log(dtype(totals.n_documents + smooth) / df) + dtype(1))


def lecture_idf(totals: Totals, *, add_one: bool) -> Array:
    """Compute log(n / df) or log(n / (df + 1)), the self-information of containing the term (lecture 5).

    A term of a given vocabulary that no document contains is treated as if one document contained it.

    Examples
    --------
    >>> totals = Totals(4, np.array([1, 2, 4]), 10.0)
    >>> lecture_idf(totals, add_one=False).round(3)
    array([1.386, 0.693, 0.   ])
    """
    return np.asarray(np.log(totals.n_documents / np.maximum(totals.document_counts + add_one, 1)))


def bm25_idf(totals: Totals) -> Array:
    """Compute log(1 + (n − df + ½) / (df + ½)), the weight of Robertson and Spärck Jones made non-negative."""
    df = totals.document_counts
    return np.asarray(np.log1p((totals.n_documents - df + 0.5) / (df + 0.5)))


def log_count_ratio(first: Array, second: Array) -> Array:
    """Compute log (p/‖p‖₁)/(q/‖q‖₁), p = 1 + counts of the second class, q = 1 + counts of the first (Wang and Manning,
    2012).

    Examples
    --------
    >>> log_count_ratio(np.array([3, 0]), np.array([0, 1])).round(3)
    array([-0.875,  1.204])
    """
    p, q = 1 + second, 1 + first
    return np.asarray(np.log(p / p.sum()) - np.log(q / q.sum()))


def apply_relative_frequency(X: sparse.csr_array) -> None:
    """Divide counts, in place, by the number of terms in their document (the lecture's TF)."""
    X.data /= _spread_to_entries(X, document_lengths(X))


def apply_saturation(X: sparse.csr_array, average_length: float, *, k1: float, b: float) -> None:
    """Replace counts f, in place, by BM25's (k₁ + 1) f / (f + k₁ (1 − b + b length / average length))."""
    with np.errstate(over="ignore"):  # an infinite length gives a weight of 0
        relative = document_lengths(X) / average_length if average_length else np.zeros(X.shape[0])
        half_saturation = _spread_to_entries(X, k1 * (1 - b + b * relative)).astype(X.dtype)
        X.data *= (k1 + 1) / np.where((total := X.data + half_saturation) != 0, total, 1)


def normalize_rows(X: sparse.csr_array, norm: str) -> sparse.csr_array:
    """Scale rows to norm 1, in place if X holds floats; `norm` is "l1" or "l2".

    Calls the loops of scikit-learn's `normalize` directly, since its checks take longer than a short document.

    Raises
    ------
    NonFiniteError
        If a weight is infinite, as in scikit-learn: the norm of its row would not be a number.
    """
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if not np.isfinite(X.data).all():
        raise NonFiniteError(
            f"Input contains infinity or a value too large for dtype('{X.dtype}'). The weight of a term that no "
            "document of the fit has is infinite with smooth_idf=False, and that of too large a count may be; use "
            "smooth_idf=True, or smaller counts."
        )
    {"l1": inplace_csr_row_normalize_l1, "l2": inplace_csr_row_normalize_l2}[norm](X)
    return X


def weigh_columns(X: sparse.csr_array, weights: Array) -> None:
    """Multiply entries by the weight of their column, in place; in parts, since the weights of all entries take as much
    memory.
    """
    with np.errstate(over="ignore"):
        for part in row_blocks(len(X.data), ENTRIES_AT_ONCE):
            X.data[part] *= weights[X.indices[part]]


def document_lengths(X: sparse.csr_array) -> Array:
    """Return the number of terms in each document."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    if not np.isfinite(sums).all():
        row = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise DataError(f"the counts of row {row} add up to more than a float can hold; divide them by a number.")
    return sums


def _spread_to_entries(X: sparse.csr_array, row_values: Array) -> Array:
    """Return the value of its row for each stored entry."""
    return np.repeat(row_values, np.diff(X.indptr))
