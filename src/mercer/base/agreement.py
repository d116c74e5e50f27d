"""Checks before what two models, or a model and a batch, have learnt is combined, and classes that appear later."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, MergeError, PrecisionWarning
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.validation import column_names

#: decimal digits of float64
FLOAT64_DIGITS = 15.65
#: digits of the variances that must remain after `forget`, or a warning is due
ENOUGH_VARIANCE_DIGITS = 9.0


def check_announced_classes(classes: Any, known: Array | None) -> Array:
    """Return all classes that can appear, as announced to `partial_fit`; raise if they differ from those `known`."""
    announced: Array = unique_labels(classes)
    if known is not None and not np.array_equal(announced, known):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}. Leave classes out "
            "after the first call, or start a new model."
        )
    return announced


def check_labels_announced(labels: Array, known: Array) -> None:
    """Raise if a batch has labels that were not announced."""
    if not (allowed := np.isin(labels, known)).all():
        raise DataError(
            f"The target label(s) {labels[~allowed]} in y do not exist in the initial classes {known}. "
            "Name every class in the first call to partial_fit."
        )


def check_label_types(labels: Array, known: Array) -> None:
    """Raise if some labels are text and others numbers: together all would be text, and class 1 would become '1'."""
    # compare the labels, not the types of arrays: an array of objects may hold either
    label, learnt = labels.tolist()[0], known.tolist()[0]
    if any(isinstance(label, text) != isinstance(learnt, text) for text in (str, bytes)):
        raise DataError(
            f"y holds {label!r}, but the labels learnt before are such as {learnt!r}. Convert y to their type; a model "
            "has classes that are all text or all numbers."
        )


def check_same_class(mine: Any, other: Any) -> None:
    """Raise if two models to be merged are of different classes."""
    if type(other) is not type(mine):
        raise MergeError(
            f"cannot merge a {type(other).__name__} into a {type(mine).__name__}; both have to be models of mercer, of "
            "the same class."
        )


def check_same_parameters(mine: Any, other: Any) -> None:
    """Raise if two models to be merged have different parameters, so that their statistics have different meanings."""
    ours, theirs = mine.get_params(deep=False), other.get_params(deep=False)
    for name in ours:
        if not is_same_value(ours[name], theirs[name]):
            raise MergeError(
                f"cannot merge models of different {name}: {ours[name]!r} and {theirs[name]!r}; fit both alike."
            )


def is_same_value(a: Any, b: Any) -> bool:
    """Return whether two values of a parameter mean the same."""
    a, b = (x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in (a, b))
    if is_dataclass(a) and type(a) is type(b):  # its fields may be arrays, as those of a bandwidth
        return all(is_same_value(getattr(a, each.name), getattr(b, each.name)) for each in fields(a))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(is_same_value(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple | np.ndarray) and isinstance(b, list | tuple | np.ndarray):
        return len(a) == len(b) and all(map(is_same_value, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return a is b or bool(np.all(a == b))


def check_same_columns(mine: Any, other: Any) -> None:
    """Raise if two models to be merged are of different classes or have different columns."""
    check_same_class(mine, other)
    check_is_fitted(other)
    names, others = column_names(mine), column_names(other)
    if names != others:
        odd = sorted(set(names) ^ set(others)) or others
        raise MergeError(
            f"cannot merge models of different columns: they differ in {odd[:5]}; fit both on the same columns."
        )


def check_mergeable(mine: Any, other: Any, *, may_grow: bool) -> None:
    """Raise if two models differ in type, columns or classes; if classes `may_grow`, one common class is enough."""
    check_same_columns(mine, other)
    same = np.isin(other.classes_, mine.classes_)
    if not (same.any() if may_grow else np.array_equal(mine.classes_, other.classes_)):
        raise MergeError(
            f"cannot merge models of different classes: {mine.classes_} and {other.classes_}; "
            "announce all classes to both with partial_fit(..., classes=...)."
        )


def warn_of_lost_digits(factor: float) -> None:
    """Warn if a subtraction, whose result is smaller by a `factor`, has lost too many digits."""
    digits = max(0.0, FLOAT64_DIGITS - math.log10(factor))
    if digits < ENOUGH_VARIANCE_DIGITS:
        warn(
            f"the forgotten rows varied {factor:.0e} times more than what is left, so that only about "
            f"{math.floor(digits)} digits of the variances remain; refit on the remaining rows to get all digits back.",
            PrecisionWarning,
        )


def regrow_weights(weights: Array, known: Array, classes: Array) -> Array:
    """Return the weights (units, columns) for `classes`, given those for the `known` classes, which are fewer.

    For two classes there is one unit, that of the second; the weights of a unit for the first are its negative, since
    every rule treats both sides alike. A new class starts with weights of zero.
    """
    unit_of_each = np.concatenate([-weights, weights]) if len(known) == 2 else weights
    by_class = dict(zip(known.tolist(), unit_of_each, strict=True))
    blank = np.zeros(weights.shape[1])
    if len(classes) > 2:
        return np.array([by_class.get(label, blank) for label in classes.tolist()])
    first, last = classes[0], classes[-1]
    return np.array([by_class[last] if last in by_class else -by_class.get(first, blank)])
