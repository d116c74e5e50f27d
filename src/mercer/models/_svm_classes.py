"""Classes that a support vector classifier can tell apart, and what each of them costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from mercer._errors import DataError

Array = NDArray[Any]


def refuse_one_class(classes: Array) -> None:
    """There must be two classes at least."""
    if len(classes) < 2:
        raise DataError(
            f"The number of classes has to be greater than one; got {len(classes)} class. All rows are of class "
            f"{classes.tolist()[0]!r}; add rows of another."
        )


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
    weights: Array = compute_class_weight(class_weight, classes=classes, y=y)
    if (bad := ~(weights >= 0)).any():
        raise DataError(
            f"class_weight of class {classes.tolist()[int(np.argmax(bad))]!r} is {weights[bad][0]:g}; a price is 0 or "
            "more. Leave the class out if it is not to count."
        )
    return weights
