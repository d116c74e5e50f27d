"""Fisher's discriminant directions: where the means of the classes lie farthest apart, measured by their covariance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from mercer.stats._base import ratio

Array = NDArray[Any]


class Directions(NamedTuple):
    """Columns of `scalings` have unit variance within the classes; `explained` is the variance ratio between them."""

    scalings: Array  # (columns, directions)
    explained: Array

    def weights(self, means: Array) -> Array:
        """Σ⁻¹ μ for each mean, as far as the directions reach: (classes, columns)."""
        return np.asarray(means @ self.scalings @ self.scalings.T)


def directions_by_rank(within: Array, means: Array, priors: Array, tolerance: float) -> Directions:
    """Directions of full variance only, both within the classes and between their means: what an SVD would leave.

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
    between = np.sqrt(priors)[:, None] * (means - priors @ means) @ whitening
    _, spread, axes = np.linalg.svd(between, full_matrices=False)
    rank = int(np.sum(spread > tolerance * spread[:1]))
    return Directions(whitening @ axes.T[:, :rank], ratio(spread**2, np.sum(spread**2)))


def directions_by_ratio(within: Array, between: Array) -> Directions:
    """All directions, by the ratio of the variances; `LinAlgError` if the one within is not positive definite."""
    ratios, vectors = scipy.linalg.eigh(between, within)
    return Directions(vectors[:, ::-1], np.sort(ratios / np.sum(ratios))[::-1])
