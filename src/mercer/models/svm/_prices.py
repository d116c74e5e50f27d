"""What a support vector machine is to learn: weights of rows, classes it can tell apart, and what each costs."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from mercer._errors import DataError, NonFiniteError
from mercer._typing import Array
from mercer.models.comparisons import count


def row_weights(sample_weight: Any, X: Any) -> Array:
    """One for every row; as in libsvm, rows without a weight above 0 take no part."""
    n = count(X)
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as refusal:
        raise DataError(f"{refusal}: sample_weight must be numbers, one for each row.") from None
    if weight.shape != (n,):
        raise DataError(
            f"sample_weight and X have incompatible shapes: {weight.shape} vs {np.shape(X)}. Give one weight for "
            "each row."
        )
    if not (finite := np.isfinite(weight)).all():
        row = int(np.argmin(finite))
        raise NonFiniteError(f"Input sample_weight contains {weight[row]} in row {row}; give every row a number.")
    if not (weight > 0).any():
        raise DataError(
            "Invalid input - all samples have zero or negative weights. Give a weight above 0 to the rows to learn "
            "from."
        )
    return weight


def refuse_lost_classes(classes: Array, codes: Array) -> None:
    """Each must have rows, by their codes, that take part."""
    there = np.bincount(codes, minlength=len(classes)) > 0
    if there.sum() == 1:
        raise DataError(
            "Invalid input - all samples with positive weights belong to the same class, "
            f"{classes.tolist()[int(np.argmax(there))]!r}. Give weights above 0 to rows of another."
        )
    if not there.all():
        raise DataError(
            f"no row of class {classes.tolist()[int(np.argmin(there))]!r} has a weight above 0; leave its rows out, or "
            "give some of them weight."
        )


def prices(class_weight: Any, classes: Array, y: Any) -> Array:
    """The factor of C of each class."""
    if isinstance(class_weight, dict):
        for label, price in class_weight.items():
            if not isinstance(price, Real):
                raise DataError(f"class_weight of class {label!r} is {price!r}; give a number, 0 or more.")
    weights: Array = compute_class_weight(class_weight, classes=classes, y=y)
    if (bad := ~(weights >= 0)).any():
        raise DataError(
            f"class_weight of class {classes.tolist()[int(np.argmax(bad))]!r} is {weights[bad][0]:g}; a price is 0 or "
            "more. Leave the class out if it is not to count."
        )
    return weights
