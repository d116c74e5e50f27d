"""What naive Bayes on counts and categories shares: pseudo-counts, class priors, and rows of counts."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from mercer._typing import Array
from mercer._warn import warn
from mercer.data.blocks import COPIED_BLOCK, VIEWED_BLOCK
from mercer.families import Multinomial
from mercer.models.base import checked, column_names, is_sparse, refuse_negative
from mercer.models.generative.classifier import StatisticClassifier
from mercer.models.generative.generative import checked_priors
from mercer.models.generative.probabilities import log
from mercer.stats import ByClass, VectorSums, statistic_for

#: what scikit-learn raises smaller pseudo-counts to, unless `force_alpha` says otherwise
SMALLEST_ALPHA = 1e-10


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
    def _settle_columns(self, alpha: Any) -> None:
        """Set the fitted attributes that describe the columns, with pseudo-counts `alpha`."""

    def _settle(self) -> None:
        self.class_count_ = self.statistic_.weight
        self.class_log_prior_ = self._class_log_prior()
        self._settle_columns(self._check_alpha())

    def _class_log_prior(self) -> Array:
        if self.class_prior is not None:
            prior = checked_priors(self.class_prior, self.classes_, normalised=False)
        elif self.fit_prior:
            prior = self.class_count_ / self.class_count_.sum()
        else:
            prior = np.full(len(self.classes_), 1 / len(self.classes_))
        return log(prior)

    def _check_alpha(self) -> Any:
        """`alpha`, one for all columns or one for each, raised to SMALLEST_ALPHA unless that is forbidden."""
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
        if np.min(alpha) >= SMALLEST_ALPHA or self.force_alpha:
            return alpha
        warn(
            f"alpha too small will result in numeric errors, setting alpha = {SMALLEST_ALPHA:.1e}. "
            "Use `force_alpha=True` to keep alpha unchanged.",
        )
        return np.maximum(alpha, SMALLEST_ALPHA)

    def _log_prior(self) -> Array:
        log_prior: Array = self.class_log_prior_
        return log_prior

    def _with_priors(self, priors: Array) -> Self:
        return self.set_params(class_prior=priors)  # type: ignore[no-any-return]

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        result = checked(self, X, y, reset=reset)
        if reset:  # samples come in the container of the data
            self._sparse_type = type(result[0]) if is_sparse(result[0]) else None
        return result

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        return (some_rows(X, rows),)

    def _numbers_per_row(self, X: Any) -> int:
        return max(1, X.nnz // X.shape[0] if is_sparse(X) else self._n_columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.positive_only = self._positive_only
        return tags


class CountClassifier(DiscreteClassifier):
    """A `DiscreteClassifier` of rows of counts (words of a text), which are never missing."""

    _accepts_missing: ClassVar[bool] = False
    _positive_only: ClassVar[bool] = True

    def _zero(self, labels: Array, X: Any) -> ByClass:
        return ByClass.zero(labels, (statistic_for(Multinomial(), len(labels), self.n_features_in_),))

    def _learnt_block(self, X: Any, rows: slice) -> tuple[Any, ...]:
        block = some_rows(X, rows)
        lowest = np.min(block.data if is_sparse(block) else block, initial=0)
        if not lowest >= 0:  # nor is NaN
            refuse_negative(X, column_names(self), estimator=type(self).__name__, expected="counts are 0 or more")
            self._refuse(X)
        return (block,)

    def _block_bytes(self, X: Any) -> int:
        return VIEWED_BLOCK if is_sparse(X) or (X.flags.c_contiguous and X.dtype.kind == "f") else COPIED_BLOCK

    @property
    def _words(self) -> VectorSums:
        words = self.statistic_.parts[0]
        assert isinstance(words, VectorSums)
        return words


def some_rows(X: Any, rows: slice) -> Any:
    """X[rows]; of a CSR matrix without copying its entries, which SciPy would."""
    if not is_sparse(X):
        return X[rows]
    bounds = X.indptr[rows.start : rows.stop + 1]
    block = type(X)((len(bounds) - 1, X.shape[1]), dtype=X.dtype)
    block.data, block.indices = (array[bounds[0] : bounds[-1]] for array in (X.data, X.indices))
    block.indptr = bounds - bounds[0]
    return block
