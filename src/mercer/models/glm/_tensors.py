"""A GLM whose rows are a tensor: what comes beside them is read in main memory, and put where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import DeviceError
from mercer.designs import TensorDesign, Terms
from mercer.families import Family, penalty_from
from mercer.models._tensors import checked_tensor, in_memory, refuse_other_device
from mercer.models.base import checked_table
from mercer.models.glm.negative_binomial import estimates_r

#: solvers that multiply rows and never look at them
WITH_TENSORS = ("auto", "direct", "newton", "lbfgs")


def fits_tensors(model: Any, family: Family, columns: int) -> bool:
    """Whether what is asked for is done where tensors are: no absolute values, and no family that is estimated."""
    penalty = penalty_from(model.penalty)
    smooth = penalty is None or penalty.strengths(columns).smooth
    return smooth and not estimates_r(family) and model.solver in WITH_TENSORS


def read_tensors(model: Any, X: Any, y: Any, *beside: Any) -> tuple[Any, ...]:
    """X on its device; y, sample_weight, offset and exposure in main memory."""
    X = checked_tensor(model, X, reset=True)
    for values, name in zip((y, *beside), ("y", "sample_weight", "offset", "exposure"), strict=True):
        refuse_other_device(values, X, name)
    shown = np.broadcast_to(0.0, X.shape)  # stands for X where y is looked at
    return X, checked_table(model, shown, in_memory(y), reset=False)[1], *map(in_memory, beside)


def tensor_terms(X: Any, weight: Any, *, intercept: bool) -> tuple[TensorDesign, Terms]:
    """`design_of` for a tensor, all columns of which are numbers."""
    design = TensorDesign.of(X, intercept=intercept, weight=weight)
    return design, Terms(X.shape[1], None, {}, design.coordinates)


def tensor_predictors(model: Any, X: Any) -> Any:
    """Xβ + b on the device of X."""
    terms: Terms = model._terms
    if terms.categories:
        raise DeviceError(
            "GLM was fitted to columns of categories, which no tensor holds; give a data frame with the columns of the "
            "fit."
        )
    return TensorDesign(checked_tensor(model, X, reset=False), terms.coordinates).times(model._w)
