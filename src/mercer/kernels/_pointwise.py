"""Kernels of one number for every pair: x·z or ‖x − z‖², which a matrix product gives, or a sum over coordinates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.kernels._value_loops import each
from mercer.kernels.base import Kernel
from mercer.kernels.inputs import dense, is_sparse
from mercer.kernels.row_loops import add_radial, fill_radial, put_radial
from mercer.kernels.views import GOOD, Memo, PointRows, Views, products, rounding_error, squared_distances


@dataclass(frozen=True, repr=False)
class DotProduct(Kernel):
    """f(x·z)."""

    @abstractmethod
    def of_products(self, tile: Array, columns: int) -> None:
        """Replace every s by f(s), for rows with this many columns."""

    def prepared(self, views: Views) -> PointRows:
        return views.points

    def tile(self, left: PointRows, right: PointRows, memo: Memo) -> Array:
        tile = products(left, right, memo)
        self.of_products(tile, left.columns)
        return tile

    def diagonal(self, side: PointRows) -> Array:
        tile = np.array(side.squares[None], dtype=float)
        self.of_products(tile, side.columns)
        return np.asarray(tile[0])


@dataclass(frozen=True, repr=False)
class Radial(Kernel):
    """f(‖x − z‖²), with f(0) = 1.

    Rows are centred first, which changes no distance, and pairs too close together for products are computed from
    their differences: entries are good to 1e-12 wherever the rows lie.
    """

    @abstractmethod
    def lower(self, columns: int) -> Any:
        """f as a value that compiled loops dispatch on (`_jit.kernels.tiles`), for rows with this many columns."""

    @abstractmethod
    def slope(self, columns: int) -> float:
        """The largest `|f′|`."""

    def prepared(self, views: Views) -> PointRows:
        return views.centred

    def tile(self, left: PointRows, right: PointRows, memo: Memo) -> Array:
        tile = squared_distances(left, right, memo, careful=self._careful(left, right))
        each(in_precision_of(tile, self.lower(left.columns)), tile)
        return tile

    def fill_tile(self, left: PointRows, right: PointRows, out: Array) -> None:
        if is_sparse(left.X) or is_sparse(right.X) or self._careful(left, right) or out.dtype != left.squares.dtype:
            super().fill_tile(left, right, out)
        else:
            kernel = in_precision_of(left.squares, self.lower(left.columns))
            fill_radial(kernel, left.X, left.squares, right.X, right.squares, out)

    def _careful(self, left: PointRows, right: PointRows) -> bool:
        """Whether rows lie so far from their centre that distances of near ones are lost in products."""
        single = left.squares.dtype == np.float32
        return not single and rounding_error(self.sensitivity(left, right), left.squares.dtype) > GOOD

    # In float32 one compiled pass: neither the products nor the tile leave the cache.

    def put_tile(self, left: PointRows, right: PointRows, kept: Array, slots: Array, first: int) -> None:
        if (kernel := self._in_one_pass(left)) is None:
            super().put_tile(left, right, kept, slots, first)
        else:
            put_radial(kernel, left.X, left.squares, right.X, right.squares, kept, slots, first)

    def add_tile(self, left: PointRows, right: PointRows, factors: Array, total: Array) -> None:
        if (kernel := self._in_one_pass(left)) is None:
            super().add_tile(left, right, factors, total)
        else:
            add_radial(kernel, left.X, left.squares, right.X, right.squares, factors, total)

    def _in_one_pass(self, side: PointRows) -> Any:
        """f in the precision of the rows if no pair of them has to be computed again; else None."""
        if side.squares.dtype != np.float32 or is_sparse(side.X):
            return None
        return in_precision_of(side.squares, self.lower(side.columns))

    def diagonal(self, side: PointRows) -> Array:
        return np.ones(len(side))

    def sensitivity(self, left: PointRows, right: PointRows) -> float:
        return self.slope(left.columns) * (left.largest + right.largest)


def in_precision_of(tile: Array, lowered: Any) -> Any:
    """A lowered kernel whose numbers are of the tile's type: others would make all arithmetic float64."""
    return type(lowered)(*(tile.dtype.type(value) for value in lowered))


def by_coordinates(loop: Callable[[Array, Array, Array], None], left: PointRows, right: PointRows) -> Array:
    """What a loop over coordinates (`_jit.kernels.coordinate_sums`) makes of every pair, in an array of its own."""
    tile = np.empty((len(left), len(right)))
    loop(dense(left.X), dense(right.X.T), tile)
    return tile


def width(gamma: float | None, columns: int) -> float:
    """γ, or scikit-learn's 1/d where none is given."""
    return 1.0 / columns if gamma is None else gamma
