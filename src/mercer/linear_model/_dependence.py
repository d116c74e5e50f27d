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
        beta, moves = ((v[: len(scale)].T / scale).T for v in (w, self.directions))
        # scale each direction to length one, so that dependences of small columns keep their digits beside large ones
        unit = np.abs(moves).max(axis=0)
        size = np.linalg.lstsq(moves / unit, beta, rcond=None)[0]
        smallest = np.asarray(w - (self.directions / unit) @ size)
        smallest[list(self.constant)] = 0.0  # exactly, without rounding
        return smallest


def find_dependence(observations: Observations, strengths: Strengths) -> Dependence | None:
    """Return the dependences among columns without a penalty; None if there are none, or too many columns to search."""
    free = (strengths.l1 == 0) & (strengths.l2 == 0)
    intercept = observations.design.coordinates.intercept
    if free.sum() <= intercept or len(free) > MOST_COLUMNS_OF_DEPENDENCE:
        return None
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


def _products(observations: Observations) -> Array:
    """Return XᵀX over the rows of positive weight."""
    if observations.streamed:
        return cross_products(observations, equal_weights=True)
    weight = observations.weight
    return observations.design.gram(np.ones(len(observations)) if weight is None else 1.0 * (weight > 0))
