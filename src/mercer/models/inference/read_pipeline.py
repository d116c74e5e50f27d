"""A fitted pipeline and its data, as inference needs them: its last step, of the features that the others make.

Features of `TableFeatures` are described in terms of the columns: a standardised column in its own units, and, where
levels of a category add up to the intercept, each level as its difference from the first one. Both are linear in the
coefficients of the features: what the user sees is T β.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.models.diagnosis import INTERCEPT
from mercer.models.inference.fits import Beside, Reading
from mercer.models.inference.fitted import Fitted
from mercer.models.tables.table_features import TableFeatures


def read_pipeline(
    model: Any, X: Any, y: Any, beside: Beside, read: Callable[[Any, Any, Any, Beside], Reading]
) -> Reading:
    """Read the last step by `read`, at the features that the steps before it make of X."""
    features, last = model[:-1], model.steps[-1][1]
    reading = read(last, features.transform(X), y, beside)
    maker = features.steps[-1][1] if len(features.steps) else None
    names = [str(name) for name in features.get_feature_names_out()] if maker is not None else []
    fitted, notes = reading.fitted, reading.notes
    n_shown = len(fitted.names) // fitted.shown_predictors
    if len(names) == n_shown - _has_intercept(fitted):
        shown = names
        change = np.eye(n_shown)
        if isinstance(maker, TableFeatures) and len(features.steps) == 1:
            shown, change, more = _in_terms_of_columns(fitted, names, maker)
            notes = (*more, *notes)
        fitted = _renamed(fitted, shown, change)

    def new(X: Any, offset: Any, exposure: Any) -> Any:
        return reading.new(features.transform(X), offset, exposure)

    return replace(reading, fitted=fitted, new=new, columns=names or reading.columns, notes=notes)


def _has_intercept(fitted: Fitted) -> int:
    return int(fitted.observations.design.coordinates.intercept)


def _renamed(fitted: Fitted, names: list[str], change: Array) -> Fitted:
    """The fit with T β in the place of β, for each predictor."""
    first = [INTERCEPT] if _has_intercept(fitted) else []
    size, k = change.shape[1], fitted.shown_predictors
    # of several predictors, each name begins with the class that the predictor is of
    old_first = fitted.names[0] if k == 1 else fitted.names[0].split(": ")[-1]
    prefixes = [fitted.names[i * size].removesuffix(old_first) if k > 1 else "" for i in range(k)]
    shown = tuple(f"{prefix}{name}" for prefix in prefixes for name in (*first, *names))
    return replace(fitted, names=shown, to_user=np.kron(np.eye(k), change) @ fitted.to_user)


def _in_terms_of_columns(
    fitted: Fitted, names: list[str], features: TableFeatures
) -> tuple[list[str], Array, tuple[str, ...]]:
    """Names of what is shown, T, and what is to be said of it."""
    intercept = _has_intercept(fitted)
    shift, scale = features.feature_scales()
    change = np.diag(np.concatenate([np.ones(intercept), 1 / scale]))
    if intercept:
        # β₀ + Σ βⱼ (xⱼ − mⱼ)/sⱼ: what is left for columns that are all 0
        change[0, 1:] = -shift / scale
    dropped = []
    if intercept and not fitted.penalised:
        for group in features.level_groups():
            if _adds_up(fitted, group, len(names)):
                reference = group[0]
                change[0, 1 + reference] += 1
                for j in group[1:]:
                    change[1 + j, 1 + reference] = -1
                dropped.append(reference)
    kept = [j for j in range(len(names)) if j not in dropped]
    rows = [*range(intercept), *(intercept + j for j in kept)]
    notes = ["Coefficients are per unit of the columns, which the model standardises."] if (scale != 1).any() else []
    notes += [f"Reference levels: {', '.join(names[j] for j in dropped)}."] if dropped else []
    return [names[j] for j in kept], change[rows], tuple(notes)


def _adds_up(fitted: Fitted, group: list[int], n_features: int) -> bool:
    """Whether every row has exactly one of these levels, so that their features add up to 1."""
    design = fitted.observations.design
    indicator = np.zeros(n_features)
    indicator[group] = 1.0
    sums = design.times(design.coordinates.from_user(indicator, 0.0)[:, None])
    return bool(np.allclose(sums, 1.0, rtol=0, atol=1e-8))
