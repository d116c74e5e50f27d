"""The response of a GLM as numbers: counts and measurements as they are, labels as codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError, NonFiniteError, SupportError
from mercer._typing import Array
from mercer.data.labels import encode_labels
from mercer.families import Bernoulli, Categorical, Family


class Target(NamedTuple):
    """One number per row, and where they are codes of labels the labels."""

    values: Array
    classes: Array | None = None


def is_label_family(family: Family) -> bool:
    """Whether the response is one of several labels."""
    return isinstance(family, Bernoulli | Categorical)


def read_target(family: Family, y: Any, weight: Array | None = None) -> Target:
    """y as the family needs it; a typed error that names the first value that cannot be a response."""
    if is_label_family(family):
        return _labels(family, np.asarray(y), weight)
    values = read_numbers(y)
    family.refuse_response(values)
    return Target(values)


def read_numbers(y: Any) -> Array:
    """Finite numbers as float64."""
    given = np.asarray(y)
    if given.dtype.kind == "c":
        raise DataError("Complex data not supported: give the real and the imaginary part each a model of its own.")
    try:
        if given.dtype.kind in "US":
            raise TypeError
        values = given.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise DataError(
            f"y holds {given.ravel().tolist()[0]!r}, but the family describes numbers; convert y, or for labels use "
            'family="bernoulli" or "categorical".'
        ) from None
    if not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        what = "NaN" if np.isnan(values[row]) else f"infinity or a value too large for {values.dtype!r}"
        raise NonFiniteError(f"Input y contains {what}. It is {values[row]} in row {row}; drop the row.")
    return values


def _labels(family: Family, y: Array, weight: Array | None) -> Target:
    classes, codes = encode_labels(y)
    if weight is not None and len(classes) > 1:
        classes, codes = _of_weight(classes, codes, weight)
    refuse_classes(family, classes)
    return Target(codes.astype(np.float64), classes)


def refuse_classes(family: Family, classes: Array) -> None:
    """Raise where the family has not so many classes."""
    if len(classes) < 2:
        raise DataError(
            f"{type(family).__name__} needs 2 classes, but y holds only one class: {classes.tolist()[0]!r}. Add rows "
            "of another class; with one there is nothing to tell apart."
        )
    if isinstance(family, Bernoulli) and len(classes) > 2:
        raise SupportError(
            f"Only binary classification is supported by family='bernoulli', but y holds {len(classes)} labels, such "
            f"as {classes[:3].tolist()}. Use family='categorical'."
        )
    if isinstance(family, Categorical) and family.levels not in (None, len(classes)):
        raise SupportError(f"y holds {len(classes)} labels, but the family has {family.levels} levels; drop `levels`.")


def _of_weight(classes: Array, codes: Array, weight: Array) -> tuple[Array, Array]:
    """Without classes of which no row has any weight; such rows count for nothing, whatever their code."""
    seen = np.bincount(codes, weight, minlength=len(classes)) > 0
    places = np.where(seen, np.cumsum(seen) - 1, 0)
    return classes[seen], places[codes]
