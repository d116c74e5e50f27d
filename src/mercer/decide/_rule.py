"""By which rule probabilities become actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mercer._errors import CostError
from mercer._typing import Array
from mercer.decide.costs import Costs, cost_matrix, implied_threshold
from mercer.decide.rejection import with_rejection

if TYPE_CHECKING:
    from mercer.decide.decision import Decision


class Rule(NamedTuple):
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
    def of(cls, decision: Decision) -> Rule:
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
