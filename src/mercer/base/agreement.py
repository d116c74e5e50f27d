"""Units of classes while classes come to light: what was learnt for some is kept when there are more."""

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

# What must hold before what two models, or a model and a batch, have learnt is put together or taken apart.

#: decimal digits of float64, and how few may be left after forgetting before a warning is due
DIGITS, ENOUGH_DIGITS = 15.65, 9.0


def announced_classes(classes: Any, known: Array | None) -> Array:
    """All classes that can ever appear, as they were announced to `partial_fit`; no others than are `known` already."""
    announced: Array = unique_labels(classes)
    if known is not None and not np.array_equal(announced, known):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}. Leave classes out "
            "after the first call, or start a new model."
        )
    return announced


def refuse_new_classes(labels: Array, known: Array) -> None:
    """Labels of a batch must be among those announced."""
    if not (allowed := np.isin(labels, known)).all():
        raise DataError(
            f"The target label(s) {labels[~allowed]} in y do not exist in the initial classes {known}. "
            "Name every class in the first call to partial_fit."
        )


def refuse_labels_of_other_type(labels: Array, known: Array) -> None:
    """Text beside numbers would turn the numbers into text, so that class 1 would become class '1'."""
    # by the labels themselves: an array of objects may hold either
    label, learnt = labels.tolist()[0], known.tolist()[0]
    if any(isinstance(label, text) != isinstance(learnt, text) for text in (str, bytes)):
        raise DataError(
            f"y holds {label!r}, but the labels learnt before are such as {learnt!r}. Convert y to their type; a model "
            "has classes that are all text or all numbers."
        )


def refuse_other_class(mine: Any, other: Any) -> None:
    """Merging is for models of the same class."""
    if type(other) is not type(mine):
        raise MergeError(
            f"cannot merge a {type(other).__name__} into a {type(mine).__name__}; both have to be models of mercer, of "
            "the same class."
        )


def refuse_other_parameters(mine: Any, other: Any) -> None:
    """Models that would not have been fitted alike have learnt different things of their rows."""
    ours, theirs = mine.get_params(deep=False), other.get_params(deep=False)
    for name in ours:
        if not same_value(ours[name], theirs[name]):
            raise MergeError(
                f"cannot merge models of different {name}: {ours[name]!r} and {theirs[name]!r}; fit both alike."
            )


def same_value(a: Any, b: Any) -> bool:
    """Whether two parameters of an estimator mean the same."""
    a, b = (x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in (a, b))
    if is_dataclass(a) and type(a) is type(b):  # which may hold arrays, as a bandwidth does
        return all(same_value(getattr(a, each.name), getattr(b, each.name)) for each in fields(a))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple | np.ndarray) and isinstance(b, list | tuple | np.ndarray):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return a is b or bool(np.all(a == b))


def refuse_other_columns(mine: Any, other: Any) -> None:
    """Merging is for models of the same class and columns."""
    refuse_other_class(mine, other)
    check_is_fitted(other)
    names, others = column_names(mine), column_names(other)
    if names != others:
        odd = sorted(set(names) ^ set(others)) or others
        raise MergeError(
            f"cannot merge models of different columns: they differ in {odd[:5]}; fit both on the same columns."
        )


def refuse_stranger(mine: Any, other: Any, *, may_grow: bool) -> None:
    """Merging is for models of the same class, columns and classes (or some of the same, where they `may_grow`)."""
    refuse_other_columns(mine, other)
    same = np.isin(other.classes_, mine.classes_)
    if not (same.any() if may_grow else np.array_equal(mine.classes_, other.classes_)):
        raise MergeError(
            f"cannot merge models of different classes: {mine.classes_} and {other.classes_}; "
            "announce all classes to both with partial_fit(..., classes=...)."
        )


def warn_of_lost_digits(factor: float) -> None:
    """Forgetting is a subtraction: what is left is known to as many digits less as it is smaller."""
    digits = max(0.0, DIGITS - math.log10(factor))
    if digits < ENOUGH_DIGITS:
        warn(
            f"the forgotten rows varied {factor:.0e} times more than what is left, so that only about "
            f"{math.floor(digits)} digits of the variances remain; refit on the remaining rows to get all digits back.",
            PrecisionWarning,
        )


def regrown(weights: Array, known: Array, classes: Array) -> Array:
    """Weights (units, columns) of units for the `known` classes, as those of units for `classes`, which are more.

    Of two classes there is one unit, that of the second; minus its weights are those of a unit for the first, since
    every rule treats both sides alike. A class that is new starts with weights of zero.
    """
    by_class = dict(zip(known.tolist(), _one_each(weights, len(known)), strict=True))
    blank = np.zeros(weights.shape[1])
    if len(classes) > 2:
        return np.array([by_class.get(label, blank) for label in classes.tolist()])
    first, last = classes[0], classes[-1]
    return np.array([by_class[last] if last in by_class else -by_class.get(first, blank)])


def _one_each(weights: Array, classes: int) -> Array:
    return np.concatenate([-weights, weights]) if classes == 2 else weights
