"""Rejection: to decide nothing, as one more action."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import CostError
from mercer._suggest import quoted
from mercer._typing import Array
from mercer.decide.costs import Costs


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
