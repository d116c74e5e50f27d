"""Rows of x that are encoded, to be fitted by least squares: XᵀX and Xᵀy are made of codes, which stay such."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from mercer._typing import Array
from mercer.designs.coordinates import Coordinates
from mercer.designs.encoded import CodePart, Encoded
from mercer.designs.encoded_design import encoded_design
from mercer.engines.reducing import reduce
from mercer.solvers.least_squares.rows import Rows
from mercer.stats.base import spoilt_sums_are_silent
from mercer.stats.joined import pilot
from mercer.stats.normal_equations import NormalEquations, Sums
from mercer.stats.r_factor import RFactor

S = TypeVar("S", NormalEquations, RFactor)

#: a column whose mean is more than so many spreads from zero has lost four digits of its squares about the mean …
FAR = 100.0
#: … unless these are but rounding errors: it does not vary
CONSTANT = 1e-14


@dataclass(frozen=True, eq=False)
class EncodedBlocks(Rows):
    """`Rows` whose X is `Encoded`, and read as a sparse matrix, block by block."""

    X: Encoded

    @property
    def sparse(self) -> bool:
        return True

    @property
    def held(self) -> int:
        return max(1, self.X.nbytes // (4 * max(1, len(self))))

    def batch(self, rows: slice) -> tuple[Any, Array, Array | None]:
        return self.X[rows].tocsr(), self.Y[rows], None if self.weight is None else self.weight[rows]

    def view(self, rows: slice) -> Any:
        return self.X[rows]

    def summarised(self, kind: type[S]) -> S:
        return reduce(kind.zero(self.shape[1], self.targets), self)


@dataclass(frozen=True, eq=False)
class EncodedRows(EncodedBlocks):
    """`Rows` whose X is `Encoded`, and multiplied as it is."""

    gradients: ClassVar[str] = "gradients of codes as they are"

    def one_by_one(self) -> Rows:
        return EncodedBlocks(self.X, self.Y, self.weight)

    def summarised(self, kind: type[S]) -> S:
        if issubclass(kind, NormalEquations):
            made = kind.of_sums(self._heavy()._sums(), self.shape[1])
            if not _far_from_zero(made):
                return made
        return super().summarised(kind)

    def _heavy(self) -> Self:
        """Without the rows of weight 0, which do not count, whatever they hold."""
        if self.weight is None or self.weight.all():
            return self
        heavy = self.weight > 0
        return replace(self, X=self.X[heavy], Y=self.Y[heavy], weight=self.weight[heavy])

    @spoilt_sums_are_silent
    def _sums(self) -> Sums:
        design = encoded_design(self.X, None, intercept=True)
        d, unit = self.shape[1], np.append(design.coordinates.scale, np.ones(1 + self.targets))
        weight = np.ones(len(self)) if self.weight is None else self.weight
        level = pilot(self.Y)
        y = self.Y - level
        heavy = weight[:, None] * y
        second = np.empty((len(unit), len(unit)))  # of [x, 1, y]
        second[: d + 1, : d + 1] = design.gram(weight)
        second[: d + 1, d + 1 :] = design.transposed_times(heavy)
        second[d + 1 :, : d + 1] = second[: d + 1, d + 1 :].T
        second[d + 1 :, d + 1 :] = heavy.T @ y
        second *= unit[:, None]
        second *= unit
        others = np.delete(np.arange(len(unit)), d)
        shift = np.append(design.coordinates.shift, level)
        return Sums(len(self), float(weight.sum()), shift, second[d, others], second[np.ix_(others, others)])

    def gradient(self, shift: Array, v: Array) -> tuple[Array, Array]:
        if self._shifts_codes(shift):
            return super().gradient(shift, v)
        rows, d = self._heavy(), self.shape[1]
        design = encoded_design(rows.X, Coordinates(shift[:d], np.ones(d), intercept=True))
        left = rows.Y - shift[d:] - design.times(np.roll(v, -1, axis=0))
        if rows.weight is not None:
            left *= rows.weight[:, None]
        slope = np.roll(design.transposed_times(left), 1, axis=0)
        return slope, np.zeros_like(slope)

    def _shifts_codes(self, shift: Array) -> bool:
        runs = zip(self.X.parts, self.X.begins, self.X.begins[1:], strict=False)
        return any(shift[begin:end].any() for part, begin, end in runs if isinstance(part, CodePart))


def rows_of_encoded(X: Encoded, Y: Array, weight: Array | None) -> Rows:
    """As they are if there are more of them than columns, else as a sparse matrix, as which so few are solved."""
    return EncodedRows(X, Y, weight) if len(X) > X.shape[1] else Rows(X.tocsr(), Y, weight)


@spoilt_sums_are_silent
def _far_from_zero(sums: NormalEquations) -> bool:
    """Whether squares about zero have lost digits of some column that varies."""
    d, moments = sums.n_columns, sums.moments
    squares = np.diagonal(moments.scatter[0])[:d]
    level = moments.weight[0] * moments.offset[0, :d] ** 2
    return bool(((level > FAR**2 * squares) & (squares > CONSTANT * level)).any())
