"""From the probabilities of a model to actions: costs, other priors, rejection and thresholds, without a refit."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.class_weight import compute_sample_weight

from mercer._errors import CostError, DataError
from mercer._suggest import quoted
from mercer.data.labels import codes_of, encode_labels
from mercer.decide import priors as shift
from mercer.decide._explained import explanation
from mercer.decide._wrapped import (
    checked_rows,
    fit_parameters,
    fitted_copy,
    inherit_input_tags,
    is_fitted,
    log_probabilities,
    plan_of,
    probabilities,
    publish_features,
    refuse_scores_only,
    routing,
)
from mercer.decide.costs import Costs, cost_matrix, implied_threshold
from mercer.decide.priors import PriorShift
from mercer.decide.rejection import with_rejection
from mercer.decide.thresholds import Threshold, bounded_threshold, cheapest_threshold
from mercer.models._base import Plan, checked_weight, old_state_on_failure
from mercer.models._generative import checked_priors
from mercer.solvers.certificate import Certificate

Array = NDArray[Any]


class Decision(ClassifierMixin, BaseEstimator):
    """A model's probabilities turned into actions, without touching the model.

    The action of a row is the one of the least expected cost Σ p(y|x) cost(y, action). Costs, class priors, rejection
    and thresholds may be changed at any time (`set_params`): nothing is fitted again. This is the robustness to a
    changing loss of models that have probabilities; one that has learnt only a boundary is refused.

    Parameters
    ----------
    model : classifier with `predict_proba`
        A fitted model is used as it is. One that is not fitted is copied and fitted by `fit`, as everywhere in
        scikit-learn.
    costs : array-like of shape (n_classes, n_actions), mapping or frame, default=None
        What each action (column) costs for each true class (row): an array in the order of `classes_`; a mapping
        {class: {action: cost}}, where the right class costs nothing unless it is named; or a frame with a column for
        each action and the classes as its index or in a column of text. There may be more actions than classes, or
        fewer. Gains are negative costs. By default a wrong class costs 1 and the right one 0.
    actions : array-like of shape (n_actions,), default=None
        Names of the columns of `costs`; by default the classes.
    priors : array-like of shape (n_classes,) or mapping, default=None
        Probabilities of the classes where the decisions are made, if they differ from those of the training rows:
        p'(y|x) ∝ p(y|x) π'(y)/π(y).
    trained_priors : array-like of shape (n_classes,) or mapping, default=None
        π, the priors the model was trained with. By default those it has (`class_prior_`, `priors_`,
        `class_log_prior_`), else, after `fit`, the shares of the classes in y.
    reject : float or array-like of shape (n_classes,), default=None
        What it costs to decide nothing and hand the row to somebody else; for each true class, if given so.
    reject_below : float, default=None
        Rows whose most probable class has less than this probability are rejected, whatever it costs.
    reject_label : object, default=None
        What `predict` says of rejected rows. By default "reject" where the actions are text, and −1 where they are
        numbers.
    threshold : float, default=None
        For two classes: the second is chosen where its probability is above this, instead of by the costs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes of the model.
    actions_ : ndarray of shape (n_actions,)
        What `predict` may say: the columns of the costs, and last `reject_label`, if rows may be rejected.
    model_ : estimator
        The fitted model, if `fit` has fitted one.
    certificate_ : Certificate
        How we know that this is the best action.
    plan_ : Plan
        Which path the fit of the model took.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import Decision, LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> Decision(model, reject=0.2).predict(X[[0, 70, 133]])
    array([ 0, -1, -1])
    >>> costly = Decision(model, costs=[[0, 1, 1], [1, 0, 1], [1, 9, 0]])
    >>> costly.predict(X[[0, 70, 133]]), costly.expected_cost(X[[133]]).round(3)
    (array([0, 2, 2]), array([0.733]))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "model": [HasMethods(["fit"]), HasMethods(["predict_proba"])],
        "costs": "no_validation",
        "actions": "no_validation",
        "priors": "no_validation",
        "trained_priors": "no_validation",
        "reject": "no_validation",
        "reject_below": [Interval(Real, 0, 1, closed="both"), None],
        "reject_label": "no_validation",
        "threshold": [Interval(Real, 0, 1, closed="both"), None],
    }

    def __init__(
        self,
        model: Any,
        *,
        costs: Any = None,
        actions: Any = None,
        priors: Any = None,
        trained_priors: Any = None,
        reject: Any = None,
        reject_below: float | None = None,
        reject_label: Any = None,
        threshold: float | None = None,
    ) -> None:
        self.model = model
        self.costs = costs
        self.actions = actions
        self.priors = priors
        self.trained_priors = trained_priors
        self.reject = reject
        self.reject_below = reject_below
        self.reject_label = reject_label
        self.threshold = threshold

    # Learning.

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Self:
        """Fit a copy of the model; the one that was given stays as it is.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, of whatever kind the model takes.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for a model that takes them.
        **parameters : dict
            What else the model's `fit` takes.

        Returns
        -------
        self : object
            The fitted decision.
        """
        with old_state_on_failure(self):
            self._validate_params()
            X, y = checked_rows(self, X, y, sample_weight)
            self.model_ = fitted_copy(self.model, X, y, fit_parameters(self, sample_weight, parameters))
            refuse_scores_only(self.model_)
            self._shares = self._class_shares(y, sample_weight)
            publish_features(self, self.model_)
            self._settings()  # costs and priors that do not fit the classes are told at once
        return self

    def _class_shares(self, y: Array, sample_weight: Any) -> Array:
        """Of the training rows, as the model weighs them."""
        labels, codes = encode_labels(y)
        weight = checked_weight(sample_weight, y)
        weight = np.ones(len(y)) if weight is None else weight
        balance = getattr(self.model_, "class_weight", None)
        if balance is not None:
            weight = weight * compute_sample_weight(balance, y)
        total = np.bincount(codes, weight, minlength=len(labels))
        known = np.zeros(len(self.classes_))
        known[codes_of(labels, self.classes_)] = total
        return np.asarray(known / known.sum())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_") or is_fitted(self.model)

    @property
    def _fitted(self) -> Any:
        """The model that is asked."""
        model = getattr(self, "model_", self.model)
        refuse_scores_only(model)
        if not hasattr(self, "model_") and not is_fitted(model):
            raise NotFittedError(
                f"This Decision instance is not fitted yet: {type(model).__name__} is not. Fit the model, or call "
                "`fit` with training rows."
            )
        return model

    @property
    def classes_(self) -> Array:
        return np.asarray(self._fitted.classes_)

    @property
    def actions_(self) -> Array:
        return self._settings().actions

    @property
    def certificate_(self) -> Certificate:
        return Certificate.closed_form(f"the least of {len(self.actions_)} expected costs, computed for every row")

    @property
    def plan_(self) -> Plan:
        return plan_of(self._fitted, "least expected cost")

    # What the parameters say about this model's classes.

    def _settings(self) -> Costs:
        """Costs of all actions, rejection among them."""
        classes = self.classes_
        costs = cost_matrix(self.costs, classes, self.actions)
        if self.threshold is not None and costs.values.shape != (2, 2):
            raise CostError(
                f"threshold={self.threshold:g} cuts the probability of the second of two classes, but there are "
                f"{costs.values.shape[0]} classes and {costs.values.shape[1]} actions; give costs instead."
            )
        if self.priors is not None:
            checked_priors(self.priors, classes)
        return with_rejection(costs, classes, self.reject, self.reject_label) if self._may_reject else costs

    @property
    def _may_reject(self) -> bool:
        return self.reject is not None or self.reject_below is not None

    def _priors(self) -> tuple[Array, Array] | None:
        """Trained and new ones, if there are new ones."""
        if self.priors is None:
            return None
        return self._trained_priors(), checked_priors(self.priors, self.classes_)

    def _trained_priors(self) -> Array:
        return shift.trained_priors(self._fitted, self.trained_priors, getattr(self, "_shares", None))

    # Deciding.

    def predict_proba(self, X: Any) -> Array:
        """p(y|x) of every row and class, under the priors that were given.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`; those of the model, if no priors were given.
        """
        changed = self._priors()
        if changed is None:
            return probabilities(self._fitted, X)
        return np.exp(shift.reweighted(log_probabilities(self._fitted, X), *changed, self.classes_))

    def predict(self, X: Any) -> Array:
        """The best action for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        actions : ndarray of shape (n_samples,)
            Of `actions_`; of equally good ones the first.
        """
        p, costs = self.predict_proba(X), self._settings()
        return np.asarray(costs.actions[self._chosen(p, costs)])

    def costs_of_actions(self, X: Any) -> Array:
        """What each action is expected to cost for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        costs : ndarray of shape (n_samples, n_actions)
            Columns in the order of `actions_`; NaN for rejection, if `reject` does not say what it costs.
        """
        p, costs = self.predict_proba(X), self._settings()
        return self._expected(p, costs)

    def expected_cost(self, X: Any) -> Array:
        """What the action chosen for every row is expected to cost.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        cost : ndarray of shape (n_samples,)
            NaN for rejected rows, if `reject` does not say what rejecting costs.
        """
        p, costs = self.predict_proba(X), self._settings()
        chosen = self._chosen(p, costs)
        return np.asarray(self._expected(p, costs)[np.arange(len(p)), chosen])

    def average_cost(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """What the decisions cost per row where the classes are known.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        cost : float
            The mean; rejected rows are left out of it if `reject` does not say what rejecting costs.
        """
        p, costs = self.predict_proba(X), self._settings()
        codes, weight = self._labelled(p, y, sample_weight)
        paid = costs.of(codes, self._chosen(p, costs))
        counted = np.isfinite(paid)
        return float(np.average(paid[counted], weights=weight[counted])) if weight[counted].any() else float("nan")

    def _labelled(self, p: Array, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Codes and weights of rows whose class is known."""
        codes = codes_of(y, self.classes_)
        if len(codes) != len(p):
            raise DataError(f"X has {len(p)} rows and y {len(codes)} labels; give one label for each row.")
        if (unknown := codes < 0).any():
            label = np.asarray(y).tolist()[int(np.argmax(unknown))]
            raise DataError(f"y holds the class {quoted(label)}, which the model does not know.")
        weight = checked_weight(sample_weight, y)
        return codes, np.ones(len(codes)) if weight is None else weight

    def _expected(self, p: Array, costs: Costs) -> Array:
        values = costs.values
        if np.isinf(values).any():  # rejection that has no price
            return np.column_stack([p @ values[:, :-1], np.full(len(p), np.nan)])
        return np.asarray(p @ values)

    def _chosen(self, p: Array, costs: Costs) -> Array:
        """The position of the action of each row."""
        expected = self._expected(p, costs)
        usual = expected[:, :-1] if self._may_reject else expected
        if self.threshold is not None:
            chosen = (p[:, 1] > self.threshold).astype(np.intp)
        elif self.costs is None:
            chosen = p.argmax(axis=1)  # the least of 1 − p, whose last digits are lost
        else:
            chosen = usual.argmin(axis=1)
        if not self._may_reject:
            return chosen
        with np.errstate(invalid="ignore"):
            dear = expected[:, -1] < usual[np.arange(len(p)), chosen]
        unsure = p.max(axis=1) < (0.0 if self.reject_below is None else self.reject_below)
        return np.where(dear | unsure, expected.shape[1] - 1, chosen)

    # Choosing what to decide by.

    def estimate_priors(self, X: Any) -> PriorShift:
        """Class priors of rows without labels, by maximum likelihood, and whether they have shifted.

        What a class looks like is taken to be as it was in training, and the model's probabilities to be calibrated
        (`Calibrated` makes them so). Nothing is changed; to use what was found, `set_params(priors=found.priors)`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows from where decisions are to be made.

        Returns
        -------
        found : PriorShift
            `priors` with `standard_errors`, the p-value of a likelihood ratio test against those of the training, and a
            certificate; `sentence()` says it in words.
        """
        trained = self._trained_priors()
        return shift.estimate_priors(log_probabilities(self._fitted, X), trained, self.classes_)

    def choose_threshold(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        false_positive_rate: float | None = None,
        confidence: float | None = None,
    ) -> Threshold:
        """Where to cut the probability of the second of two classes, chosen on rows the model has not seen.

        Nothing is changed; to use what was found, `set_params(threshold=found.value)`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that the model was not fitted on.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        false_positive_rate : float, default=None
            The lowest threshold that calls at most this share of rows of the first class positive (Neyman and Pearson);
            by default the one of the least average cost.
        confidence : float, default=None
            With which probability the share is kept; by default it is on average.

        Returns
        -------
        found : Threshold
            `value`, what it did on these rows, and what is promised for new ones.
        """
        for name, value in (("false_positive_rate", false_positive_rate), ("confidence", confidence)):
            if value is not None and not 0 < value < 1:
                raise DataError(f"{name}={value:g}, but it lies between 0 and 1.")
        p, costs = self.predict_proba(X), cost_matrix(self.costs, self.classes_, self.actions)
        if costs.values.shape != (2, 2):
            raise CostError(
                f"a threshold is for two classes and two actions; there are {costs.values.shape[0]} and "
                f"{costs.values.shape[1]}. Give costs, by which `predict` decides for any number."
            )
        codes, weight = self._labelled(p, y, sample_weight)
        given = p[:, 1], codes == 1, costs.values, weight
        if false_positive_rate is None:
            return cheapest_threshold(*given)
        return bounded_threshold(*given, rate=false_positive_rate, confidence=confidence)

    @property
    def threshold_(self) -> float:
        """For two classes and two actions: the probability of the second class above which the second is chosen."""
        if self.threshold is not None:
            return float(self.threshold)
        costs = cost_matrix(self.costs, self.classes_, self.actions)
        if costs.values.shape != (2, 2):
            raise AttributeError("threshold_ is for two classes and two actions; see explain().")
        return implied_threshold(costs)

    def explain(self) -> str:
        """How it is decided, in words.

        Returns
        -------
        text : str
            One sentence per line.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from mercer import GaussianNB
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> names = np.array(["malignant", "benign"])[y]
        >>> costs = {"malignant": {"benign": 10}, "benign": {"malignant": 1}}
        >>> print(Decision(GaussianNB().fit(X, names), costs=costs).explain())
        'benign' where p(malignant) is at most 0.0909, 'malignant' above 0.0909.
        Costs: 'malignant' for 'benign' 1, 'benign' for 'malignant' 10.
        """
        return "\n".join(explanation(self))

    # scikit-learn's conventions.

    def get_metadata_routing(self) -> Any:
        """Metadata of `fit` goes to the `fit` of the model.

        Returns
        -------
        routing : MetadataRouter
            What goes where.
        """
        return routing(self)

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.model)
