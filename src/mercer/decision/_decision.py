"""Choose actions from a model's probabilities: costs, changed priors, rejection and thresholds, without a refit.

`Decision` combines the parts: `_costs` makes the matrix of costs, `_priors` reweights probabilities, and `DecisionRule`
chooses the action of each row. `explain_decision` describes the rule in words.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import column_or_1d

from mercer._errors import CostError, DataError, PriorError
from mercer._stored import estimator, floats, stored
from mercer._suggest import quoted
from mercer._typing import Array
from mercer.base.generative import check_priors
from mercer.base.pipelines import is_fitted
from mercer.base.sources import fits_sources
from mercer.base.validation import Plan, check_weight
from mercer.data.labels import codes_of
from mercer.decision._costs import (
    Costs,
    add_rejection,
    find_dominated_actions,
    find_ranges,
    implied_threshold,
    make_cost_matrix,
)
from mercer.decision._priors import PriorShift, class_shares, estimate_priors, find_trained_priors, reweight
from mercer.decision._thresholds import Threshold, find_threshold
from mercer.decision.wrapped import (
    WrapsModel,
    check_has_probabilities,
    encode_known_classes,
    log_probabilities,
    plan_around,
    probabilities,
)
from mercer.optim.certificate import Certificate

#: at most this number of pairs of classes has its costs listed in `Decision.explain`
MAX_COST_PAIRS = 6


@stored(model_=estimator(), _shares=floats())
class Decision(WrapsModel, ClassifierMixin, BaseEstimator):
    """Choose actions from a model's probabilities, without changing the model.

    The action of a row minimises the expected cost Σ p(y|x) cost(y, action). Costs, class priors, rejection and
    thresholds may be changed at any time with `set_params`: nothing is fitted again. The model must have probabilities;
    a model that has learnt only a boundary is rejected with an error.

    Parameters
    ----------
    model : classifier with `predict_proba`
        A fitted model is used as it is. A model that is not fitted is copied and fitted by `fit`, as in scikit-learn.
    costs : array-like of shape (n_classes, n_actions), mapping or frame, default=None
        The cost of each action (column) for each true class (row): an array in the order of `classes_`; a mapping
        {class: {action: cost}}, in which the right class costs 0 unless it is given; or a frame with a column for each
        action and the classes as its index or in a column of text. There may be more or fewer actions than classes.
        Gains are negative costs. By default a wrong class costs 1 and the right one 0.
    actions : array-like of shape (n_actions,), default=None
        Names of the columns of `costs`; by default the classes.
    priors : array-like of shape (n_classes,) or mapping, default=None
        Class probabilities π' of the rows to decide about, if they differ from those of the training rows:
        p'(y|x) ∝ p(y|x) π'(y)/π(y).
    trained_priors : array-like of shape (n_classes,) or mapping, default=None
        The priors π that the model was trained with. By default the model's own (`class_prior_`, `priors_`,
        `class_log_prior_`), else, after `fit`, the shares of the classes in y.
    reject : float or array-like of shape (n_classes,), default=None
        The cost of rejecting a row, i.e. of leaving it undecided: one number, or one for each true class.
    reject_below : float, default=None
        Rows whose most probable class has a lower probability than this are rejected, whatever the cost.
    reject_label : object, default=None
        The value that `predict` returns for rejected rows. By default "reject" if the actions are text, and −1 if they
        are numbers.
    threshold : float, default=None
        For two classes: the second of two actions is chosen where the probability of the second class is above this
        value, and the costs are not used. Actions must be in the order of the classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes of the model.
    actions_ : ndarray of shape (n_actions,)
        The values that `predict` may return: the columns of the costs, then `reject_label` if rows may be rejected.
    model_ : estimator
        The model fitted by `fit`; not set if `model` is used as it is.
    class_prior_ : ndarray of shape (n_classes,)
        The priors behind `predict_proba`, if they are known.
    certificate_ : Certificate
        Evidence that the chosen actions are optimal.
    plan_ : Plan
        The path that the fit of the model took.

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
        """Fit a copy of the model; `model` itself is not changed.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, in any form that the model accepts.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for a model that takes them.
        **parameters : dict
            Further parameters of the model's `fit`.

        Returns
        -------
        self : object
            The fitted decision.
        """
        with self._learning(X, y, sample_weight, parameters) as training:
            self.model_ = training.fit_copy(self.model)
            check_has_probabilities(self.model_)
            self._shares = class_shares(self.model_, training.y, training.weight)
            self._rule()  # raises an error for costs and priors that do not fit the classes
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_") or is_fitted(self.model)

    @property
    def _fitted(self) -> Any:
        """Return the fitted model: `model_` or `model`."""
        model = getattr(self, "model_", self.model)
        check_has_probabilities(model)
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
        return plan_around(self._fitted, "least expected cost")

    @property
    def class_prior_(self) -> Array:
        """Return the priors behind `predict_proba`: those given, else those the model was trained with."""
        try:
            return self._trained_priors() if self.priors is None else check_priors(self.priors, self.classes_)
        except PriorError as unknown:
            raise AttributeError(str(unknown)) from None

    @property
    def threshold_(self) -> float:
        """Return, for two classes and actions, the probability of the second class above which the second is chosen."""
        if self.threshold is not None:
            return float(self.threshold)
        costs = make_cost_matrix(self.costs, self.classes_, self.actions)
        if costs.values.shape != (2, 2):
            raise AttributeError("threshold_ is for two classes and two actions; see explain().")
        return implied_threshold(costs)

    def predict_proba(self, X: Any) -> Array:
        """Return p(y|x) for every row and class, under the given priors.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`; the model's own probabilities if no priors are given.
        """
        changed = self._changed_priors()
        if changed is None:
            return probabilities(self._fitted, X)
        return np.exp(reweight(log_probabilities(self._fitted, X), *changed, self.classes_))

    def predict(self, X: Any) -> Array:
        """Return the best action for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        actions : ndarray of shape (n_samples,)
            Values of `actions_`; among equally good ones the first.
        """
        rule = self._rule()
        return np.asarray(rule.costs.actions[rule.choose_columns(self.predict_proba(X))])

    def costs_of_actions(self, X: Any) -> Array:
        """Return the expected cost of each action for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        costs : ndarray of shape (n_samples, n_actions)
            Columns in the order of `actions_`; NaN for rejection if `reject` gives no cost.
        """
        return self._rule().expected_costs(self.predict_proba(X))

    def expected_cost(self, X: Any) -> Array:
        """Return the expected cost of the action chosen for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        cost : ndarray of shape (n_samples,)
            NaN for rejected rows if `reject` gives no cost.
        """
        rule, p = self._rule(), self.predict_proba(X)
        return np.asarray(rule.expected_costs(p)[np.arange(len(p)), rule.choose_columns(p)])

    def average_cost(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the average cost per row of the decisions for rows of known class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.
        y : array-like of shape (n_samples,)
            True classes of the rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        cost : float
            The weighted mean; rejected rows are left out if `reject` gives no cost.
        """
        rule, p = self._rule(), self.predict_proba(X)
        codes, weight = self._check_labelled(p, y, sample_weight)
        paid = rule.costs.values[codes, rule.choose_columns(p)]
        counted = np.isfinite(paid)
        return float(np.average(paid[counted], weights=weight[counted])) if weight[counted].any() else float("nan")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose action is their true class; rejected rows count as wrong.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.
        y : array-like of shape (n_samples,)
            True classes of the rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            A value from 0 to 1. If costs differ between mistakes, use `average_cost`.
        """
        rule, p = self._rule(), self.predict_proba(X)
        labels, weight = _check_labels(p, y, sample_weight)
        chosen, codes = rule.choose_columns(p), codes_of(labels, self.classes_)
        # an unknown class has the code −1, which selects the last row
        actions, classes = rule.costs.actions.tolist(), [*self.classes_.tolist(), None]
        right = np.array([[label is not None and action == label for action in actions] for label in classes])
        return float(np.average(right[codes, chosen], weights=weight))

    def estimate_priors(self, X: Any) -> PriorShift:
        """Estimate the class priors of unlabelled rows by maximum likelihood, and test whether they have shifted.

        The estimate assumes that p(x|y) is as in training and that the model's probabilities are calibrated (see
        `Calibrated`). The estimator is not changed; to use the result, call `set_params(priors=found.priors)`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Unlabelled rows from the distribution for which decisions are needed.

        Returns
        -------
        found : PriorShift
            `priors` with `standard_errors`, the p-value of a likelihood ratio test against the trained priors, and a
            certificate; `sentence()` summarises it in words.
        """
        trained = self._trained_priors()
        return estimate_priors(log_probabilities(self._fitted, X), trained, self.classes_)

    def choose_threshold(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        false_positive_rate: float | None = None,
        confidence: float | None = None,
    ) -> Threshold:
        """Choose a threshold for the probability of the second of two classes, on rows not used for training.

        The estimator is not changed; to use the result, call `set_params(threshold=found.value)`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that the model was not fitted on.
        y : array-like of shape (n_samples,)
            True classes of the rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in costs and shares. The bound on a rate counts rows and ignores their weights.
        false_positive_rate : float, default=None
            If given, return the lowest threshold that calls at most this share of the rows of the first class positive
            (Neyman and Pearson); by default the threshold minimises the average cost.
        confidence : float, default=None
            The probability with which the rate is kept; by default it is kept on average.

        Returns
        -------
        found : Threshold
            `value`, its costs and rates on these rows, and the guarantee for new rows.
        """
        self._rule()
        costs, p = make_cost_matrix(self.costs, self.classes_, self.actions), self.predict_proba(X)
        codes, weight = self._check_labelled(p, y, sample_weight)
        return find_threshold(p, codes, costs, weight, rate=false_positive_rate, confidence=confidence)

    def explain(self) -> str:
        """Describe the decision rule in words.

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
        return "\n".join(explain_decision(self, self._rule(), self._changed_priors()))

    def _rule(self) -> DecisionRule:
        self._validate_params()  # a fitted model needs no `fit`, which would have done so
        if self.priors is not None:
            check_priors(self.priors, self.classes_)
        return DecisionRule.of(self)

    def _changed_priors(self) -> tuple[Array, Array] | None:
        """Return the trained and the new priors; None if no new priors are given."""
        if self.priors is None:
            return None
        return self._trained_priors(), check_priors(self.priors, self.classes_)

    def _trained_priors(self) -> Array:
        return find_trained_priors(self._fitted, self.trained_priors, getattr(self, "_shares", None))

    def _check_labelled(self, p: Array, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Return the class codes and the weights of labelled rows."""
        labels, weight = _check_labels(p, y, sample_weight)
        return encode_known_classes(labels, self.classes_), np.ones(len(p)) if weight is None else weight


def _check_labels(p: Array, y: Any, sample_weight: Any) -> tuple[Array, Array | None]:
    """Return labels and weights; raise DataError unless there is one label for each row."""
    if len(labels := column_or_1d(y)) != len(p):
        raise DataError(f"X has {len(p)} rows and y {len(labels)} labels; give one label for each row.")
    return labels, check_weight(sample_weight, labels)


class DecisionRule(NamedTuple):
    """The parameters of a `Decision`, checked against the classes of its model."""

    #: costs of all actions; the last action is rejection if rows may be rejected
    costs: Costs
    has_rejection: bool
    #: rows whose most probable class has a lower probability are rejected
    reject_below: float
    threshold: float | None
    #: whether the columns of the costs are the classes and every mistake costs 1
    is_zero_one: bool

    @classmethod
    def of(cls, decision: Decision) -> DecisionRule:
        """Return the rule of a decision; raise CostError for parameters that do not fit the classes."""
        classes, threshold = decision.classes_, decision.threshold
        costs = make_cost_matrix(decision.costs, classes, decision.actions)
        if threshold is not None:
            _check_costs_of_threshold(threshold, costs)
        has_rejection = decision.reject is not None or decision.reject_below is not None
        if has_rejection:
            costs = add_rejection(costs, classes, decision.reject, decision.reject_label)
        is_zero_one = decision.costs is None and decision.actions is None
        return cls(costs, has_rejection, decision.reject_below or 0.0, threshold, is_zero_one)

    def expected_costs(self, p: Array) -> Array:
        """Return the expected cost of each action (column) for each row; NaN for rejection without a cost."""
        values = self.costs.values
        if np.isinf(values).any():
            return np.column_stack([p @ values[:, :-1], np.full(len(p), np.nan)])
        return np.asarray(p @ values)

    def choose_columns(self, p: Array) -> Array:
        """Return the column of the chosen action for each row; the first of equally good ones."""
        expected = self.expected_costs(p)
        without_rejection = expected[:, :-1] if self.has_rejection else expected
        if self.threshold is not None:
            chosen = (p[:, 1] > self.threshold).astype(np.intp)
        elif self.is_zero_one:
            chosen = p.argmax(axis=1)  # the minimum of 1 − p, without the loss of its last digits
        else:
            chosen = without_rejection.argmin(axis=1)
        if not self.has_rejection:
            return chosen
        with np.errstate(invalid="ignore"):
            is_dearer = expected[:, -1] < without_rejection[np.arange(len(p)), chosen]
        return np.where(is_dearer | (p.max(axis=1) < self.reject_below), expected.shape[1] - 1, chosen)


def _check_costs_of_threshold(threshold: float, costs: Costs) -> None:
    """Raise CostError unless there are two classes and two actions, the second one for the second class."""
    if costs.values.shape != (2, 2):
        raise CostError(
            f"threshold={threshold:g} cuts the probability of the second of two classes, but there are "
            f"{costs.values.shape[0]} classes and {costs.values.shape[1]} actions; give costs instead."
        )
    implied_threshold(costs)


def explain_decision(decision: Decision, rule: DecisionRule, priors: tuple[Array, Array] | None) -> list[str]:
    """Return sentences about the rule: where each action is chosen, which never is, and the effect of new priors."""
    costs, classes = rule.costs, decision.classes_
    priced = _drop_unpriced_rejection(costs)
    if decision.threshold is not None:
        first, second = map(quoted, costs.actions.tolist()[:2])
        lines = [f"{second} where p({classes[1]}) is above {decision.threshold:.3g}, else {first}."]
    elif len(classes) == 2:
        lines = _describe_two_classes(priced, classes)
    else:
        lines = _describe_more_classes(priced, classes, named=not rule.is_zero_one)
    lines += _describe_rejection(decision, rule)
    lines += _describe_dominated_actions(priced)
    return lines if priors is None else lines + _describe_priors(decision, priced, *priors)


def _drop_unpriced_rejection(costs: Costs) -> Costs:
    """Return the costs without a rejection that has no cost."""
    finite = np.isfinite(costs.values).all(axis=0)
    return Costs(costs.values[:, finite], costs.actions[finite])


def _describe_two_classes(costs: Costs, classes: Array) -> list[str]:
    """Return sentences about the action chosen as the probability of the second class grows."""
    ranges = find_ranges(costs)
    if len(ranges) == 1:
        return [f"Always {quoted(ranges[0].action)}: no other action is cheaper at any probability."]
    second = classes[1]
    parts = [f"{quoted(ranges[0].action)} where p({second}) is at most {ranges[0].high:.3g}"]
    parts += [f"{quoted(each.action)} up to {each.high:.3g}" for each in ranges[1:-1]]
    parts.append(f"{quoted(ranges[-1].action)} above {ranges[-1].low:.3g}")
    return [f"{', '.join(parts)}.", f"Costs: {_describe_costs(costs, classes)}."]


def _describe_costs(costs: Costs, classes: Array) -> str:
    """Return the costs in words, row by row."""
    words = []
    for row, label in enumerate(classes.tolist()):
        for column, action in enumerate(costs.actions.tolist()):
            cost = costs.values[row, column]
            if action != label or cost != 0:
                words.append(f"{quoted(action)} for {quoted(label)} {cost:g}")
    return ", ".join(words[: 2 * MAX_COST_PAIRS])


def _describe_more_classes(costs: Costs, classes: Array, *, named: bool) -> list[str]:
    """Return sentences about the rule for three or more classes."""
    if not named:
        return ["The most probable class: every mistake costs the same."]
    worst = np.argsort(costs.values, axis=None)[::-1][:3]
    named_costs = [
        f"{quoted(costs.actions.tolist()[a])} for {quoted(classes.tolist()[k])} costs {costs.values[k, a]:g}"
        for k, a in zip(*np.unravel_index(worst, costs.values.shape), strict=True)
    ]
    rule = f"The action with the least expected cost, of {len(costs.actions)} for {len(classes)} classes."
    return [rule, f"The dearest: {', '.join(named_costs)}."]


def _describe_rejection(decision: Decision, rule: DecisionRule) -> list[str]:
    """Return sentences about where rows are rejected."""
    if not rule.has_rejection:
        return []
    label, lines = quoted(rule.costs.actions.tolist()[-1]), []
    if decision.reject is not None:
        price = rule.costs.values[:, -1]
        many = f"{price[0]:g}" if (price == price[0]).all() else f"{price.min():g} to {price.max():g}"
        lines.append(f"{label} where every other action is expected to cost more than {many}.")
        if rule.is_zero_one and (price == price[0]).all():
            lines.append(f"That is where no class has a probability of {1 - price[0]:.3g} or more.")
    if decision.reject_below is not None:
        lines.append(f"{label} where no class has a probability of {decision.reject_below:.3g} or more.")
    return lines


def _describe_dominated_actions(costs: Costs) -> list[str]:
    """Return a sentence for each action that is never the best one."""
    return [
        f"{quoted(action)} is never cheaper than all others, whatever the row."
        for action in find_dominated_actions(costs)
    ]


def _describe_priors(decision: Decision, costs: Costs, trained: Array, priors: Array) -> list[str]:
    """Return sentences about new priors, and the threshold that they imply for the model's own probabilities."""
    both = zip(decision.classes_.tolist(), priors, trained, strict=True)
    words = ", ".join(f"{quoted(label)} {new:.3g} instead of {old:.3g}" for label, new, old in both)
    lines = [f"Probabilities are those under other priors than the model was trained with: {words}."]
    if len(priors) == 2 and len(ranges := find_ranges(costs)) == 2 and decision.threshold is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = ranges[1].low / (1 - ranges[1].low) * (trained[1] / trained[0]) * (priors[0] / priors[1])
        model_threshold = odds / (1 + odds) if np.isfinite(odds) else 1.0
        lines.append(f"For the model's own p({decision.classes_[1]}) that is a threshold of {model_threshold:.3g}.")
    return lines
