"""Rows for linear threshold units to learn from, one unit per class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer._threads import blas_for, ordered_stream
from mercer._typing import Array
from mercer.designs import Coordinates, DenseDesign, Design, MixedDesign, Observations, SparseDesign
from mercer.designs.sparse import Entries

#: columns up to which XᵀX is formed to know its largest eigenvalue
FEW_COLUMNS = 500
#: products with XᵀX that tell it well enough otherwise: a rate may be twice too large
POWERS = 30
#: a variance this much smaller than the mean square is that of a constant
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows, their classes and their weights.

    Attributes
    ----------
    X : ndarray or CSR matrix
        Of any order; floats.
    codes : ndarray of int32
        The class of each row, from 0 to `classes` − 1.
    classes : int
        Two are learnt by one unit, that of class 1; more by one unit each.
    weight : ndarray or None
        How much each row counts, more than 0.
    intercept : bool
        Whether the units have one.
    """

    X: Any
    codes: Array
    classes: int
    weight: Array | None = None
    intercept: bool = True

    @property
    def units(self) -> int:
        return 1 if self.classes <= 2 else self.classes

    @property
    def first(self) -> int:
        """The class of unit 0."""
        return self.classes - 1 if self.units == 1 else 0

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def entries(self) -> Entries | None:
        """Of a sparse matrix; None if it is an array."""
        return None if isinstance(self.X, np.ndarray) else Entries.of(self.X)

    @cached_property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weight is None else self.weight.sum())

    # As designs.

    @cached_property
    def observations(self) -> Observations:
        """With the columns as they are: gradients are those of the user's weights."""
        plain = Coordinates.plain(self.n_columns, intercept=self.intercept)
        design: Design = DenseDesign(self.X, plain) if self.entries is None else self._with_intercept(plain)
        return Observations(design, self.codes, self.weight)

    def unit_observations(self, unit: int) -> Observations:
        """0 or 1 for one unit, with columns shifted and scaled as is best for looking at them all."""
        y = (self.codes == self.first + unit).astype(float)
        at = self._coordinates
        return Observations(
            DenseDesign(self.X, at) if self.entries is None else self._with_intercept(at), y, self.weight
        )

    def _with_intercept(self, coordinates: Coordinates) -> Design:
        design = SparseDesign.within(self.X, replace(coordinates, intercept=False))
        return MixedDesign.of(sparse=design, intercept=True) if self.intercept else design

    # Sizes, which rates depend on and gradients are compared with.

    @cached_property
    def largest_row(self) -> float:
        """The largest weight · ‖x‖², with the 1 of the intercept."""

        def of_block(rows: slice) -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                squares = np.ravel(_squared(self.X[rows]).sum(axis=1)) + self.intercept
                return float(np.max(self._weight[rows] * squares))

        return float(np.max(list(ordered_stream(of_block, self.observations.design.blocks()))))

    @cached_property
    def largest_eigenvalue(self) -> float:
        """λmax(XᵀWX), of X with its column of ones; where columns are many, from below and close."""
        design = self.observations.design
        with np.errstate(over="ignore", invalid="ignore"), blas_for(design.n_columns):
            if design.n_columns > FEW_COLUMNS:
                return _by_powers(design, self._weight)
            gram = design.gram(self._weight)
            return float(np.linalg.eigvalsh(gram)[-1]) if np.isfinite(gram).all() else np.inf

    @cached_property
    def spread(self) -> Spread:
        """About their means where there is an intercept, which makes up for any shift; else about 0."""
        shift, scale = self._coordinates.shift, self._coordinates.scale

        def of_block(rows: slice) -> Array:
            z = self._standard(rows, shift, scale)
            with np.errstate(over="ignore", invalid="ignore"):
                return np.stack([z.T @ self._weight[rows], _squared(z).T @ self._weight[rows]])

        blocks = self.observations.design.blocks()
        first, second = sum(ordered_stream(of_block, blocks), np.zeros((2, self.n_columns))) / self.total_weight
        mean = first if self.intercept else np.zeros_like(first)
        variance = second - np.square(mean)
        variance[variance <= ROUNDING * second] = 0.0
        return Spread(shift + scale * mean, scale * np.sqrt(variance))

    @cached_property
    def _weight(self) -> Array:
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @cached_property
    def _coordinates(self) -> Coordinates:
        if self.entries is None:
            return Coordinates.of(self.X, intercept=self.intercept)
        return SparseDesign.of(self.X).coordinates

    def _standard(self, rows: slice, shift: Array, scale: Array) -> Any:
        block = self.X[rows]
        if isinstance(block, np.ndarray):
            return (block - shift) / scale
        block = block.astype(float)
        block.data /= scale[block.indices]
        return block


class Spread(NamedTuple):
    """The mean of each column, and the root of its mean square about it: 0 for a constant."""

    mean: Array
    size: Array


def _squared(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return np.square(X, dtype=float)
    squares = X.astype(float)
    squares.data **= 2
    return squares


def _by_powers(design: Design, weight: Array) -> float:
    v, size = np.random.default_rng(0).standard_normal(design.n_columns), 0.0
    for _ in range(POWERS):
        v = design.transposed_times(weight * design.times(v / np.linalg.norm(v)))
        size = float(np.linalg.norm(v))
        if size == 0 or not np.isfinite(size):
            break
    return size
