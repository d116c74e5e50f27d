"""Cost matrices of classes and actions, and the action that they make best at given probabilities.

Rejecting a row is one more action, the last column of the matrix.
"""

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

#: probabilities that differ by less count as equal
PROBABILITY_TOLERANCE = 1e-12


@stored(values=reals("ak"), actions=values("a"))
class Costs(NamedTuple):
    """A cost for each true class (row) and action (column)."""

    values: Array
    actions: Array


@stored()
class Range(NamedTuple):
    """An interval of the probability of the second of two classes in which an action is the cheapest."""

    action: Any
    low: float
    high: float


def make_cost_matrix(costs: Any, classes: Array, actions: Any = None) -> Costs:
    """Return the costs as a matrix, and the actions in the order of its columns.

    Parameters
    ----------
    costs : None, array-like of shape (n_classes, n_actions), mapping or frame
        With None a wrong class costs 1 and the right one 0. A mapping has for each true class a mapping from actions to
        costs, in which the right class may be omitted: it costs 0. A frame has a column for each action; the classes
        are its index or a column of text, or else in the order of `classes`.
    classes : array of shape (n_classes,)
        Labels of the classes.
    actions : array-like of shape (n_actions,), default=None
        Names of the columns of an array if they are not the classes.

    Examples
    --------
    >>> make_cost_matrix({"ill": {"well": 10}, "well": {"ill": 1}}, np.array(["ill", "well"])).values
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    if costs is None:
        return _zero_one_costs(classes, actions)
    if isinstance(costs, Mapping):
        return _costs_of_mapping(costs, classes, actions)
    if (names := _frame_columns(costs)) is not None:
        return _costs_of_frame(costs, names, classes, actions)
    try:
        values = np.asarray(costs, dtype=float)
    except (TypeError, ValueError):
        raise CostError(f"costs must be numbers, one for each class and action. Got {quoted(costs)}.") from None
    return _costs_of_array(values, classes, actions)


def _zero_one_costs(classes: Array, actions: Any) -> Costs:
    """Return costs of 1 for a wrong class. Actions that are not classes stand for the classes one by one."""
    labels = classes.tolist()
    if actions is None or not all(action in labels for action in actions):
        return _costs_of_array(1.0 - np.eye(len(classes)), classes, actions)
    names = list(actions)
    values = np.array([[float(action != label) for action in names] for label in labels])
    return _check_costs(Costs(values.reshape(len(labels), len(names)), _label_array(names, classes)), classes)


def _frame_columns(costs: Any) -> list[Any] | None:
    """Return the names of the columns of a frame, which need not be strings; None if there are none."""
    return list(costs.columns) if hasattr(costs, "iloc") else names_of(costs)


def _costs_of_array(values: Array, classes: Array, actions: Any) -> Costs:
    if values.ndim != 2 or len(values) != len(classes):
        raise CostError(
            f"costs has the shape {values.shape}, but there are {len(classes)} classes ({_quote_first(classes)}): "
            "give a row for each true class and a column for each action."
        )
    if actions is None and values.shape[1] != len(classes):
        raise CostError(
            f"costs has {values.shape[1]} columns for {len(classes)} classes: name the actions of these columns with "
            "actions=[…]."
        )
    names = classes if actions is None else _label_array(list(actions), classes)
    if len(names) != values.shape[1]:
        raise CostError(f"there are {len(names)} actions, but costs has {values.shape[1]} columns; name each once.")
    return _check_costs(Costs(values, names), classes)


def _costs_of_mapping(costs: Mapping[Any, Any], classes: Array, actions: Any) -> Costs:
    labels = classes.tolist()
    _check_known(costs, labels, "class")
    rows = [_mapping_row(costs, label) for label in labels]
    if actions is None:
        named = list(dict.fromkeys(action for row in rows for action in row))
        actions = [*labels, *(a for a in named if a not in labels)] if set(named) & set(labels) else named
    actions = list(actions)
    for row in rows:
        _check_known(row, actions, "action")
    values = np.array(
        [[_mapping_cost(row, label, action) for action in actions] for row, label in zip(rows, labels, strict=True)]
    )
    return _check_costs(Costs(values, _label_array(actions, classes)), classes)


def _mapping_row(costs: Mapping[Any, Any], label: Any) -> Mapping[Any, Any]:
    row = costs.get(label, {})
    if not isinstance(row, Mapping):
        raise CostError(
            f"costs of the class {quoted(label)} must be a mapping from actions to costs, such as "
            f"{{{quoted(label)}: {{action: cost}}}}. Got {row!r}."
        )
    return row


def _mapping_cost(row: Mapping[Any, Any], label: Any, action: Any) -> float:
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
        f"costs has no cost for the action {quoted(action)} where the class is {quoted(label)}; add "
        f"{{{quoted(label)}: {{{quoted(action)}: …}}}}."
    )


def _costs_of_frame(costs: Any, names: list[Any], classes: Array, actions: Any) -> Costs:
    table = Table.of(costs)
    text = [j for j, kind in enumerate(table.kinds) if not kind.numeric]
    numbers = [j for j in range(table.n_columns) if j not in text]
    values = np.asarray(table.numbers(numbers), dtype=float)
    labels = classes.tolist()
    if text:
        coded = table.coded(text[0])
        rows = coded.labels[coded.codes].tolist()
    else:
        rows = _row_labels(costs, labels)
    _check_known(rows, labels, "class")
    if sorted(map(rows.count, labels)) != [1] * len(labels) or len(rows) != len(values):
        raise CostError(f"costs has {len(values)} rows; give one for each of the classes {_quote_first(classes)}.")
    order = [rows.index(label) for label in labels]
    action_names = [names[j] for j in numbers]
    # names of columns are strings in polars
    if actions is None and set(map(str, action_names)) == set(map(str, labels)):
        at = {str(name): j for j, name in enumerate(action_names)}
        return _check_costs(Costs(values[np.ix_(order, [at[str(label)] for label in labels])], classes), classes)
    return _costs_of_array(values[order], classes, action_names if actions is None else actions)


def _row_labels(costs: Any, labels: list[Any]) -> list[Any]:
    """Return the classes of the rows: the index of a frame if it holds classes, else the classes in order."""
    index = getattr(costs, "index", None)
    if index is None or callable(index):
        return labels
    rows = list(index)
    numbered = rows == list(range(len(rows))) and set(rows) != set(labels)
    return labels if numbered or not set(rows) & set(labels) else rows


def _label_array(actions: list[Any], classes: Array) -> Array:
    """Return the actions as an array, with the type of the classes if all of them are classes."""
    if len(set(map(str, actions))) < len(actions):
        raise CostError(f"two actions have the same name: {', '.join(map(quoted, actions))}.")
    if all(action in classes.tolist() for action in actions):
        return np.array(actions, dtype=classes.dtype)
    same = len({type(action) for action in actions}) == 1
    return np.array(actions) if same else np.array(actions, dtype=object)


def _check_costs(costs: Costs, classes: Array) -> Costs:
    if not costs.values.shape[1]:
        raise CostError("costs has no columns; give one for each action.")
    if (bad := ~np.isfinite(costs.values)).any():
        row, column = np.argwhere(bad)[0]
        raise CostError(
            f"the cost of the action {quoted(costs.actions.tolist()[column])} for the class "
            f"{quoted(classes.tolist()[row])} is {costs.values[row, column]}; give a number, a large one for "
            "mistakes that must not happen."
        )
    return costs


def _check_known(names: Any, known: list[Any], what: str) -> None:
    if unknown := [name for name in names if name not in known]:
        meant = did_you_mean(str(unknown[0]), map(str, known))
        raise CostError(f"costs names the {what} {quoted(unknown[0])}, which does not exist. {meant}")


def _quote_first(labels: Array) -> str:
    shown = ", ".join(map(quoted, labels.tolist()[:5]))
    return f"{shown}, …" if len(labels) > 5 else shown


def find_ranges(costs: Costs) -> list[Range]:
    """Return, for two classes, the cheapest action at each probability of the second class, as intervals from 0 to 1.

    The expected cost of an action is linear in the probability; the cheapest actions form the lower envelope of these
    lines. Among actions of equal cost the first is taken.
    """
    ranges: list[Range] = []
    edges = np.unique(np.clip(np.append(_crossings(costs.values), [0.0, 1.0]), 0.0, 1.0))
    for low, high in pairwise(edges):
        middle = (low + high) / 2
        best = int(np.argmin((1 - middle) * costs.values[0] + middle * costs.values[1]))
        action = costs.actions.tolist()[best]
        if ranges and ranges[-1].action == action:
            ranges[-1] = ranges[-1]._replace(high=float(high))
        elif high - low > PROBABILITY_TOLERANCE:
            ranges.append(Range(action, float(low), float(high)))
    return ranges


def _crossings(values: Array) -> Array:
    """Return the probabilities of the second class at which two actions cost the same."""
    first, second = values
    at_none = first[:, None] - first
    change = at_none - (second[:, None] - second)
    crosses = change != 0
    p = at_none[crosses] / change[crosses]
    return np.asarray(p[(p > 0) & (p < 1)])


def implied_threshold(costs: Costs) -> float:
    """Return, for two classes and two actions, the p(second class) above which the second action is the cheaper one."""
    ranges = find_ranges(costs)
    first, second = costs.actions.tolist()
    if [each.action for each in ranges] == [first, second]:
        return ranges[1].low
    if [each.action for each in ranges] == [first]:
        return 1.0
    if [each.action for each in ranges] == [second]:
        return 0.0
    raise CostError(
        f"the action {quoted(second)} gets cheaper as its class gets less probable: these costs imply no threshold. "
        "Check whether rows (true classes) and columns (actions) are exchanged, and whether the actions are in the "
        "order of the classes."
    )


def find_dominated_actions(costs: Costs) -> list[Any]:
    """Return the actions that are not cheaper than all others for any probabilities of the classes."""
    values, names = costs.values, costs.actions.tolist()
    return [
        names[a] for a in range(len(names)) if len(names) > 1 and _least_regret(values, a) >= -PROBABILITY_TOLERANCE
    ]


def _least_regret(values: Array, action: int) -> float:
    """Return min over p of the action's cost minus that of the cheapest other action, relative to the largest cost.

    It is negative if the action is the best one for some p. A linear program finds it.
    """
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


def add_rejection(costs: Costs, classes: Array, price: Any, label: Any) -> Costs:
    """Return the costs with a last column for rejection, infinite if rejection has no cost.

    Parameters
    ----------
    costs : Costs
        Costs of the other actions.
    classes : array of shape (n_classes,)
        Labels of the classes.
    price : None, float, array-like of shape (n_classes,) or mapping
        Cost of rejecting a row.
    label : object
        Name of rejection; if None, "reject" among text and −1 among numbers.
    """
    column = np.full(len(classes), np.inf) if price is None else _rejection_prices(price, classes)
    label = _default_reject_label(costs.actions) if label is None else label
    if label in costs.actions.tolist():
        raise CostError(
            f"an action has the name {quoted(label)}, which is the label of rejected rows; give another reject_label."
        )
    names = [*costs.actions.tolist(), label]
    same = len({type(name) for name in names}) == 1
    return Costs(np.column_stack([costs.values, column]), np.array(names, dtype=None if same else object))


def _default_reject_label(actions: Array) -> Any:
    """Return −1 in the numeric type of the actions, which thus keep their type, or "reject" for text."""
    return (
        actions.dtype.type(-1).item() if actions.dtype.kind in "if" else -1 if actions.dtype.kind == "u" else "reject"
    )


def _rejection_prices(price: Any, classes: Array) -> Array:
    if isinstance(price, dict):
        if unknown := [label for label in classes.tolist() if label not in price]:
            raise CostError(f"reject has no cost for the class {quoted(unknown[0])}; add it.")
        price = [price[label] for label in classes.tolist()]
    try:
        prices = np.broadcast_to(np.asarray(price, dtype=float), classes.shape)
    except (TypeError, ValueError):
        raise CostError(f"reject must be one cost, or one for each of {len(classes)} classes; got {price!r}.") from None
    if not np.isfinite(prices).all():
        raise CostError(f"reject must be finite; got {price!r}.")
    return prices
