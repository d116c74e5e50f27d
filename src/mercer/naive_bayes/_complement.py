"""Complement naive Bayes: a text belongs to the class whose complement, all other classes together, fits it least."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._errors import NonFiniteError
from mercer._stored import floats, part_of, stored
from mercer._typing import Array
from mercer.base import traits
from mercer.base.fitted_fields import FITTED_COUNTS
from mercer.base.generative import SUMS_TOO_LARGE
from mercer.base.linear_form import LinearPiece
from mercer.base.posterior import fill_unknown_evenly, log
from mercer.base.validation import column_names
from mercer.families import Multinomial
from mercer.families.pseudo_counts import add_alpha
from mercer.naive_bayes._discrete import CountClassifier, DiscreteClassifier, LogProduct


class _OtherClasses(NamedTuple):
    """A statistic for `Multinomial.fit` of the complement of each class."""

    weight: Array
    mean: Array


@traits(
    "classification",
    kind="generative",
    columns="counts",
    is_one_pass=True,
    half="words",
    export="mercer.export.naive_bayes.complement_nb",
)
@stored(
    **FITTED_COUNTS,
    feature_count_=floats("kd"),
    feature_all_=floats("d"),
    feature_log_prob_=floats(),
    _product=part_of(LogProduct, d="d", k="k"),
)
class ComplementNB(CountClassifier):
    """Complement naive Bayes (Rennie et al., 2003); scikit-learn's `ComplementNB` with merging and forgetting.

    A class c scores −Σ_j x_j log p_j, where p are the probabilities of words in all classes but c. These scores are
    not a likelihood: there is no density, no sampling, and class priors have no effect.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Pseudo-count of each word: the mode under a Dirichlet(1 + alpha) prior.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
    fit_prior : bool, default=True
        Only used if there is a single class.
    class_prior : array-like of shape (n_classes,), default=None
        Only used if there is a single class.
    norm : bool, default=False
        Whether to divide the weights of each class by their sum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log of the class priors.
    feature_all_ : ndarray of shape (n_features,)
        Weighted count of each word.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Weighted count of each word in each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weight of each word for each class: −log p of its complement, normalised if `norm`.
    statistic_ : ByClass
        The sufficient statistics from which the parameters are computed.
    certificate_ : Certificate
        Evidence that the parameters are optimal.
    plan_ : Plan
        The path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ComplementNB
    >>> X = np.array([[2, 1, 0], [3, 0, 0], [0, 1, 4]])
    >>> ComplementNB().fit(X, ["tea", "tea", "coffee"]).predict([[1, 1, 0]])
    array(['tea'], dtype='<U6')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **DiscreteClassifier._parameter_constraints,
        "norm": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm

    def _update_column_parameters(self, alpha: Any) -> None:
        self.feature_count_ = self._words.total
        with np.errstate(over="ignore"):
            self.feature_all_ = self.feature_count_.sum(axis=0)
            if not np.isfinite(self.feature_all_.sum()):
                raise NonFiniteError(SUMS_TOO_LARGE)
        prior = add_alpha(Multinomial(), alpha, levels=self.n_features_in_)
        p = Multinomial().fit(self._other_classes(), prior).probabilities
        log_p = log(fill_unknown_evenly(p, self.n_features_in_))
        self.feature_log_prob_ = normalize_log_weights(log_p) if self.norm else -log_p
        self._product = LogProduct.of(-self.feature_log_prob_)

    def _other_classes(self) -> _OtherClasses:
        # a sum, not a difference from the sum over all classes, so that a word in no other class counts exactly 0
        others = 1.0 - np.eye(len(self.classes_))
        counts = others @ self.feature_count_
        return _OtherClasses((counts.sum(axis=1) > 0).astype(float), counts)

    def _joint(self, block: tuple[Any, ...]) -> Array:
        scores = -self._product(block[0])
        return scores + self.class_log_prior_ if len(self.classes_) == 1 else scores

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]:
        intercept = self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))
        weights = self.feature_log_prob_
        return intercept, (LinearPiece.of_columns(column_names(self), weights, np.zeros(len(weights))),)

    def _with_prior_for_impossible(self, joint: Array) -> Array:
        """Replace scores by 0 and −inf where words occur in one class only, without pseudo-counts; several share."""
        certain = np.isposinf(joint)
        decided = certain.any(axis=1)
        joint[decided] = np.where(certain[decided], 0.0, -np.inf)
        return joint


def normalize_log_weights(log_p: Array) -> Array:
    """Return log p / Σ log p of each class, or the limit where some p are 0 (they share all weight) or one p is 1."""
    infinite = np.isinf(log_p)
    size = np.where(infinite.any(axis=1, keepdims=True), infinite, np.where(infinite, 0.0, log_p))
    total = size.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(size, total, out=np.ones_like(log_p), where=total != 0))
