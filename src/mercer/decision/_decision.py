"""From the probabilities of a model to actions: costs, other priors, rejection and thresholds, without a refit."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import column_or_1d

from mercer._errors import CostError, DataError, PriorError
from mercer._stored import floats, part_of, stored
from mercer._suggest import quoted
from mercer._typing import Array
from mercer.base.generative import checked_priors
from mercer.base.sources import fits_sources
from mercer.base.validation import Plan, checked_weight
from mercer.data.labels import codes_of
from mercer.decision import _priors as shift
from mercer.decision._costs import Costs, cost_matrix, implied_threshold, never_best, ranges, with_rejection
from mercer.decision._priors import PriorShift
from mercer.decision._thresholds import Threshold, chosen_threshold
from mercer.decision.wrapped import (
    WrapsModel,
    is_fitted,
    known_codes,
    log_probabilities,
    plan_of,
    probabilities,
    refuse_scores_only,
)
from mercer.optim.certificate import Certificate

# By which rule probabilities become actions.


class DecisionRule(NamedTuple):
    """What the parameters of a decision say, once the classes of its model are known."""

    #: of all actions; the last is rejection, if rows may be rejected
    costs: Costs
    rejects: bool
    #: the least probability of the most probable class that is not rejected
    reject_below: float
    threshold: float | None
    #: whether the columns of the costs are the classes, and every mistake costs 1
    plain: bool

    @classmethod
    def of(cls, decision: Decision) -> DecisionRule:
        """From its parameters, of which those that do not fit the classes are refused."""
        classes, threshold = decision.classes_, decision.threshold
        costs = cost_matrix(decision.costs, classes, decision.actions)
        if threshold is not None:
            _refuse_no_threshold(threshold, costs)
        rejects = decision.reject is not None or decision.reject_below is not None
        if rejects:
            costs = with_rejection(costs, classes, decision.reject, decision.reject_label)
        plain = decision.costs is None and decision.actions is None
        return cls(costs, rejects, decision.reject_below or 0.0, threshold, plain)

    def expected(self, p: Array) -> Array:
        """The cost to be expected of each action (column) for each row; NaN for rejection that has no price."""
        values = self.costs.values
        if np.isinf(values).any():
            return np.column_stack([p @ values[:, :-1], np.full(len(p), np.nan)])
        return np.asarray(p @ values)

    def chosen(self, p: Array) -> Array:
        """The position of the action of each row; of equally good ones the first."""
        expected = self.expected(p)
        usual = expected[:, :-1] if self.rejects else expected
        if self.threshold is not None:
            chosen = (p[:, 1] > self.threshold).astype(np.intp)
        elif self.plain:
            chosen = p.argmax(axis=1)  # the least of 1 − p, whose last digits are lost
        else:
            chosen = usual.argmin(axis=1)
        if not self.rejects:
            return chosen
        with np.errstate(invalid="ignore"):
            dear = expected[:, -1] < usual[np.arange(len(p)), chosen]
        return np.where(dear | (p.max(axis=1) < self.reject_below), expected.shape[1] - 1, chosen)


def _refuse_no_threshold(threshold: float, costs: Costs) -> None:
    """Above a threshold the second of two actions is chosen, which has to be the one for the second class."""
    if costs.values.shape != (2, 2):
        raise CostError(
            f"threshold={threshold:g} cuts the probability of the second of two classes, but there are "
            f"{costs.values.shape[0]} classes and {costs.values.shape[1]} actions; give costs instead."
        )
    implied_threshold(costs)


# How a decision is made, in words.

#: pairs of classes whose costs are spelled out
MOST_PAIRS = 6


def explanation(decision: Decision, rule: DecisionRule, priors: tuple[Array, Array] | None) -> list[str]:
    """Sentences: what is chosen where, what never is, and what priors do (trained and new ones, if any)."""
    costs, classes = rule.costs, decision.classes_
    priced = _priced(costs)
    if decision.threshold is not None:
        first, second = map(quoted, costs.actions.tolist()[:2])
        lines = [f"{second} where p({classes[1]}) is above {decision.threshold:.3g}, else {first}."]
    elif len(classes) == 2:
        lines = _for_two(priced, classes)
    else:
        lines = _for_more(priced, classes, named=not rule.plain)
    lines += _rejection(decision, rule)
    lines += _dominated(priced)
    return lines if priors is None else lines + _about_priors(decision, priced, *priors)


def _priced(costs: Costs) -> Costs:
    """Without a rejection that has no price."""
    finite = np.isfinite(costs.values).all(axis=0)
    return Costs(costs.values[:, finite], costs.actions[finite])


def _for_two(costs: Costs, classes: Array) -> list[str]:
    """What is chosen as the probability of the second class grows."""
    found = ranges(costs)
    if len(found) == 1:
        return [f"Always {quoted(found[0].action)}: no other action is cheaper at any probability."]
    second = classes[1]
    parts = [f"{quoted(found[0].action)} where p({second}) is at most {found[0].high:.3g}"]
    parts += [f"{quoted(each.action)} up to {each.high:.3g}" for each in found[1:-1]]
    parts.append(f"{quoted(found[-1].action)} above {found[-1].low:.3g}")
    return [f"{', '.join(parts)}.", f"Costs: {_mistakes(costs, classes)}."]


def _mistakes(costs: Costs, classes: Array) -> str:
    """What the costs are, row by row."""
    words = []
    for row, label in enumerate(classes.tolist()):
        for column, action in enumerate(costs.actions.tolist()):
            cost = costs.values[row, column]
            if action != label or cost != 0:
                words.append(f"{quoted(action)} for {quoted(label)} {cost:g}")
    return ", ".join(words[: 2 * MOST_PAIRS])


def _for_more(costs: Costs, classes: Array, *, named: bool) -> list[str]:
    if not named:
        return ["The most probable class: every mistake costs the same."]
    worst = np.argsort(costs.values, axis=None)[::-1][:3]
    named_costs = [
        f"{quoted(costs.actions.tolist()[a])} for {quoted(classes.tolist()[k])} costs {costs.values[k, a]:g}"
        for k, a in zip(*np.unravel_index(worst, costs.values.shape), strict=True)
    ]
    rule = f"The action of the least expected cost, of {len(costs.actions)} for {len(classes)} classes."
    return [rule, f"The dearest: {', '.join(named_costs)}."]


def _rejection(decision: Decision, rule: DecisionRule) -> list[str]:
    if not rule.rejects:
        return []
    label, lines = quoted(rule.costs.actions.tolist()[-1]), []
    if decision.reject is not None:
        price = rule.costs.values[:, -1]
        many = f"{price[0]:g}" if (price == price[0]).all() else f"{price.min():g} to {price.max():g}"
        lines.append(f"{label} where every other action is expected to cost more than {many}.")
        if rule.plain and (price == price[0]).all():
            lines.append(f"That is where no class has a probability of {1 - price[0]:.3g} or more.")
    if decision.reject_below is not None:
        lines.append(f"{label} where no class has a probability of {decision.reject_below:.3g} or more.")
    return lines


def _dominated(costs: Costs) -> list[str]:
    return [f"{quoted(action)} is never cheaper than all others, whatever the row." for action in never_best(costs)]


def _about_priors(decision: Decision, costs: Costs, trained: Array, priors: Array) -> list[str]:
    both = zip(decision.classes_.tolist(), priors, trained, strict=True)
    words = ", ".join(f"{quoted(label)} {new:.3g} instead of {old:.3g}" for label, new, old in both)
    lines = [f"Probabilities are those under other priors than the model was trained with: {words}."]
    if len(priors) == 2 and len(found := ranges(costs)) == 2 and decision.threshold is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = found[1].low / (1 - found[1].low) * (trained[1] / trained[0]) * (priors[0] / priors[1])
        own = odds / (1 + odds) if np.isfinite(odds) else 1.0
        lines.append(f"For the model's own p({decision.classes_[1]}) that is a threshold of {own:.3g}.")
    return lines


# What a decision says about rows: probabilities, actions, and what these cost.


class DecisionQuestions:
    """An estimator with a rule, and priors that may differ from those of its model."""

    classes_: Any
    _fitted: Any

    @abstractmethod
    def _rule(self) -> DecisionRule: ...

    @abstractmethod
    def _changed_priors(self) -> tuple[Array, Array] | None: ...

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
        changed = self._changed_priors()
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
        rule = self._rule()
        return np.asarray(rule.costs.actions[rule.chosen(self.predict_proba(X))])

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
        return self._rule().expected(self.predict_proba(X))

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
        rule, p = self._rule(), self.predict_proba(X)
        return np.asarray(rule.expected(p)[np.arange(len(p)), rule.chosen(p)])

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
        rule, p = self._rule(), self.predict_proba(X)
        codes, weight = self._labelled(p, y, sample_weight)
        paid = rule.costs.of(codes, rule.chosen(p))
        counted = np.isfinite(paid)
        return float(np.average(paid[counted], weights=weight[counted])) if weight[counted].any() else float("nan")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows for which the action is their true class; for rejected rows it is not.

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
        score : float
            From 0 to 1. Where mistakes cost differently, `average_cost` says more.
        """
        rule, p = self._rule(), self.predict_proba(X)
        given, weight = _beside(p, y, sample_weight)
        chosen, codes = rule.chosen(p), codes_of(given, self.classes_)
        # a class that the model does not know is −1, and the last row
        actions, classes = rule.costs.actions.tolist(), [*self.classes_.tolist(), None]
        right = np.array([[label is not None and action == label for action in actions] for label in classes])
        return float(np.average(right[codes, chosen], weights=weight))

    def _labelled(self, p: Array, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Codes and weights of rows whose class is known."""
        given, weight = _beside(p, y, sample_weight)
        return known_codes(given, self.classes_), np.ones(len(p)) if weight is None else weight


def _beside(p: Array, y: Any, sample_weight: Any) -> tuple[Array, Array | None]:
    """Labels and weights, as many as there are rows."""
    if len(given := column_or_1d(y)) != len(p):
        raise DataError(f"X has {len(p)} rows and y {len(given)} labels; give one label for each row.")
    return given, checked_weight(sample_weight, given)


# Choosing what to decide by: priors and thresholds that suit rows at hand.


class DecisionChoices(DecisionQuestions):
    """An estimator whose parameters can be found from rows; none of them is changed here."""

    costs: Any
    actions: Any

    @abstractmethod
    def _trained_priors(self) -> Array: ...

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
            Weights of the rows in costs and shares; a rate is bounded by counting rows, whatever they weigh.
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
        self._rule()
        costs, p = cost_matrix(self.costs, self.classes_, self.actions), self.predict_proba(X)
        codes, weight = self._labelled(p, y, sample_weight)
        return chosen_threshold(p, codes, costs, weight, rate=false_positive_rate, confidence=confidence)


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

    def _rule(self) -> DecisionRule:
        self._validate_params()  # a fitted model needs no `fit`, which would have done so
        if self.priors is not None:
            checked_priors(self.priors, self.classes_)
        return DecisionRule.of(self)

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
