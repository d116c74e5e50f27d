"""Base of naive Bayes models of discrete data: scores by matrix products, pseudo-counts, priors, drawing counts.

Scores are products with log probabilities, sparse if the data are.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln
from sklearn.utils._param_validation import Interval

from mercer._errors import SupportError
from mercer._stored import floats, optional, part_of, reals, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.generative import StatisticClassifier, check_priors
from mercer.base.posterior import log
from mercer.base.validation import check_non_negative, check_rows, column_names, is_sparse
from mercer.data.blocks import COPIED_BLOCK, VIEWED_BLOCK
from mercer.families import CategoricalParameters, Multinomial
from mercer.matrices import sparse_loops as sparse_products
from mercer.stats import ByClass, VectorSums, statistic_for
from mercer.stats.sparse import StoredMatrixRows, sum_duplicates

#: a product of fractions with indicators that is this close to 0 is 0
IMPOSSIBLE_TOLERANCE = 1e-9


def multiply_rows(x: Any, table: Array) -> Array:
    """Return x @ table for numbers of any type; a sparse matrix is not converted first, as SciPy would do."""
    if not is_sparse(x):
        return np.asarray(np.asarray(x, dtype=float) @ table)
    product: Array = sparse_products.times_matrix(*StoredMatrixRows.of(x), 0, x.shape[0], table)
    return product


@stored(logs=floats("dk"), impossible=optional(reals("dk")))
@dataclass(frozen=True)
class LogProduct:
    """The map x ↦ Σ_j x_j·log p_j for each class, with 0·log 0 = 0: an absent word adds nothing."""

    logs: Array
    impossible: Array | None

    @classmethod
    def of(cls, log_p: Array) -> Self:
        """Return the map for log p of shape (classes, columns)."""
        infinite = np.isinf(log_p)
        logs = np.ascontiguousarray(np.where(infinite, 0.0, log_p).T)
        return cls(logs, np.ascontiguousarray(infinite.T, dtype=float) if infinite.any() else None)

    def __call__(self, x: Any) -> Array:
        """Return scores of shape (rows, classes)."""
        scores = multiply_rows(x, self.logs)
        if self.impossible is not None:
            scores[multiply_rows(x, self.impossible) > 0] = -np.inf
        return scores


def log_coefficient(counts: Any) -> Array:
    """Return the log of the multinomial coefficient Γ(N+1) / Π Γ(x+1) of every row."""
    if not is_sparse(counts):
        return Multinomial().log_base(counts)
    n = counts.shape[0]
    indptr, _, values = StoredMatrixRows.of(sum_duplicates(counts))
    row = np.repeat(np.arange(n), np.diff(indptr))
    length, terms, negative = (
        np.bincount(row, of_entry, minlength=n) for of_entry in (values, gammaln(values + 1.0), values < 0)
    )
    with np.errstate(invalid="ignore"):
        return np.where(negative > 0, -np.inf, gammaln(length + 1) - terms)


@stored(slope=floats("dk"), absent=floats("dk"), constant=floats("k"))
@dataclass(frozen=True)
class TwoSidedProduct:
    """The map x ↦ Σ_j x_j·present_j + (1 − x_j)·absent_j for each class, over values that are not missing."""

    slope: Array
    absent: Array
    constant: Array

    @classmethod
    def of(cls, present: Array, absent: Array) -> Self:
        """Return the map for matrices of shape (classes, columns)."""
        return cls(np.ascontiguousarray((present - absent).T), np.ascontiguousarray(absent.T), absent.sum(axis=1))

    def __call__(self, x: Any, missing: Any) -> Array:
        """Return scores; `missing` is an indicator of missing values, where x is 0, or None."""
        scores = multiply_rows(x, self.slope) + self.constant
        return scores if missing is None else scores - multiply_rows(missing, self.absent)


@stored(finite=part_of(TwoSidedProduct, d="d", k="k"), impossible=optional(part_of(TwoSidedProduct, d="d", k="k")))
@dataclass(frozen=True)
class BernoulliScores:
    """The map from x to log p(x|y), with 0·log 0 = 0."""

    finite: TwoSidedProduct
    impossible: TwoSidedProduct | None

    @classmethod
    def of(cls, present: Array, absent: Array) -> Self:
        """Return the map for log p and log(1 − p) of shape (classes, columns)."""
        never, always = np.isneginf(present), np.isneginf(absent)
        finite = TwoSidedProduct.of(np.where(never, 0.0, present), np.where(always, 0.0, absent))
        certain = never.any() or always.any()
        return cls(finite, TwoSidedProduct.of(never.astype(float), always.astype(float)) if certain else None)

    def __call__(self, x: Any) -> Array:
        x, missing = split_missing(x)
        scores = self.finite(x, missing)
        if self.impossible is not None:
            scores[self.impossible(x, missing) > IMPOSSIBLE_TOLERANCE] = -np.inf
        return scores


def split_missing(x: Any) -> tuple[Any, Any]:
    """Return `x` with 0 in place of missing values, and an indicator of these or None if there are none."""
    values = x.data if is_sparse(x) else x
    missing = np.isnan(values)
    if not missing.any():
        return x, None
    known = np.where(missing, 0.0, values)
    if not is_sparse(x):
        return known, missing.astype(float)
    return replace_entries(x, known), replace_entries(x, missing.astype(float))


def replace_entries(X: Any, data: Array) -> Any:
    """Return a CSR matrix with other entries, sharing the indices."""
    result = type(X)(X.shape, dtype=data.dtype)
    result.data, result.indices, result.indptr = data, X.indices, X.indptr
    result.has_canonical_format = X.has_canonical_format
    return result


#: smaller pseudo-counts are raised to this value, as in scikit-learn, unless `force_alpha`
SMALLEST_PSEUDO_COUNT = 1e-10


class DiscreteClassifier(StatisticClassifier):
    """A `StatisticClassifier` with scikit-learn's parameters for discrete data."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    _positive_only: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "force_alpha": ["boolean"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
    }

    @abstractmethod
    def _update_column_parameters(self, alpha: Any) -> None:
        """Set the fitted attributes of the columns, with pseudo-counts `alpha`."""

    def _update_parameters(self) -> None:
        self.class_count_ = self.statistic_.weight
        self.class_log_prior_ = self._class_log_prior()
        self._update_column_parameters(self._check_alpha())

    def _class_log_prior(self) -> Array:
        if self.class_prior is not None:
            prior = check_priors(self.class_prior, self.classes_, normalised=False)
        elif self.fit_prior:
            prior = self.class_count_ / self.class_count_.sum()
        else:
            prior = np.full(len(self.classes_), 1 / len(self.classes_))
        return log(prior)

    def _check_alpha(self) -> Any:
        """Return `alpha`, one for all columns or one for each, raised to SMALLEST_PSEUDO_COUNT unless `force_alpha`."""
        if isinstance(self.alpha, Real):
            alpha: Any = self.alpha
        else:
            alpha = np.asarray(self.alpha)
            if len(alpha) != self.n_features_in_:
                raise ValueError(
                    f"When alpha is an array, it should contains `n_features`. Got {len(alpha)} elements instead of "
                    f"{self.n_features_in_}. Give one pseudo-count per column, or one number for all."
                )
            if alpha.min() < 0:
                raise ValueError(f"All values in alpha must be greater than 0. One of them is {alpha.min()}.")
        if np.min(alpha) >= SMALLEST_PSEUDO_COUNT or self.force_alpha:
            return alpha
        warn(
            f"alpha too small will result in numeric errors, setting alpha = {SMALLEST_PSEUDO_COUNT:.1e}. "
            "Use `force_alpha=True` to keep alpha unchanged.",
        )
        return np.maximum(alpha, SMALLEST_PSEUDO_COUNT)

    def _log_prior(self) -> Array:
        log_prior: Array = self.class_log_prior_
        return log_prior

    def _with_priors(self, priors: Array) -> Self:
        return self.set_params(class_prior=priors)  # type: ignore[no-any-return]

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        result = check_rows(self, X, y, reset=reset)
        if reset:  # samples are returned in the container of the data
            self._sparse_type = type(result[0]) if is_sparse(result[0]) else None
        return result

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        return (slice_rows(X, rows),)

    def _numbers_per_row(self, X: Any) -> int:
        return max(1, X.nnz // X.shape[0] if is_sparse(X) else self._n_columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.positive_only = self._positive_only
        return tags


class CountClassifier(DiscreteClassifier):
    """A `DiscreteClassifier` for rows of counts (words of a text), which are never missing."""

    _accepts_missing: ClassVar[bool] = False
    _positive_only: ClassVar[bool] = True

    def _zero(self, labels: Array, X: Any) -> ByClass:
        return ByClass.zero(labels, (statistic_for(Multinomial(), len(labels), self.n_features_in_),))

    def _training_block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        block = slice_rows(X, rows)
        lowest = np.min(block.data if is_sparse(block) else block, initial=0)
        if not lowest >= 0:  # negative or NaN
            check_non_negative(X, column_names(self), estimator=type(self).__name__, expected="counts are 0 or more")
            self._check_finite_values(X)
        return (block,)

    def _block_bytes(self, X: Any) -> int:
        return VIEWED_BLOCK if is_sparse(X) or (X.flags.c_contiguous and X.dtype.kind == "f") else COPIED_BLOCK

    @property
    def _words(self) -> VectorSums:
        words = self.statistic_.parts[0]
        assert isinstance(words, VectorSums)
        return words


def slice_rows(X: Any, rows: slice) -> Any:
    """Return X[rows], for a CSR matrix without the copy of entries that SciPy makes."""
    if not is_sparse(X):
        return X[rows]
    bounds = X.indptr[rows.start : rows.stop + 1]
    block = type(X)((len(bounds) - 1, X.shape[1]), dtype=X.dtype)
    block.data, block.indices = (array[bounds[0] : bounds[-1]] for array in (X.data, X.indices))
    block.indptr = bounds - bounds[0]
    return block


def draw_lengths(length: Any, words: VectorSums, codes: Array, rng: np.random.Generator) -> Array:
    """Return the number of words of a row for each class code: as given, or drawn from the lengths in the class."""
    if length is not None:
        return _check_lengths(length, len(codes))
    lengths = np.zeros(len(codes), dtype=np.int64)
    for c in np.unique(codes):
        values, shares = words.length_distribution(c)
        lengths[codes == c] = rng.choice(values, size=np.count_nonzero(codes == c), p=shares)
    return lengths


def _check_lengths(length: Any, n_samples: int) -> Array:
    """Return lengths as one whole number, 0 or more, for each row."""
    lengths = np.asarray(length)
    if lengths.shape not in ((), (n_samples,)):
        raise SupportError(f"length has shape {lengths.shape}; give one number, or one for each of {n_samples} rows.")
    if lengths.dtype.kind not in "iuf" or (lengths < 0).any() or (lengths != np.floor(lengths)).any():
        raise SupportError(f"length is a number of words, 0 or more and whole; got {length!r}.")
    return np.broadcast_to(lengths, n_samples).astype(np.int64)


def draw_counts(p: Array, codes: Array, lengths: Array, rng: np.random.Generator, *, sparse: bool) -> Any:
    """Draw rows of counts with the probabilities `p` (classes, words) of their class; a CSR matrix if `sparse`.

    The multinomial does not model the lengths of rows, which are given.
    """
    p = p / p.sum(axis=1, keepdims=True)
    if sparse:
        return _draw_words(p, codes, lengths, rng)
    rows = np.zeros((len(codes), p.shape[1]), dtype=np.int64)
    for c in np.unique(codes):
        (members,) = np.nonzero(codes == c)
        rows[members] = Multinomial().sample(CategoricalParameters(p[c]), len(members), rng, length=lengths[members])
    return rows


def _draw_words(p: Array, codes: Array, lengths: Array, rng: np.random.Generator) -> Any:
    """Draw word by word, at the cost of the number of words and not of the size of the vocabulary."""
    rows = np.repeat(np.arange(len(codes)), lengths)
    words = np.zeros(len(rows), dtype=np.int64)
    for c in np.unique(codes):
        members = codes[rows] == c
        words[members] = rng.choice(p.shape[1], size=np.count_nonzero(members), p=p[c])
    ones = np.ones(len(rows), dtype=np.int64)
    return sp.csr_matrix((ones, (rows, words)), shape=(len(codes), p.shape[1]))
