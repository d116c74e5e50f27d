"""Gaussian discriminants: normal classes, with covariances of any structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import ExportError
from mercer._typing import Array
from mercer.export.expression import IMPOSSIBLE, IMPOSSIBLE_BOUND, Expression, weighted_sum
from mercer.export.formula import ModelOutput
from mercer.export.gaussians import linear, quadratic, too_many_gaps, with_gaps
from mercer.export.naive_bayes import bayes, normal_columns


def discriminant(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return p(y|x) from the densities of the classes.

    If too many columns may be missing for them to be integrated out, and the rows of the fit were complete, only
    complete rows have a prediction.
    """
    model._check_usable()
    densities, incomplete = model._densities, ""
    if hasattr(densities, "covariance"):
        incomplete = too_many_gaps(inputs, _covariance(densities))
        if incomplete and not model._patterns().complete:
            raise ExportError(
                f"{incomplete} Export with missing=False, which gives no prediction for rows with gaps; or use "
                "GaussianNB, whose columns are independent."
            )
        scores = _full(densities, inputs, gaps=not incomplete)
    else:
        scores = normal_columns(densities._scores, inputs)
    never = np.where(densities.has_rows, 0.0, IMPOSSIBLE).tolist()
    if min(never) < IMPOSSIBLE_BOUND:
        scores = [weighted_sum([1.0], [score], constant) for score, constant in zip(scores, never, strict=True)]
    return replace(bayes(model, [scores]), incomplete=incomplete)


def _covariance(densities: Any) -> Array:
    """Return the covariances of the classes, with ones for a class that did not occur."""
    covariance: Array = densities.covariance
    if densities.shared:
        return covariance
    return np.where(densities.has_rows[:, None, None], covariance, np.eye(len(densities.centre)))


def _full(densities: Any, inputs: Sequence[Expression], *, gaps: bool) -> list[Expression]:
    centre, away = densities.centre, densities.away
    if densities.shared:
        complete = linear(inputs, densities.linear.centre, densities.linear.weights, densities.linear.intercept)
    else:
        complete = quadratic(inputs, centre, away, densities.precision, -0.5 * densities.log_determinant)
    return with_gaps(inputs, complete, centre, away, _covariance(densities)) if gaps else complete
