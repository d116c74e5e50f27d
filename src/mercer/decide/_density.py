"""Densities as a detector of outliers needs them: copies of what was given, fitted on some rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from mercer._errors import DataError, NoDensityError
from mercer._typing import Array


def unfitted(density: Any) -> Any:
    """A copy of the density, or the one to use if there is none."""
    if density is None:
        from mercer.models import KernelDensity

        return KernelDensity(bandwidth="scott-scaled")
    if not hasattr(density, "log_density"):
        raise NoDensityError(
            f"{type(density).__name__} has no `log_density`, so that it cannot tell a usual row from another; "
            "use KernelDensity(), HistogramDensity(), or a generative classifier such as NaiveBayes()."
        )
    return clone(density)


def fitted(density: Any, X: Any, y: Any) -> Any:
    """A copy of the density, fitted."""
    copy = unfitted(density)
    if y is None and get_tags(copy).target_tags.required:
        raise DataError(
            f"{type(copy).__name__} is made of a density for each class and requires y. Pass the class of every row "
            "(NaiveBayes and KernelBayes will do with one for all: zeros), or use KernelDensity(), which has no "
            "classes."
        )
    return copy.fit(X, y)


def log_densities(density: Any, X: Any) -> Array:
    """Of a fitted density, as numbers of double precision."""
    return np.asarray(density.log_density(X), dtype=np.float64)
