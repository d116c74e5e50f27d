"""Systems of inequalities a_i · δ ≥ 0 over the rows of a design, known by products: what separation is about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.designs import Design
from mercer.solvers.curvature import FLAT


def refused_beyond_range(values: Array) -> Array:
    """The values, if they are numbers: rows of ±1.8e308 have sums and squares that are none."""
    if not np.isfinite(values).all():
        raise NonFiniteError(
            "sums of these rows are too large for float64, so that no hyperplane between them can be looked for; "
            "divide the columns by their largest values."
        )
    return values


class Cone(ABC):
    """Rows a_i made from the rows of a design, and which of them ask for a_i · δ ≥ 0."""

    design: Design
    #: which rows of the design there are: those with a weight above 0
    counted: Array

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Of a direction: (columns,) or (columns, classes)."""

    @abstractmethod
    def counts(self) -> Array:
        """Which rows a_i ask for a_i · δ ≥ 0."""

    @abstractmethod
    def times(self, direction: Array) -> Array:
        """a_i · δ of every row."""

    @abstractmethod
    def transposed_times(self, multipliers: Array) -> Array:
        """Σ multiplier_i a_i."""

    @abstractmethod
    def take(self, rows: Array) -> Array:
        """The rows a_i at these positions, as a matrix."""

    @abstractmethod
    def by_row(self, values: Array) -> Array:
        """Something known of the a_i, for each row of the design: (rows,) or (rows, classes)."""


@dataclass(frozen=True, eq=False)
class Signed(Cone):
    """a_i = sign_i x_i; a sign of 0 means a row of no interest."""

    design: Design
    sign: Array
    counted: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.design.n_columns,)

    def counts(self) -> Array:
        return np.asarray(self.sign != 0)

    def times(self, direction: Array) -> Array:
        return np.asarray(self.sign * self.design.times(direction))

    def transposed_times(self, multipliers: Array) -> Array:
        return self.design.transposed_times(self.sign * multipliers)

    def take(self, rows: Array) -> Array:
        return self.sign[rows, None] * self.design.take(rows).dense()

    def by_row(self, values: Array) -> Array:
        return values


@dataclass(frozen=True, eq=False)
class Against(Cone):
    """a_ik · δ = x_i · (δ_c − δ_k) for a row of class c and every other class k, row after row."""

    design: Design
    codes: Array
    classes: int
    counted: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.design.n_columns, self.classes

    def counts(self) -> Array:
        others = self.codes[:, None] != np.arange(self.classes)
        return np.asarray((others & self.counted[:, None]).ravel())

    def times(self, direction: Array) -> Array:
        eta = self.design.times(np.ascontiguousarray(direction))
        return np.asarray((eta[np.arange(len(eta)), self.codes][:, None] - eta).ravel())

    def transposed_times(self, multipliers: Array) -> Array:
        each = -multipliers.reshape(-1, self.classes)
        each[np.arange(len(each)), self.codes] -= each.sum(axis=1)
        return self.design.transposed_times(each)

    def take(self, rows: Array) -> Array:
        row, other = np.divmod(rows, self.classes)
        x = self.design.take(row).dense()
        matrix = np.zeros((len(rows), *self.shape))
        matrix[np.arange(len(rows)), :, self.codes[row]] = x
        matrix[np.arange(len(rows)), :, other] -= x
        return matrix.reshape(len(rows), -1)

    def by_row(self, values: Array) -> Array:
        return values.reshape(-1, self.classes)


@dataclass(frozen=True, eq=False)
class Unmoved:
    """The directions that move none of some rows of a design."""

    size: Array
    #: orthonormal, for columns divided by their size
    vectors: Array

    @classmethod
    def by(cls, design: Design, rows: Array) -> Self:
        gram = refused_beyond_range(design.gram(rows.astype(float)))
        size = np.sqrt(np.where(np.diagonal(gram) > 0, np.diagonal(gram), 1.0))
        with blas_for(len(size)):
            values, vectors = np.linalg.eigh(gram / size / size[:, None])
        return cls(size, vectors[:, values <= FLAT * len(size)])

    def basis(self) -> Array:
        """As columns whose largest entry is 1."""
        basis = self.vectors / self.size[:, None]
        return np.asarray(basis / np.abs(basis).max(axis=0, initial=0.0))

    def taken_out(self, direction: Array, *, intercept: bool) -> Array:
        """What moves the rows as `direction` does, by coefficients as small as they can be.

        The intercept, the last, may be any: of a column that does not vary among the rows it does all the work.
        """
        scaled = (direction.T * self.size).T
        columns = slice(0, len(self.size) - intercept)
        share = np.linalg.lstsq(self.vectors[columns], scaled[columns], rcond=None)[0]
        return np.asarray(((scaled - self.vectors @ share).T / self.size).T)
