"""From the probabilities of a model to actions: costs, other priors, rejection and thresholds, without a refit."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import HasMethods, Interval

from mercer._errors import PriorError
from mercer._stored import floats, part_of, stored
from mercer._typing import Array
from mercer.decide import priors as shift
from mercer.decide._decision_choices import DecisionChoices
from mercer.decide._explained import explanation
from mercer.decide._rule import Rule
from mercer.decide.costs import cost_matrix, implied_threshold
from mercer.decide.wrapped import WrapsModel, is_fitted, plan_of, refuse_scores_only
from mercer.models.base import Plan
from mercer.models.generative.generative import checked_priors
from mercer.models.streaming.from_source import fits_sources
from mercer.solvers.certificate import Certificate


@stored(model_=part_of(), _shares=floats())
class Decision(DecisionChoices, WrapsModel, ClassifierMixin, BaseEstimator):
    """A model's probabilities turned into actions, without touching the model.

    The action of a row is the one of the least expected cost Σ p(y|x) cost(y, action). Costs, class priors, rejection
    and thresholds may be changed at any time (`set_params`): nothing is fitted again. Only a model with probabilities
    can follow such changes; one that has learnt only a boundary is refused.

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
        For two classes: the second of two actions is chosen where the probability of the second class is above this,
        instead of by the costs. Actions have to be in the order of the classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes of the model.
    actions_ : ndarray of shape (n_actions,)
        What `predict` may say: the columns of the costs, and last `reject_label`, if rows may be rejected.
    model_ : estimator
        The fitted model, if `fit` has fitted one.
    class_prior_ : ndarray of shape (n_classes,)
        The priors that `predict_proba` rests on, where they are known.
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
        "actions": ["array-like", None],
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

    @fits_sources
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
        with self._learning(X, y, sample_weight, parameters) as training:
            self.model_ = training.fitted(self.model)
            refuse_scores_only(self.model_)
            self._shares = shift.class_shares(self.model_, training.y, training.weight)
            self._rule()  # costs and priors that do not fit the classes are told at once
        return self

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
        return self._rule().costs.actions

    @property
    def certificate_(self) -> Certificate:
        return Certificate.closed_form(f"the least of {len(self.actions_)} expected costs, computed for every row")

    @property
    def plan_(self) -> Plan:
        return plan_of(self._fitted, "least expected cost")

    @property
    def class_prior_(self) -> Array:
        """The priors that `predict_proba` rests on: those given, else the ones the model was trained with."""
        try:
            return self._trained_priors() if self.priors is None else checked_priors(self.priors, self.classes_)
        except PriorError as unknown:
            raise AttributeError(str(unknown)) from None

    # What the parameters say about this model's classes.

    def _rule(self) -> Rule:
        self._validate_params()  # a fitted model needs no `fit`, which would have done so
        if self.priors is not None:
            checked_priors(self.priors, self.classes_)
        return Rule.of(self)

    def _changed_priors(self) -> tuple[Array, Array] | None:
        """Trained and new ones, if there are new ones."""
        if self.priors is None:
            return None
        return self._trained_priors(), checked_priors(self.priors, self.classes_)

    def _trained_priors(self) -> Array:
        return shift.trained_priors(self._fitted, self.trained_priors, getattr(self, "_shares", None))

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
        return "\n".join(explanation(self, self._rule(), self._changed_priors()))
