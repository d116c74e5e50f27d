"""Bernoulli naive Bayes: every column is there or not, and its absence speaks as well as its presence (lecture 3)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from mercer._errors import SupportError
from mercer._threads import row_blocks
from mercer.data.source import COPIED_BLOCK, rows_per_block
from mercer.families import Bernoulli, BernoulliParameters, add_alpha
from mercer.models._base import Array, checked, column_names, first_where, is_sparse
from mercer.models._discrete import DiscreteClassifier, even_where_unknown, log, some_rows, with_entries
from mercer.models._generative import GenerativeClassifier
from mercer.models._linear_pieces import LinearPiece
from mercer.stats import ByClass, ColumnSums, statistic_for

#: a product of fractions with indicators that is this close to 0 is 0
ROUNDING = 1e-9


class _Absences(NamedTuple):
    """What `Bernoulli.fit` asks of a statistic, for zeros in place of ones: so 1 − p keeps its digits near p = 1."""

    weight: Array
    mean: Array


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
        scores: Array = x @ self.slope + self.constant
        return scores if missing is None else scores - missing @ self.absent


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


class BernoulliNB(DiscreteClassifier, GenerativeClassifier):
    """Bernoulli naive Bayes; scikit-learn's `BernoulliNB` with merging, forgetting, sampling and missing values.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Pseudo-count of presence and of absence: the mode under a Beta(1 + alpha, 1 + alpha) prior.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
    binarize : float or None, default=0.0
        Values above it count as present. With None the data must be 0 and 1 already (or shares in between).
    fit_prior : bool, default=True
        Whether to learn class priors; they are uniform otherwise.
    class_prior : array-like of shape (n_classes,), default=None
        Class priors, in place of both.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log of the class priors.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Weight of the rows of each class in which the column is present.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Log probability that the column is present.
    statistic_ : ByClass
        The sufficient statistics the model was computed from.
    certificate_ : Certificate
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import BernoulliNB
    >>> X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1]])
    >>> BernoulliNB().fit(X, ["tea", "tea", "coffee"]).predict([[1, np.nan, 0]])
    array(['tea'], dtype='<U6')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **DiscreteClassifier._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        X, y = checked(self, X, y, reset=reset) if y is not None else (checked(self, X, reset=reset), None)
        if is_sparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # entries of one place are to be compared with the threshold together
        if reset:
            self._sparse_type = type(X) if is_sparse(X) else None
        return X if y is None else (X, y)

    def _zero(self, labels: Array, X: Any) -> ByClass:
        return ByClass.zero(labels, (statistic_for(Bernoulli(), len(labels), self.n_features_in_),))

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        block = some_rows(X, rows)
        values = block.data if is_sparse(block) else block
        if np.isinf(values).any():
            self._refuse(X)
        ones = values.astype(float) if self.binarize is None else binarized(values, self.binarize)
        return (with_entries(block, ones) if is_sparse(block) else ones,)

    def _learnt_block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        (block,) = self._block(X, rows)
        if self.binarize is None:
            self._refuse_beyond_one(X, block)
        return (block,)

    def _refuse_beyond_one(self, X: Any, block: Any) -> None:
        def beyond(values: Array) -> Array:
            return (values < 0) | (values > 1)

        if first_where(block, beyond) is not None and (found := first_where(X, beyond)) is not None:
            row, column, value = found
            raise SupportError(
                f"with binarize=None the data must lie between 0 and 1, but column {column_names(self)[column]!r} is "
                f"{value} in row {row}; give the threshold above which it counts as present, e.g. binarize=0."
            )

    def _block_bytes(self, X: Any) -> int:
        return COPIED_BLOCK

    def _settle_columns(self, alpha: Any) -> None:
        sums = self.statistic_.parts[0]
        assert isinstance(sums, ColumnSums)
        prior = add_alpha(Bernoulli(), np.stack([alpha, alpha], axis=-1))
        present, absent = (
            log(even_where_unknown(Bernoulli().fit(statistic, prior).probability, 2))
            for statistic in (sums, _Absences(sums.weight, 1 - sums.mean))
        )
        self.feature_count_ = sums.total[..., 0]
        self.feature_log_prob_ = present
        self._scores = BernoulliScores.of(present, absent)

    def _joint(self, block: tuple[Any, ...]) -> Array:
        return self._scores(block[0]) + self.class_log_prior_

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]:
        slope, constant = self._scores.finite.slope, self._scores.finite.constant
        certain = self._scores.impossible
        weights = slope if certain is None else np.where(certain.slope == 0, slope, np.inf)
        return self.class_log_prior_, (LinearPiece.of_columns(column_names(self), weights.T, constant),)

    def _sample_rows(self, codes: Array, rng: np.random.Generator) -> Any:
        if self._sparse_type is None:
            return self._draw(codes, rng)
        blocks = row_blocks(len(codes), rows_per_block(self.n_features_in_, COPIED_BLOCK))
        return self._sparse_type(sp.vstack([sp.csr_matrix(self._draw(codes[rows], rng)) for rows in blocks]))

    def _draw(self, codes: Array, rng: np.random.Generator) -> Array:
        """0 where absent; where present, a value that `binarize` takes for it."""
        present = 1 if self.binarize is None else int(np.floor(self.binarize)) + 1
        p = np.exp(self.feature_log_prob_)
        rows = np.zeros((len(codes), p.shape[1]), dtype=np.int64)
        for c in np.unique(codes):
            (mine,) = np.nonzero(codes == c)
            rows[mine] = present * Bernoulli().sample(BernoulliParameters(p[c]), len(mine), rng)
        return rows


def binarized(values: Array, threshold: float) -> Array:
    """1 above the threshold and 0 elsewhere; missing values stay missing."""
    ones = (values > threshold).astype(float)
    if values.dtype.kind == "f":
        ones[np.isnan(values)] = np.nan
    return ones


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
