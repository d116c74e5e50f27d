"""How a decision is made, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer._suggest import quoted
from mercer._typing import Array
from mercer.decide.costs import Costs, never_best, ranges

if TYPE_CHECKING:
    from mercer.decide._rule import Rule
    from mercer.decide.decision import Decision

#: pairs of classes whose costs are spelled out
MOST_PAIRS = 6


def explanation(decision: Decision, rule: Rule, priors: tuple[Array, Array] | None) -> list[str]:
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


def _rejection(decision: Decision, rule: Rule) -> list[str]:
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
