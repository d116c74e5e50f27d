"""Columns that depend on each other: found, named, and resolved to the smallest of all coefficients that fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.families.penalties import Strengths
from mercer.linear_model.separation import cross_products
from mercer.matrices import Coordinates, Observations
from mercer.optim.curvature import FLAT

#: a sample of at least this many rows, and this many per column, is asked first: no row can take independence back
SAMPLE_ROWS, SAMPLE_PER_COLUMN = 1000, 4
#: columns beyond which the products of all pairs are not formed to look for dependences
MOST_COLUMNS = 2000
#: a column with a smaller part in every dependence has none
NEGLIGIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class Dependence:
    """Directions in which working coefficients can move without any row, or the penalty, noticing."""

    directions: Array  # (columns, dependences)
    #: columns that are one by themselves: they do not vary, or without an intercept are 0
    constant: tuple[int, ...] = ()

    @property
    def rank_lost(self) -> int:
        return int(self.directions.shape[1])

    def columns(self) -> list[int]:
        """Which columns take part."""
        lengths = np.linalg.norm(self.directions / np.linalg.norm(self.directions, axis=0), axis=1)
        return np.flatnonzero(lengths > NEGLIGIBLE).tolist()

    def smallest(self, w: Array, coordinates: Coordinates) -> Array:
        """Of all coefficients that fit as well as `w`, those of least length in the units of the data.

        The intercept's length does not count.
        """
        with np.errstate(over="ignore"):
            scale = coordinates.scale / coordinates.scale.min(initial=np.inf)  # so that nothing below overflows
        beta, moves = ((v[: len(scale)].T / scale).T for v in (w, self.directions))
        # of one length each, or a dependence of small columns would drown among large ones
        unit = np.abs(moves).max(axis=0)
        size = np.linalg.lstsq(moves / unit, beta, rcond=None)[0]
        smallest = np.asarray(w - (self.directions / unit) @ size)
        smallest[list(self.constant)] = 0.0  # but for rounding it is
        return smallest


def find_dependence(observations: Observations, strengths: Strengths) -> Dependence | None:
    """The dependences among columns that no penalty resolves; None if there are none, or too many columns to look."""
    free = (strengths.l1 == 0) & (strengths.l2 == 0)
    intercept = observations.design.coordinates.intercept
    if free.sum() <= intercept or len(free) > MOST_COLUMNS:
        return None
    some = observations.some(max(SAMPLE_ROWS, SAMPLE_PER_COLUMN * len(free)))
    if some is not None and _dependence(_products(some), free) is None:
        return None
    return _dependence(_products(observations), free)


def _dependence(products: Array, free: Array) -> Dependence | None:
    diagonal = np.diagonal(products)
    if not np.isfinite(diagonal).all():  # squares that overflow tell nothing
        return None
    scale = np.where(diagonal > 0, diagonal, 1.0) ** -0.5
    scaled = products * scale * scale[:, None] + np.diag(np.where(free, 0.0, 1.0))
    with blas_for(len(scale)):
        values, vectors = np.linalg.eigh(scaled)
    flat = values <= FLAT * len(scale)
    if not flat.any():
        return None
    constant = np.flatnonzero((diagonal == 0) & free)
    return Dependence(scale[:, None] * vectors[:, flat], tuple(constant.tolist()))


def _products(observations: Observations) -> Array:
    """XᵀX over the rows that have weight."""
    if observations.streamed:
        return cross_products(observations, counted=True)
    weight = observations.weight
    return observations.design.gram(np.ones(len(observations)) if weight is None else 1.0 * (weight > 0))
