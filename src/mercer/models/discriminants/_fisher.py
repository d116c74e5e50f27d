"""Fisher's discriminant directions: where the means of the classes lie farthest apart, measured by their covariance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.stats.base import ratio

#: entries of a direction that differ by less are equal but for rounding
AS_LARGE = 1 - 1e-8
#: means that are closer, in standard deviations within the classes, are equal but for rounding
NO_DISTANCE = 1e-13


@stored(scalings=floats("dr"), explained=floats("."))
class Directions(NamedTuple):
    """Columns of `scalings` have unit variance within the classes; `explained` is the variance ratio between them."""

    scalings: Array  # (columns, directions)
    explained: Array


def whitening_by_rank(within: Array) -> Array:
    """W with W Wᵀ the pseudo-inverse of a covariance: directions of no variance, but for rounding, are left out.

    Where none is, units of columns do not matter to the inverse, and are taken off so that they cost no digits.
    """
    axes, variance, kept = _axes_by_rank(within)
    if kept.all():
        unit = np.sqrt(np.diagonal(within))[:, None]
        scaled, squares, full = _axes_by_rank(within / unit / unit.T)
        if full.all():
            return np.asarray(scaled / unit / np.sqrt(squares))
    return np.asarray(axes[:, kept] / np.sqrt(variance[kept]))


def _axes_by_rank(covariance: Array) -> tuple[Array, Array, Array]:
    """Its axes, their variances, and which of these are more than rounding."""
    variance, axes = np.linalg.eigh(covariance)
    return axes, variance, variance > len(variance) * np.finfo(float).eps * variance[-1]


def directions_by_rank(within: Array, away: Array, share: Array, tolerance: float) -> Directions:
    """Directions of full variance only, within the classes and between their means: what an SVD of the rows leaves.

    `away` are the means, about any point; `share` is what each class has in their mean.

    The columns are scaled to unit variance first, so that singular values of the data, which are the square roots of
    the eigenvalues taken here, compare with an absolute tolerance.
    """
    deviation = np.sqrt(np.diagonal(within))
    deviation = np.where(deviation > 0, deviation, 1.0)
    squares, vectors = np.linalg.eigh(within / deviation[:, None] / deviation)
    squares, vectors = squares[::-1], vectors[:, ::-1]
    rounding = len(squares) * np.finfo(float).eps * squares[0]
    kept = squares > max(tolerance**2, rounding)
    whitening = vectors[:, kept] / deviation[:, None] / np.sqrt(squares[kept])
    between = np.sqrt(share)[:, None] * (away - share @ away) @ whitening
    _, spread, axes = np.linalg.svd(between, full_matrices=False)
    rank = int(np.sum(spread > np.maximum(tolerance * spread[:1], NO_DISTANCE)))
    return Directions(with_fixed_signs(whitening @ axes.T[:, :rank]), ratio(spread**2, np.sum(spread**2)))


def directions_by_ratio(within: Array, between: Array) -> Directions:
    """All directions, by the ratio of the variances; `LinAlgError` if the one within is not positive definite."""
    ratios, vectors = scipy.linalg.eigh(between, within)
    # below 0 where given priors make the covariance within the classes larger than that of all rows
    total = np.sum(ratios)
    explained = ratios / total if total != 0 else np.zeros_like(ratios)
    return Directions(with_fixed_signs(vectors[:, ::-1]), np.sort(explained)[::-1])


def with_fixed_signs(vectors: Array) -> Array:
    """Columns turned so that the largest entry of each, of equal ones the first, is positive: rounding must not decide
    where they point."""
    size = np.abs(vectors)
    as_large = size >= AS_LARGE * size.max(axis=0, initial=0.0)
    largest = np.take_along_axis(vectors, as_large.argmax(axis=0)[None], axis=0)
    return np.where(largest < 0, -vectors, vectors)
