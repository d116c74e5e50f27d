"""In which units sufficient statistics are: what to divide them by, so that a penalty treats them alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.families import Bernoulli, Family, Histogram
from mercer.models.linear_forms.features import (
    Among,
    CentredMonomials,
    CentredSquares,
    ColumnStatistics,
    ObservedColumns,
)
from mercer.models.linear_forms.pieces import LinearPiece
from mercer.stats import ColumnMoments, PatternMoments

#: families whose T says 0 or 1
INDICATORS = (Bernoulli, Histogram)
#: of η, for derivatives of the mean of T
STEP = 1e-4


def statistic_scale(model: Any) -> Array:
    """What each statistic of a fitted model is divided by: its standard deviation over all classes, or 1 if it has no
    units."""
    _, pieces = model._linear_pieces()
    return np.concatenate([_scale(piece, part) for piece, part in zip(pieces, parts_of(model, pieces), strict=True)])


def parts_of(model: Any, pieces: tuple[LinearPiece, ...]) -> tuple[Any, ...]:
    """What the model has counted for each of its pieces; what it has counted besides comes after these."""
    parts: tuple[Any, ...] = model.statistic_.parts
    return parts[: len(pieces)]


def _scale(piece: LinearPiece, statistic: Any) -> Array:
    match piece.features, statistic:
        case ObservedColumns(CentredSquares(), columns, gaps), ColumnMoments():
            spread = _positive(np.sqrt(statistic.pooled().variance[0][columns]))
            return _with_gaps(np.column_stack([spread, spread**2]), gaps)
        case ObservedColumns(ColumnStatistics(family), columns, gaps), _ if not isinstance(family, INDICATORS):
            return _with_gaps(_positive(_deviations(family, statistic)[columns]), gaps)
        case Among(CentredMonomials(), columns), PatternMoments(complete=True):
            spread = _positive(np.sqrt(np.diagonal(statistic.pooled().full.covariance[0])))[columns]
            i, j = np.triu_indices(len(spread))
            return np.append(spread, spread[i] * spread[j])
    return np.ones(len(piece.names))


def _with_gaps(scale: Array, gaps: Array) -> Array:
    return np.append(scale.ravel(), np.ones(int(gaps.sum())))


def _positive(scale: Array) -> Array:
    return np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _deviations(family: Family, statistic: Any) -> Array:
    """Of T, (columns, components), as the family has them that is fitted to all classes together."""
    together = statistic.pooled()
    if isinstance(together, ColumnMoments):  # T is z and z² of a normal z, which is log x for a log-normal x
        mean, variance = together.mean[0], together.variance[0]
        return np.asarray(np.sqrt(np.column_stack([variance, 4 * mean**2 * variance + 2 * variance**2])))
    eta = family.natural(family.fit(together))[0]
    return np.asarray(np.sqrt(np.column_stack([_variance(family, eta, each) for each in range(eta.shape[1])])))


def _variance(family: Family, eta: Array, component: int) -> Array:
    """∂²A/∂η², by differences of ∇A. Rates have units, by which η is to be measured; the η of counts may be 0."""
    step = np.zeros_like(eta)
    size = np.abs(eta[:, component])
    step[:, component] = STEP * (np.maximum(size, 1.0) if family.discrete else size)
    change = family.mean(eta + step) - family.mean(eta - step)
    return np.asarray(change[:, component] / (2 * step[:, component]))


def expected_statistic(family: Family, statistic: Any) -> Array:
    """Mean of T over all classes together, (columns, components)."""
    return np.asarray(family.expected(family.fit(statistic.pooled()))[0])
