"""What a count of a term is worth: by how many documents have the term, how long its document is, or its classes."""

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

#: entries that are weighed together
AT_ONCE = 1 << 16


@stored(document_counts=reals("v"))
@dataclass(frozen=True, eq=False)
class Totals:
    """What weights are made of: documents, documents with each term, terms in all of them; and those of each class."""

    n_documents: int
    document_counts: Array
    #: how many terms all documents together have
    length: float
    #: how often each class has each term
    by_class: dict[Any, Array] | None = None

    @classmethod
    def of(cls, X: sparse.csr_array, labels: Array | None = None, codes: Array | None = None) -> Self:
        """Of documents × terms, and of the class of each document."""
        document_counts = np.bincount(X.indices, minlength=X.shape[1])
        by_class = None
        if labels is not None and codes is not None:
            sums = class_sums(X, codes, len(labels))
            by_class = dict(zip(labels.tolist(), sums, strict=True))
        with np.errstate(over="ignore", invalid="ignore"):  # which only counts beyond all reason do
            return cls(X.shape[0], document_counts, float(X.data.sum()), by_class)

    def merge(self, other: Self) -> Self:
        """With the documents of another added."""
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
    """How often each class (a row) has each term (a column)."""
    member = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    return np.asarray((member @ X.astype(np.float64)).toarray())


def sklearn_idf(totals: Totals, *, smooth: bool, dtype: Any = np.float64) -> Array:
    """1 + log(n / df), of one more document that has every term where `smooth`."""
    df = totals.document_counts.astype(dtype) + dtype(smooth)
    return np.asarray(np.log(dtype(totals.n_documents + smooth) / df) + dtype(1))


def lecture_idf(totals: Totals, *, add_one: bool) -> Array:
    """log(n / df) or log(n / (df + 1)), the self-information of having the term (lecture 5).

    A term of a given vocabulary that no document has is taken for one that one document has.

    Examples
    --------
    >>> totals = Totals(4, np.array([1, 2, 4]), 10.0)
    >>> lecture_idf(totals, add_one=False).round(3)
    array([1.386, 0.693, 0.   ])
    """
    return np.asarray(np.log(totals.n_documents / np.maximum(totals.document_counts + add_one, 1)))


def bm25_idf(totals: Totals) -> Array:
    """log(1 + (n − df + ½) / (df + ½)): of Robertson and Spärck Jones, but never negative."""
    df = totals.document_counts
    return np.asarray(np.log1p((totals.n_documents - df + 0.5) / (df + 0.5)))


def log_count_ratio(first: Array, second: Array) -> Array:
    """log (p/‖p‖₁)/(q/‖q‖₁), p = 1 + counts of the second class, q = 1 + counts of the first (Wang and Manning, 2012).

    Examples
    --------
    >>> log_count_ratio(np.array([3, 0]), np.array([0, 1])).round(3)
    array([-0.875,  1.204])
    """
    p, q = 1 + second, 1 + first
    return np.asarray(np.log(p / p.sum()) - np.log(q / q.sum()))


def relative_frequencies(X: sparse.csr_array) -> None:
    """Counts, in place, as parts of the terms of their document (the lecture's TF)."""
    X.data /= _of_entries(X, lengths(X))


def saturated(X: sparse.csr_array, average_length: float, *, k1: float, b: float) -> None:
    """Counts, in place, as BM25 has them: (k₁ + 1) f / (f + k₁ (1 − b + b length / average length))."""
    with np.errstate(over="ignore"):  # beside an infinite length a count is nothing
        relative = lengths(X) / average_length if average_length else np.zeros(X.shape[0])
        at = _of_entries(X, k1 * (1 - b + b * relative)).astype(X.dtype)
        X.data *= (k1 + 1) / np.where((total := X.data + at) != 0, total, 1)


def normalised(X: sparse.csr_array, norm: str) -> sparse.csr_array:
    """Rows of length 1, in place where X holds floats; `norm` is "l1" or "l2".

    By the loops of scikit-learn's `normalize`, whose checks take longer than a short document.

    Raises
    ------
    NonFiniteError
        If a weight is infinite, as scikit-learn has it: the length of its row would be no number.
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
    """Entries times the weight of their column, in place; some at a time, since their weights take as much room."""
    with np.errstate(over="ignore"):
        for part in row_blocks(len(X.data), AT_ONCE):
            X.data[part] *= weights[X.indices[part]]


def lengths(X: sparse.csr_array) -> Array:
    """How many terms each document has."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    if not np.isfinite(sums).all():
        row = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise DataError(f"the counts of row {row} add up to more than a float can hold; divide them by a number.")
    return sums


def _of_entries(X: sparse.csr_array, of_rows: Array) -> Array:
    """For each entry the value of its row."""
    return np.repeat(of_rows, np.diff(X.indptr))
