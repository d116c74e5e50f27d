"""Find columns that depend linearly on each other, and the smallest of all coefficients that fit equally well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.families.penalties import Strengths
from mercer.linear_model.separation import cross_products
from mercer.matrices import Coordinates, Observations
from mercer.optim.curvature import FLAT_DIRECTION
from mercer.optim.separation import orthogonal_complement

#: least number of rows of the sample that is examined first: columns that are independent in it are independent in all
ROWS_OF_DEPENDENCE_SAMPLE = 1000
#: least number of rows of the sample per column
DEPENDENCE_SAMPLE_PER_COLUMN = 4
#: number of columns beyond which dependences are not searched, as that needs the products of all pairs of columns
MOST_COLUMNS_OF_DEPENDENCE = 2000
#: part in every dependence, relative to the column, below which a column does not take part
NEGLIGIBLE_PART = 1e-6


@dataclass(frozen=True, eq=False)
class Dependence:
    """Directions in which working coefficients can move without changing any predictor or the penalty."""

    directions: Array  # (columns, dependences)
    #: columns that do not vary or, without an intercept, are 0: each is a dependence by itself
    constant: tuple[int, ...] = ()
    #: predictors that the directions leave unchanged, as far as they depend on columns without a penalty; None if there
    #: are more of them than columns
    fixed: Array | None = None
    #: mask of the columns without a penalty
    free: Array | None = None

    @property
    def rank_lost(self) -> int:
        return int(self.directions.shape[1])

    def columns(self) -> list[int]:
        """Return the columns that take part in a dependence."""
        lengths = np.linalg.norm(self.directions / np.linalg.norm(self.directions, axis=0), axis=1)
        return np.flatnonzero(lengths > NEGLIGIBLE_PART).tolist()

    def smallest(self, w: Array, coordinates: Coordinates) -> Array:
        """Return the coefficients of least length, in the units of the data, among those that fit as well as `w`.

        The intercept does not count in the length.
        """
        with np.errstate(over="ignore"):
            scale = coordinates.scale / coordinates.scale.min(initial=np.inf)  # so that nothing below overflows
        if self.fixed is not None and self.free is not None:
            smallest = self._smallest_by_rows(w, scale)
            smallest[list(self.constant)] = 0.0
            return smallest
        beta, moves = ((v[: len(scale)].T / scale).T for v in (w, self.directions))
        # scale each direction to length one, so that dependences of small columns keep their digits beside large ones
        unit = np.abs(moves).max(axis=0)
        size = np.linalg.lstsq(moves / unit, beta, rcond=None)[0]
        smallest = np.asarray(w - (self.directions / unit) @ size)
        smallest[list(self.constant)] = 0.0  # exactly, without rounding
        return smallest

    def _smallest_by_rows(self, w: Array, scale: Array) -> Array:
        """Return the same by a projection on the span of the rows, of which there are fewer than columns.

        Where the intercept is free, only differences of predictors are fixed: rows B = Qᵀ R, where Q is orthogonal to
        the intercepts q of the rows R.
        """
        assert self.fixed is not None
        assert self.free is not None
        smallest = np.array(w, dtype=float)
        columns = np.flatnonzero(self.free[: len(scale)])
        rows, intercept = self.fixed[:, columns] * scale[columns], self.fixed[:, len(scale) :]
        if intercept.size:
            rows = orthogonal_complement(intercept / np.linalg.norm(intercept)).T @ rows
        basis = np.linalg.qr(rows.T).Q
        smallest[columns] = ((basis @ (basis.T @ (w[columns].T / scale[columns]).T)).T * scale[columns]).T
        moved = self.fixed[:, columns] @ (smallest[columns] - w[columns])
        smallest[len(scale) :] -= np.linalg.pinv(intercept) @ moved
        return smallest


def find_dependence(observations: Observations, strengths: Strengths) -> Dependence | None:
    """Return the dependences among columns without a penalty; None if there are none, or too many columns to search."""
    free = (strengths.l1 == 0) & (strengths.l2 == 0)
    intercept = observations.design.coordinates.intercept
    if free.sum() <= intercept or len(free) > MOST_COLUMNS_OF_DEPENDENCE:
        return None
    if not observations.streamed:
        weight = observations.vectors_in_memory().weight
        counted = np.arange(len(observations)) if weight is None else np.flatnonzero(weight)
        if len(counted) < free.sum():
            return _null_space_of_rows(observations.design.take(counted).dense(), free)
    sample = observations.some(max(ROWS_OF_DEPENDENCE_SAMPLE, DEPENDENCE_SAMPLE_PER_COLUMN * len(free)))
    if sample is not None and _null_space(_products(sample), free) is None:
        return None
    return _null_space(_products(observations), free)


def _null_space(products: Array, free: Array) -> Dependence | None:
    diagonal = np.diagonal(products)
    if not np.isfinite(diagonal).all():  # overflow
        return None
    scale = np.where(diagonal > 0, diagonal, 1.0) ** -0.5
    scaled = products * scale * scale[:, None] + np.diag(np.where(free, 0.0, 1.0))
    with blas_for(len(scale)):
        values, vectors = np.linalg.eigh(scaled)
    flat = values <= FLAT_DIRECTION * len(scale)
    if not flat.any():
        return None
    constant = np.flatnonzero((diagonal == 0) & free)
    return Dependence(scale[:, None] * vectors[:, flat], tuple(constant.tolist()))


def _null_space_of_rows(rows: Array, free: Array) -> Dependence | None:
    """Return the dependences of columns with fewer rows, without their products and the eigenvectors of these."""
    with np.errstate(over="ignore"):
        diagonal = np.square(rows).sum(axis=0)
    if not np.isfinite(diagonal).all():
        return None
    scale = np.where(diagonal > 0, diagonal, 1.0) ** -0.5
    with blas_for(len(scale)):
        _, singular, right = np.linalg.svd((rows * scale)[:, free], full_matrices=False)
    span = np.zeros((len(scale), int((np.square(singular) > FLAT_DIRECTION * len(scale)).sum())))
    span[free] = right[: span.shape[1]].T
    directions = np.zeros((len(scale), int(free.sum()) - span.shape[1]))
    directions[free] = orthogonal_complement(span[free])
    constant = np.flatnonzero((diagonal == 0) & free)
    return Dependence(scale[:, None] * directions, tuple(constant.tolist()), span.T / scale, free)


def _products(observations: Observations) -> Array:
    """Return XᵀX over the rows of positive weight."""
    if observations.streamed:
        return cross_products(observations, equal_weights=True)
    weight = observations.weight
    return observations.design.gram(np.ones(len(observations)) if weight is None else 1.0 * (weight > 0))
