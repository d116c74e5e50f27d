"""Gaussian discriminants: normal classes, with covariances of any structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.export.expression import HARDLY, IMPOSSIBLE, Expression, weighted
from mercer.export.formula import Said
from mercer.export.gaussians import linear, quadratic, with_gaps
from mercer.export.naive_bayes import bayes, normal_columns


def discriminant(model: Any, inputs: Sequence[Expression]) -> Said:
    """p(y|x) from the densities of the classes."""
    model._refuse_unusable()
    densities = model._densities
    full = hasattr(densities, "covariance")
    scores = _full(densities, inputs) if full else normal_columns(densities._scores, inputs)
    never = np.where(densities.seen, 0.0, IMPOSSIBLE).tolist()
    if min(never) < HARDLY:
        scores = [weighted([1.0], [score], constant) for score, constant in zip(scores, never, strict=True)]
    return bayes(model, [scores])


def _full(densities: Any, inputs: Sequence[Expression]) -> list[Expression]:
    centre, away, covariance = densities.centre, densities.away, densities.covariance
    if densities.shared:
        complete = linear(inputs, densities.linear.centre, densities.linear.weights, densities.linear.intercept)
    else:
        complete = quadratic(inputs, centre, away, densities.precision, -0.5 * densities.log_determinant)
        # a class never seen has none
        covariance = np.where(densities.seen[:, None, None], covariance, np.eye(len(centre)))
    return with_gaps(inputs, complete, centre, away, covariance)
