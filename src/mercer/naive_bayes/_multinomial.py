"""Multinomial naive Bayes: the words of a text are independent draws given its class (lecture 3).

Pseudo-counts (Laplace smoothing) become a prior in `mercer.families.pseudo_counts`, and `mean_with_prior` of
`mercer.families.base` adds it to the counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._errors import NonFiniteError
from mercer._stored import floats, part_of, stored
from mercer._typing import Array
from mercer.base import Candidate, Question, traits
from mercer.base.fitted_fields import FITTED_COUNTS
from mercer.base.generative import SUMS_TOO_LARGE, GenerativeClassifier
from mercer.base.linear_form import LinearPiece
from mercer.base.posterior import fill_unknown_evenly, log
from mercer.base.validation import column_names
from mercer.families import Multinomial
from mercer.families.pseudo_counts import add_alpha
from mercer.naive_bayes._discrete import CountClassifier, LogProduct, draw_counts, draw_lengths, log_coefficient


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of counts, or of the words of texts alone."""
    if question.has_texts:
        yield Candidate(MultinomialNB(), 20, "words", "nothing")
    elif question.is_sparse or (question.is_numeric and not question.has_formats):
        yield Candidate(MultinomialNB(), 12 if question.is_sparse else 54, "matrix", "counts")


@traits(
    "classification",
    kind="generative",
    columns="counts",
    is_one_pass=True,
    half="words",
    candidates=_candidates,
    export="mercer.export.naive_bayes.multinomial_nb",
)
@stored(
    **FITTED_COUNTS, feature_count_=floats("kd"), feature_log_prob_=floats(), _product=part_of(LogProduct, d="d", k="k")
)
class MultinomialNB(CountClassifier, GenerativeClassifier):
    """Multinomial naive Bayes; scikit-learn's `MultinomialNB` with merging, forgetting, sampling and densities.

    The model is of the words of a row given their number. `predict_joint_log_proba` leaves out, as
    scikit-learn does, the multinomial coefficient, which is the same for all classes; `log_density` includes it.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Pseudo-count of each word: the mode under a Dirichlet(1 + alpha) prior. With 0 a word that is absent
        from a class has probability exactly 0 there.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
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
        Weighted count of each word in each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Log probability of each word in each class.
    statistic_ : ByClass
        The sufficient statistics from which the parameters are computed.
    certificate_ : Certificate
        Evidence that the parameters are optimal.
    plan_ : Plan
        The path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultinomialNB
    >>> X = np.array([[2, 1, 0], [3, 0, 0], [0, 1, 4]])
    >>> MultinomialNB().fit(X, ["tea", "tea", "coffee"]).predict([[1, 1, 1]])
    array(['tea'], dtype='<U6')
    """

    def __init__(
        self, *, alpha: Any = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Any = None
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _update_column_parameters(self, alpha: Any) -> None:
        prior = add_alpha(Multinomial(), alpha, levels=self.n_features_in_)
        try:
            with np.errstate(over="raise"):
                shares = Multinomial().fit(self._words, prior).probabilities
        except FloatingPointError:
            raise NonFiniteError(SUMS_TOO_LARGE) from None
        words = fill_unknown_evenly(shares, self.n_features_in_)
        self.feature_count_ = self._words.total
        self.feature_log_prob_ = log(words)
        self._product = LogProduct.of(self.feature_log_prob_)

    def _joint(self, block: tuple[Any, ...]) -> Array:
        return self._product(block[0]) + self.class_log_prior_

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]:
        weights = self.feature_log_prob_
        return self.class_log_prior_, (LinearPiece.of_columns(column_names(self), weights, np.zeros(len(weights))),)

    def _log_base(self, block: tuple[Any, ...]) -> Array:
        """Return the log of the multinomial coefficient Γ(N+1) / Π Γ(x+1)."""
        return log_coefficient(block[0])

    def sample(self, n_samples: int = 1, random_state: Any = None, length: Any = None) -> tuple[Any, Array]:
        """Draw rows of counts and their classes from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
            Seed or generator of the draw.
        length : int or array-like of shape (n_samples,), default=None
            Number of words in each row; drawn from the lengths in its class if not given.

        Returns
        -------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            The rows; sparse if the model was fitted on a sparse matrix.
        y : ndarray of shape (n_samples,)
            Their classes.
        """
        return self._draw_rows(n_samples, random_state, length=length)

    def _sample_rows(self, codes: Array, rng: np.random.Generator, length: Any = None) -> Any:
        kind, lengths = self._sparse_type, draw_lengths(length, self._words, codes, rng)
        rows = draw_counts(np.exp(self.feature_log_prob_), codes, lengths, rng, sparse=kind is not None)
        return rows if kind is None else kind(rows)
