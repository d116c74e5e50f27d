"""Bernoulli naive Bayes: every column is present or absent, and both are evidence (lecture 3)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from mercer._errors import MergeError, SupportError
from mercer._stored import floats, part_of, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.base import Candidate, Question, traits
from mercer.base.fitted_fields import FITTED_COUNTS
from mercer.base.generative import GenerativeClassifier
from mercer.base.linear_form import LinearPiece
from mercer.base.posterior import fill_unknown_evenly, log
from mercer.base.validation import column_names, find_first, is_sparse
from mercer.data.blocks import COPIED_BLOCK, rows_per_block
from mercer.families import Bernoulli, BernoulliParameters
from mercer.families.pseudo_counts import add_alpha
from mercer.naive_bayes import _loops as loops
from mercer.naive_bayes._discrete import BernoulliScores, DiscreteClassifier, replace_entries, slice_rows
from mercer.stats import ByClass, ColumnSums, statistic_for
from mercer.stats.base import SUBTRACTION_RESIDUE, as_block
from mercer.stats.sparse import StoredMatrixRows, sum_duplicates


class _Absences(NamedTuple):
    """A statistic for `Bernoulli.fit` with zeros in place of ones, so that 1 − p keeps its digits near p = 1."""

    weight: Array
    mean: Array

    @classmethod
    def of(cls, presences: ColumnSums) -> Self:
        share = 1 - presences.mean
        return cls(presences.weight, np.where(share > SUBTRACTION_RESIDUE, share, 0.0))


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of columns of 0 and 1, unless numbers are written as strings, whose format it would not keep."""
    if question.is_sparse or (question.is_numeric and not question.has_formats):
        yield Candidate(BernoulliNB(), 11 if question.is_sparse else 53, "matrix", "columns of 0 and 1")


@traits(
    "classification",
    kind="generative",
    columns="zero-one",
    is_one_pass=True,
    half="statistics",
    candidates=_candidates,
    export="mercer.export.naive_bayes.bernoulli_nb",
)
@stored(
    **FITTED_COUNTS,
    feature_count_=floats("kd"),
    feature_log_prob_=floats("kd"),
    _scores=part_of(BernoulliScores, d="d", k="k"),
)
class BernoulliNB(DiscreteClassifier, GenerativeClassifier):
    """Bernoulli naive Bayes; scikit-learn's `BernoulliNB` with merging, forgetting, sampling and missing values.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Pseudo-count of presence and of absence: the mode under a Beta(1 + alpha, 1 + alpha) prior.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
    binarize : float or None, default=0.0
        Values above it count as present. With None the data must be 0 and 1 (or fractions in between).
    fit_prior : bool, default=True
        Whether to learn class priors; they are uniform otherwise.
    class_prior : array-like of shape (n_classes,), default=None
        Class priors to use instead of learnt or uniform ones.

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
        The sufficient statistics from which the parameters are computed.
    certificate_ : Certificate
        Evidence that the parameters are optimal.
    plan_ : Plan
        The path that the fit took.

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

    def _zero(self, labels: Array, X: Any) -> ByClass:
        return ByClass.zero(labels, (statistic_for(Bernoulli(), len(labels), self.n_features_in_),))

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        block = slice_rows(X, rows)
        if not is_sparse(X):
            return (self._mark_present(as_block(block), X),)
        block.has_canonical_format = X.has_canonical_format  # determined once, not for each block
        block = sum_duplicates(block)  # a sum of entries is compared with the threshold
        return (replace_entries(block, self._mark_present(StoredMatrixRows.of(block).values, X)),)

    def _mark_present(self, values: Array, X: Any) -> Array:
        """Return 1 where present, 0 where absent, NaN where missing; raise for infinite values."""
        if self.binarize is None:
            ones, infinite = values, bool(np.isinf(values).any())
        else:
            ones = np.empty(values.shape, dtype=np.float32)
            # as NumPy does, compare float32 values in single precision
            threshold = np.float32(self.binarize) if values.dtype == np.float32 else float(self.binarize)
            infinite = loops.mark_above(values.reshape(-1), threshold, ones.reshape(-1))
        if infinite:
            self._check_finite_values(X)
        return ones

    def _training_block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        (block,) = self._block(X, rows)
        if self.binarize is None and (first := find_first(block, lambda x: (x < 0) | (x > 1))) is not None:
            row, column, value = first
            raise SupportError(
                f"with binarize=None the data must lie between 0 and 1, but column {column_names(self)[column]!r} is "
                f"{value:g} in row {rows.start + row}; give the threshold above which it counts as present, e.g. "
                "binarize=0."
            )
        return (block,)

    def _check_mergeable(self, other: Any) -> None:
        super()._check_mergeable(other)
        if other.binarize != self.binarize:
            raise MergeError(
                f"cannot merge models of different thresholds: binarize={self.binarize} and {other.binarize}; "
                "fit both with the same one."
            )

    def _block_bytes(self, X: Any) -> int:
        return COPIED_BLOCK

    def _update_column_parameters(self, alpha: Any) -> None:
        sums = self.statistic_.parts[0]
        assert isinstance(sums, ColumnSums)
        prior = add_alpha(Bernoulli(), np.stack([alpha, alpha], axis=-1))
        present, absent = (
            log(fill_unknown_evenly(Bernoulli().fit(statistic, prior).probability, 2))
            for statistic in (sums, _Absences.of(sums))
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
        blocks = row_blocks(len(codes), rows_per_block(self.n_features_in_, COPIED_BLOCK)) or [slice(0, 0)]
        return self._sparse_type(sp.vstack([sp.csr_matrix(self._draw(codes[rows], rng)) for rows in blocks]))

    def _draw(self, codes: Array, rng: np.random.Generator) -> Array:
        """Draw rows: 0 for absent, and a value above `binarize` for present."""
        present = 1 if self.binarize is None else int(np.floor(self.binarize)) + 1
        p = np.exp(self.feature_log_prob_)
        rows = np.zeros((len(codes), p.shape[1]), dtype=np.int64)
        for c in np.unique(codes):
            (members,) = np.nonzero(codes == c)
            rows[members] = present * Bernoulli().sample(BernoulliParameters(p[c]), len(members), rng)
        return rows
