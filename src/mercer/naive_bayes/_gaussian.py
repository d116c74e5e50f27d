"""Gaussian naive Bayes: every column normal within a class, columns independent given it (lecture 1, eq. 52–61)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from mercer._errors import DegenerateDataError
from mercer._stored import floats, part_of, real, stored
from mercer._typing import Array
from mercer.base import Candidate, Question, traits
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.gaussian_scores import GaussianScores
from mercer.base.generative import GenerativeClassifier, TensorClassifier
from mercer.base.linear_form import LinearPiece
from mercer.base.posterior import add_log_prior, log
from mercer.base.validation import column_names, publish
from mercer.families.gaussian import GaussianParameters
from mercer.naive_bayes._unweighted import UnweightedStatisticsMixin, unweighted_parts
from mercer.stats.base import divide
from mercer.stats.by_class import ByClass
from mercer.stats.centred import ColumnMoments


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of numbers, where `NaiveBayes` is not the same."""
    if question.is_numeric and not question.is_plain and not question.has_formats:
        yield Candidate(GaussianNB(), 52, "matrix", "dense columns")


def _tables(model: GaussianNB) -> dict[str, dict[Any, dict[str, float]]]:
    """Return the mean and the variance of each column in each class."""
    return {
        name: {
            label: {"mean": model.theta_[k, j], "variance": model.var_[k, j]}
            for k, label in enumerate(model.classes_.tolist())
        }
        for j, name in enumerate(column_names(model))
    }


@traits(
    "classification",
    kind="generative",
    columns="numbers",
    integrates_missing=True,
    is_one_pass=True,
    half=lambda model: "columns" if model.shared_variance else "statistics",
    candidates=_candidates,
    export="mercer.export.naive_bayes.gaussian_nb",
    evidence="mercer.explanation.evidence.naive_bayes",
    tables=_tables,
)
@stored(
    **FITTED_CLASSES,
    epsilon_=real(),
    _priors=floats("k"),
    _scores=part_of(GaussianScores, d="d", k="k"),
    theta_=floats("kd"),
    var_=floats("kd"),
)
class GaussianNB(UnweightedStatisticsMixin, TensorClassifier, GenerativeClassifier):
    """Gaussian naive Bayes; scikit-learn's `GaussianNB` with merging, forgetting, sampling and missing values.

    Rows may be torch tensors, also on a GPU: they are summarised and scored on their device, and predictions are
    tensors there. The fitted attributes are in main memory, and the model takes arrays as well.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Class priors; estimated from the data if not given.
    var_smoothing : float, default=1e-9
        This portion of the largest variance of all columns is added to every variance. After `partial_fit` it is
        the variance of all rows so far, as after one `fit`; scikit-learn takes that of the last batch.
    shared_variance : bool, default=False
        One variance per column for all classes: the posterior is then a softmax of a linear function of x, the
        lecture's equivalence with logistic regression.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Class priors.
    theta_ : ndarray of shape (n_classes, n_features)
        Mean of each column in each class.
    var_ : ndarray of shape (n_classes, n_features)
        Variance of each column in each class, smoothed.
    epsilon_ : float
        The number added to the variances.
    statistic_ : ByClass
        The sufficient statistics from which the parameters are computed.
    certificate_ : Certificate
        Evidence that the parameters are optimal.
    plan_ : Plan
        The path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianNB
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> GaussianNB().fit(X, ["left", "left", "right", "right"]).predict([[-0.8, np.nan]])
    array(['left'], dtype='<U5')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "shared_variance": ["boolean"],
    }

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9, shared_variance: bool = False) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.shared_variance = shared_variance

    def _zero(self, labels: Array, X: Any) -> ByClass:
        return ByClass.zero(labels, (ColumnMoments.zero(len(labels), self.n_features_in_),))

    def _update_parameters(self) -> None:
        moments = self._moments
        # as in scikit-learn, var_smoothing is relative to the unweighted variance
        (rows,) = unweighted_parts(self.statistic_) or [moments.pool()]
        spread = rows.variance[0]
        self._priors = self._class_priors()
        self.epsilon_ = (
            self.var_smoothing * spread.max() if self.var_smoothing > 0 else 0.0
        )  # 0 also for an infinite spread
        mean, variance = self._moments_of_classes(moments)
        variance = variance + self.epsilon_
        informative = moments.rows.any(axis=0) & ((spread > 0) | (self.epsilon_ > 0)) & self._known(variance)
        self._scores = GaussianScores.of(GaussianParameters(mean, variance), informative)
        publish(self, theta_=mean, var_=variance, class_prior_=self._priors, class_count_=self.statistic_.weight)

    @property
    def _moments(self) -> ColumnMoments:
        moments = self.statistic_.parts[0]
        assert isinstance(moments, ColumnMoments)
        return moments

    def _known(self, variance: Array) -> Array:
        """Return whether each column has a density in each class; not a constant one in a class without rows."""
        return (self.statistic_.rows > 0)[:, None] | (variance > 0)

    def _moments_of_classes(self, moments: ColumnMoments) -> tuple[Array, Array]:
        """Return means and variances; where a class has no values of a column, those of all classes together.

        As in scikit-learn, both are 0 for an announced class without rows.
        """
        mean, variance = moments.mean, moments.variance
        if self.shared_variance:
            shared = divide(moments.scatter.sum(axis=0), moments.weight.sum(axis=0))
            variance = np.tile(shared, (len(mean), 1))
        unobserved = (moments.rows == 0) & (self.statistic_.rows > 0)[:, None]
        if unobserved.any():
            together = moments.pool()
            mean = np.where(unobserved, together.mean, mean)
            variance = np.where(unobserved & (not self.shared_variance), together.variance, variance)
        return mean, variance

    def _log_prior(self) -> Array:
        return log(self._priors)

    def _joint(self, block: tuple[Any, ...]) -> Array:
        return add_log_prior(self._scores(block[0]), self._log_prior())  # type: ignore[no-any-return]

    def _check_finite_values(self, X: Any) -> None:
        super()._check_finite_values(X)
        if hasattr(self, "_scores") and len(flat := np.argwhere(np.isinf(self._scores.constants))):
            c, j = flat[0]
            raise DegenerateDataError(
                f"column {column_names(self)[j]!r} is constant in class {self.classes_.tolist()[c]!r}, so that its "
                f"variance there is 0 and its density has no value; pass a var_smoothing above {self.var_smoothing}."
            )

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]:
        names, rows = column_names(self), self.statistic_.rows.sum()
        if self.shared_variance:
            return self._log_prior(), (LinearPiece.of_shared_variance(names, self._scores),)
        gaps = self._moments.rows.sum(axis=0) < rows
        return self._log_prior(), (LinearPiece.of_gaussian(names, self._scores, gaps=gaps),)

    def _sample_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        rows: Array = rng.normal(self.theta_[codes], np.sqrt(self.var_[codes]))
        rows[:, ~self._moments.rows.any(axis=0)] = np.nan  # columns without values
        return rows
