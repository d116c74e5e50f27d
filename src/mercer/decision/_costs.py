"""Rejection: to decide nothing, as one more action."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from mercer._errors import CostError
from mercer._stored import reals, stored, values
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.data.select import names_of
from mercer.data.table import Table

# What each action costs for each true class, and which action that makes best where.

#: probabilities that differ by less are the same
SAME = 1e-12


@stored(values=reals("ak"), actions=values("a"))
class Costs(NamedTuple):
    """A cost for each true class (row) and action (column)."""

    values: Array
    actions: Array

    def of(self, codes: Array, chosen: Array) -> Array:
        """What was paid: the cost of the chosen action of each row, whose class is known."""
        return np.asarray(self.values[codes, chosen])


@stored()
class Range(NamedTuple):
    """Probabilities of the second of two classes for which an action is the cheapest."""

    action: Any
    low: float
    high: float


def cost_matrix(costs: Any, classes: Array, actions: Any = None) -> Costs:
    """Costs as a matrix, and the actions in the order of its columns.

    Parameters
    ----------
    costs : None, array-like of shape (n_classes, n_actions), mapping or frame
        None is 1 for a wrong class and 0 for the right one. A mapping has for each true class a mapping from actions to
        costs, in which the right class may be left out: it costs nothing. A frame has a column for each action; the
        classes are its index, or a column of text, or else in the order of `classes`.
    classes : array of shape (n_classes,)
        Labels of the classes.
    actions : array-like of shape (n_actions,), default=None
        Names of the columns of an array, if they are not the classes.

    Examples
    --------
    >>> cost_matrix({"ill": {"well": 10}, "well": {"ill": 1}}, np.array(["ill", "well"])).values
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    if costs is None:
        return _without_costs(classes, actions)
    if isinstance(costs, Mapping):
        return _by_label(costs, classes, actions)
    if (names := _columns(costs)) is not None:
        return _of_frame(costs, names, classes, actions)
    try:
        values = np.asarray(costs, dtype=float)
    except (TypeError, ValueError):
        raise CostError(f"costs must be numbers, one for each class and action. Got {quoted(costs)}.") from None
    return _named(values, classes, actions)


def _without_costs(classes: Array, actions: Any) -> Costs:
    """A wrong class costs 1. Actions that are no classes stand for them one by one."""
    labels = classes.tolist()
    if actions is None or not all(action in labels for action in actions):
        return _named(1.0 - np.eye(len(classes)), classes, actions)
    names = list(actions)
    values = np.array([[float(action != label) for action in names] for label in labels])
    return _checked(Costs(values.reshape(len(labels), len(names)), _labels(names, classes)), classes)


def _columns(costs: Any) -> list[Any] | None:
    """Names of the columns of a frame, which need not be strings."""
    return list(costs.columns) if hasattr(costs, "iloc") else names_of(costs)


def _named(values: Array, classes: Array, actions: Any) -> Costs:
    if values.ndim != 2 or len(values) != len(classes):
        raise CostError(
            f"costs has the shape {values.shape}, but there are {len(classes)} classes ({_few(classes)}): give a row "
            "for each true class and a column for each action."
        )
    if actions is None and values.shape[1] != len(classes):
        raise CostError(
            f"costs has {values.shape[1]} columns for {len(classes)} classes: say what these actions are called, with "
            "actions=[…]."
        )
    names = classes if actions is None else _labels(list(actions), classes)
    if len(names) != values.shape[1]:
        raise CostError(f"there are {len(names)} actions, but costs has {values.shape[1]} columns; name each once.")
    return _checked(Costs(values, names), classes)


def _by_label(costs: Mapping[Any, Any], classes: Array, actions: Any) -> Costs:
    labels = classes.tolist()
    _refuse_unknown(costs, labels, "class")
    rows = [_row(costs, label) for label in labels]
    if actions is None:
        named = list(dict.fromkeys(action for row in rows for action in row))
        actions = [*labels, *(a for a in named if a not in labels)] if set(named) & set(labels) else named
    actions = list(actions)
    for row in rows:
        _refuse_unknown(row, actions, "action")
    values = np.array(
        [[_cell(row, label, action) for action in actions] for row, label in zip(rows, labels, strict=True)]
    )
    return _checked(Costs(values, _labels(actions, classes)), classes)


def _row(costs: Mapping[Any, Any], label: Any) -> Mapping[Any, Any]:
    row = costs.get(label, {})
    if not isinstance(row, Mapping):
        raise CostError(
            f"costs of the class {quoted(label)} must be a mapping from actions to costs, such as "
            f"{{{quoted(label)}: {{action: cost}}}}. Got {row!r}."
        )
    return row


def _cell(row: Mapping[Any, Any], label: Any, action: Any) -> float:
    if action in row:
        try:
            return float(row[action])
        except (TypeError, ValueError):
            raise CostError(
                f"the cost of the action {quoted(action)} for the class {quoted(label)} must be a number. Got "
                f"{row[action]!r}."
            ) from None
    if action == label:
        return 0.0
    raise CostError(
        f"costs does not say what the action {quoted(action)} costs where the class is {quoted(label)}; add "
        f"{{{quoted(label)}: {{{quoted(action)}: …}}}}."
    )


def _of_frame(costs: Any, names: list[Any], classes: Array, actions: Any) -> Costs:
    table = Table.of(costs)
    text = [j for j, kind in enumerate(table.kinds) if not kind.numeric]
    numbers = [j for j in range(table.n_columns) if j not in text]
    values = np.asarray(table.numbers(numbers), dtype=float)
    labels = classes.tolist()
    if text:
        coded = table.coded(text[0])
        rows = coded.labels[coded.codes].tolist()
    else:
        rows = _index_of(costs, labels)
    _refuse_unknown(rows, labels, "class")
    if sorted(map(rows.count, labels)) != [1] * len(labels) or len(rows) != len(values):
        raise CostError(f"costs has {len(values)} rows; give one for each of the classes {_few(classes)}.")
    order = [rows.index(label) for label in labels]
    found = [names[j] for j in numbers]
    if actions is None and set(map(str, found)) == set(map(str, labels)):  # names of columns are strings in polars
        at = {str(name): j for j, name in enumerate(found)}
        return _checked(Costs(values[np.ix_(order, [at[str(label)] for label in labels])], classes), classes)
    return _named(values[order], classes, found if actions is None else actions)


def _index_of(costs: Any, labels: list[Any]) -> list[Any]:
    """The classes of the rows, by the index of a frame if it speaks of them; numbers of rows do not."""
    index = getattr(costs, "index", None)
    if index is None or callable(index):
        return labels
    rows = list(index)
    numbered = rows == list(range(len(rows))) and set(rows) != set(labels)
    return labels if numbered or not set(rows) & set(labels) else rows


def _labels(actions: list[Any], classes: Array) -> Array:
    """Names as an array: of the type of the classes if they are the classes."""
    if len(set(map(str, actions))) < len(actions):
        raise CostError(f"two actions are called the same: {', '.join(map(quoted, actions))}.")
    if all(action in classes.tolist() for action in actions):
        return np.array(actions, dtype=classes.dtype)
    same = len({type(action) for action in actions}) == 1
    return np.array(actions) if same else np.array(actions, dtype=object)


def _checked(costs: Costs, classes: Array) -> Costs:
    if not costs.values.shape[1]:
        raise CostError("there is no action to choose; give costs a column for each.")
    if (bad := ~np.isfinite(costs.values)).any():
        row, column = np.argwhere(bad)[0]
        raise CostError(
            f"the cost of the action {quoted(costs.actions.tolist()[column])} for the class "
            f"{quoted(classes.tolist()[row])} is {costs.values[row, column]}; give a number, a large one for what "
            "must not happen."
        )
    return costs


def _refuse_unknown(names: Any, known: list[Any], what: str) -> None:
    if unknown := [name for name in names if name not in known]:
        meant = did_you_mean(str(unknown[0]), map(str, known))
        raise CostError(f"costs names the {what} {quoted(unknown[0])}, but there is none of this name. {meant}")


def _few(labels: Array) -> str:
    shown = ", ".join(map(quoted, labels.tolist()[:5]))
    return f"{shown}, …" if len(labels) > 5 else shown


# Which action is best where.


def ranges(costs: Costs) -> list[Range]:
    """For two classes: the action that is the cheapest at each probability of the second class, from 0 to 1.

    The expected cost of an action is a line in the probability; the cheapest are their lower envelope. Of actions that
    cost the same the first is taken.
    """
    found: list[Range] = []
    edges = np.unique(np.clip(np.append(_crossings(costs.values), [0.0, 1.0]), 0.0, 1.0))
    for low, high in pairwise(edges):
        middle = (low + high) / 2
        best = int(np.argmin((1 - middle) * costs.values[0] + middle * costs.values[1]))
        action = costs.actions.tolist()[best]
        if found and found[-1].action == action:
            found[-1] = found[-1]._replace(high=float(high))
        elif high - low > SAME:
            found.append(Range(action, float(low), float(high)))
    return found


def _crossings(values: Array) -> Array:
    """Probabilities of the second class at which two actions cost the same."""
    first, second = values
    at_none = first[:, None] - first
    change = at_none - (second[:, None] - second)
    crosses = change != 0
    p = at_none[crosses] / change[crosses]
    return np.asarray(p[(p > 0) & (p < 1)])


def implied_threshold(costs: Costs) -> float:
    """For two classes and two actions, p(second class) above which the second action is the cheaper one."""
    found = ranges(costs)
    first, second = costs.actions.tolist()
    if [each.action for each in found] == [first, second]:
        return found[1].low
    if [each.action for each in found] == [first]:
        return 1.0
    if [each.action for each in found] == [second]:
        return 0.0
    raise CostError(
        f"the action {quoted(second)} gets cheaper as its class gets less probable: no threshold goes with these "
        "costs. Look at whether rows (true classes) and columns (actions) are exchanged, or the actions are not in "
        "the order of the classes."
    )


def never_best(costs: Costs) -> list[Any]:
    """Actions that no probabilities of the classes make cheaper than all others."""
    values, names = costs.values, costs.actions.tolist()
    return [names[a] for a in range(len(names)) if len(names) > 1 and _least_regret(values, a) >= -SAME]


def _least_regret(values: Array, action: int) -> float:
    """min over p of how much more than the cheapest other one the action costs; below 0 if it is the best somewhere."""
    K, others = len(values), np.delete(values, action, axis=1)
    scale = max(float(np.abs(values).max()), np.finfo(float).tiny)
    # minimise t subject to  p·(own − other) ≤ t for each other action
    constraints = np.column_stack([(values[:, [action]] - others).T / scale, -np.ones(others.shape[1])])
    solved = linprog(
        np.append(np.zeros(K), 1.0),
        A_ub=constraints,
        b_ub=np.zeros(len(constraints)),
        A_eq=np.append(np.ones(K), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, 1)] * K + [(None, None)],
    )
    return float(np.asarray(solved.x)[-1])


def with_rejection(costs: Costs, classes: Array, price: Any, label: Any) -> Costs:
    """Costs with a last column for rejection: infinite where it has no price.

    Parameters
    ----------
    costs : Costs
        Of the other actions.
    classes : array of shape (n_classes,)
        Labels of the classes.
    price : None, float, array-like of shape (n_classes,) or mapping
        What rejecting costs.
    label : object
        What rejection is called; if None, "reject" among text and −1 among numbers.
    """
    column = np.full(len(classes), np.inf) if price is None else _prices(price, classes)
    label = _label(costs.actions) if label is None else label
    if label in costs.actions.tolist():
        raise CostError(f"an action is called {quoted(label)}, as rejected rows are; give another reject_label.")
    names = [*costs.actions.tolist(), label]
    same = len({type(name) for name in names}) == 1
    return Costs(np.column_stack([costs.values, column]), np.array(names, dtype=None if same else object))


def _label(actions: Array) -> Any:
    """−1 as a number like the actions, so that they keep their type."""
    return (
        actions.dtype.type(-1).item() if actions.dtype.kind in "if" else -1 if actions.dtype.kind == "u" else "reject"
    )


def _prices(price: Any, classes: Array) -> Array:
    if isinstance(price, dict):
        if unknown := [label for label in classes.tolist() if label not in price]:
            raise CostError(f"reject does not say what rejecting costs where the class is {quoted(unknown[0])}.")
        price = [price[label] for label in classes.tolist()]
    try:
        prices = np.broadcast_to(np.asarray(price, dtype=float), classes.shape)
    except (TypeError, ValueError):
        raise CostError(
            f"reject is what rejecting costs: one number, or one for each of {len(classes)} classes; got {price!r}."
        ) from None
    if not np.isfinite(prices).all():
        raise CostError(f"reject must be numbers; got {price!r}.")
    return prices
