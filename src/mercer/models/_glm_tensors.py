"""A GLM whose rows are a tensor: what comes beside them is read in main memory, and put where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.designs import TensorDesign, Terms
from mercer.families import Family, NegativeBinomial
from mercer.families.penalties import Strengths
from mercer.models._base import checked_table
from mercer.models._tensor_linear import in_memory, refuse_as_tensors
from mercer.models._tensors import checked_tensor, refuse_other_device

#: solvers that multiply rows and never look at them
WITH_TENSORS = ("auto", "direct", "newton", "lbfgs")


def read_tensors(model: Any, X: Any, y: Any, *beside: Any) -> tuple[Any, ...]:
    """X on its device; y, sample_weight, offset and exposure in main memory."""
    X = checked_tensor(model, X, reset=True)
    for values, name in zip((y, *beside), ("y", "sample_weight", "offset", "exposure"), strict=True):
        refuse_other_device(values, X, name)
    shown = np.broadcast_to(0.0, X.shape)  # stands for X where y is looked at
    return X, checked_table(model, shown, in_memory(y), reset=False)[1], *map(in_memory, beside)


def tensor_terms(X: Any, *, intercept: bool) -> tuple[TensorDesign, Terms]:
    """`design_of` for a tensor, all columns of which are numbers."""
    design = TensorDesign.of(X, intercept=intercept)
    return design, Terms(X.shape[1], None, {}, design.coordinates)


def tensor_predictors(model: Any, X: Any) -> Any:
    """Xβ + b on the device of X."""
    terms: Terms = model._terms
    if terms.categories:
        refuse_as_tensors(model, "categories, which are no numbers,")
    return TensorDesign(checked_tensor(model, X, reset=False), terms.coordinates).times(model._w)


def refuse_for_arrays(model: Any, family: Family, penalty: Strengths) -> None:
    """Raise for what has no form where tensors are."""
    if not penalty.smooth:
        refuse_as_tensors(model, "an L1 penalty")
    if isinstance(family, NegativeBinomial) and family.r is None:
        refuse_as_tensors(model, "a negative binomial whose r is unknown")
    if model.solver not in WITH_TENSORS:
        refuse_as_tensors(model, f"with the solver {model.solver!r} (it does with {', '.join(WITH_TENSORS)})")
