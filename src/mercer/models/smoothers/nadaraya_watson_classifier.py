"""Classification by weighted vote: the share of each class around a point, weighted by a kernel."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._gpu import is_tensor, namespace
from mercer._stored import part_of, stored, whole
from mercer._typing import Array
from mercer.base import traits
from mercer.data.labels import encode_labels
from mercer.models._refusal import refuse_no_target
from mercer.models._tensor_linear import accuracy
from mercer.models._tensors import labelled
from mercer.models.base import old_state_on_failure
from mercer.models.smoothers._smoother import FITTED_SMOOTHER, KernelSmoother
from mercer.models.streaming.from_source import fits_sources
from mercer.smoothing.regression import LocalFit, LocalVotes


@traits(
    "classification",
    kind="density",
    columns="points",
    no_counterpart="its p(y|x) is already that of KernelBayes(shared_bandwidth=True): both halves are one model",
    export="mercer.export.kernels.nadaraya_watson",
    cost="mercer.models.costs.work.windows",
)
@stored(**FITTED_SMOOTHER, _commonest=whole(0), _fit=part_of(LocalVotes, n="n", t="k"))
class NadarayaWatsonClassifier(ClassifierMixin, KernelSmoother):
    """Vote of the rows around a point: p(c|x) = Σ_{j in c} K_h(x − x_j) / Σ_j K_h(x − x_j), as in `NadarayaWatson`.

    This is Bayes' rule with Parzen windows of one bandwidth for all classes, the priors being their shares.

    Parameters
    ----------
    kernel : str or SmoothingKernel, default="gaussian"
        "gaussian", "epanechnikov", "uniform" (or "tophat"), "triangular", "biweight", "triweight", "cosine",
        "exponential", or a kernel of `mercer.smoothing`.
    bandwidth : "leave-one-out", float, array-like, Bandwidth, rule or its name, default="leave-one-out"
        How wide the kernel is; see `NadarayaWatson`. "leave-one-out" minimises the Brier score, Σ_c (p(c|x) − [y=c])²,
        of each row voted on by all others: like the log loss it is least at the true probabilities, but a row whose
        class has no vote does not make it infinite.
    categorical : None, "auto" or array-like of int or str, default=None
        Columns that are categories; see `NadarayaWatson`.
    mismatch : "leave-one-out", float or array-like, default="leave-one-out"
        λ of the categorical columns; see `NadarayaWatson`.
    out_of_reach : {"nearest", "mean", "nan", "error"}, default="nearest"
        Who votes where all weights are zero: the nearest row, all rows, nobody (probabilities are NaN, and the class is
        the most frequent one), or an error; see `NadarayaWatson`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    bandwidth_ : Bandwidth or None
        The bandwidth used; None if all columns are categorical.
    mismatch_ : ndarray of shape (n_categorical,) or None
        λ of the categorical columns.
    bandwidth_choice_ : WidthChoice or None
        What leaving rows out has chosen; its `error` is the Brier score.
    leave_one_out_proba_ : ndarray of shape (n_samples, n_classes)
        Votes for every row from all others.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if X has names that are all strings.
    certificate_ : Certificate
        How we know that this is the answer.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> from mercer import NadarayaWatsonClassifier
    >>> model = NadarayaWatsonClassifier(bandwidth=1.0).fit([[0.0], [1.0], [5.0]], ["low", "low", "high"])
    >>> model.predict([[2.0], [4.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _local: ClassVar[type[LocalFit]] = LocalVotes
    _what: ClassVar[str] = "a weighted vote of the rows of the fit"

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the bandwidth, and keep the rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of their votes; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with old_state_on_failure(self):
            self._validate_params()
            refuse_no_target(self, y)
            rows = self._read(X, reset=True)
            y = column_or_1d(self._beside(y, X, "y"), warn=True)
            self._refuse_lengths(rows, y)
            self.classes_, codes = encode_labels(y)
            votes = np.eye(len(self.classes_))[codes]
            weight = self._row_weight(self._beside(sample_weight, X, "sample_weight"), rows.count)
            self._commonest = int(np.argmax(weight @ votes))
            self._learn(rows, votes, weight, lambda votes, _: np.ones(votes.shape[1]))
            self.plan_ = self.plan_.where(X)
        return self

    def predict_proba(self, X: Any) -> Any:
        """The share of each class in the vote.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        proba : ndarray or tensor of shape (n_queries, n_classes)
            Columns in the order of `classes_`.
        """
        return self._answers(X)

    def predict_log_proba(self, X: Any) -> Any:
        """Log of `predict_proba`, −inf for a class without votes.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        log_proba : ndarray or tensor of shape (n_queries, n_classes)
            Columns in the order of `classes_`.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return namespace(proba).log(proba)

    def predict(self, X: Any) -> Any:
        """The class with most votes.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray or tensor of shape (n_queries,)
            Class labels; a tensor for a tensor if they are numbers.
        """
        proba = self.predict_proba(X)
        if is_tensor(proba):
            return labelled(self.classes_, proba.argmax(dim=1).where(~proba[:, 0].isnan(), self._commonest))
        best = np.where(np.isnan(proba[:, 0]), self._commonest, np.argmax(proba, axis=1))
        return np.asarray(self.classes_[best])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows whose class is predicted.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to classify.
        y : array-like or tensor of shape (n_queries,)
            Their classes.
        sample_weight : array-like of shape (n_queries,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The accuracy.
        """
        return accuracy(self, X, y, sample_weight)

    @property
    def leave_one_out_proba_(self) -> Array:
        """Votes for every row of the fit from all others, computed when first asked for."""
        check_is_fitted(self)
        return self._answers_left_out()
