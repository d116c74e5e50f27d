"""Kernels of one number per pair: x·z or ‖x − z‖², from a matrix product, or a sum over coordinates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.kernels._value_loops import apply_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.inputs import is_sparse, to_dense
from mercer.kernels.row_loops import add_radial, fill_radial, put_radial
from mercer.kernels.views import (
    FLOAT64_ENTRY_TOLERANCE,
    Memo,
    PointRows,
    Views,
    compute_products,
    compute_squared_distances,
    estimate_rounding_error,
)


@dataclass(frozen=True, repr=False)
class DotProduct(Kernel):
    """f(x·z)."""

    @abstractmethod
    def apply_to_products(self, tile: Array, columns: int) -> None:
        """Replace every s by f(s), for rows with this many columns."""

    def prepared(self, views: Views) -> PointRows:
        return views.points

    def tile(self, left: PointRows, right: PointRows, memo: Memo) -> Array:
        tile = compute_products(left, right, memo)
        self.apply_to_products(tile, left.columns)
        return tile

    def diagonal(self, side: PointRows) -> Array:
        tile = np.array(side.squares[None], dtype=float)
        self.apply_to_products(tile, side.columns)
        return np.asarray(tile[0])


@dataclass(frozen=True, repr=False)
class Radial(Kernel):
    """f(‖x − z‖²), with f(0) = 1.

    Rows are centred first, which changes no distance, and pairs too close together for products are computed from
    their differences: entries have errors of at most 1e-12 wherever the rows lie.
    """

    bounded = True

    @abstractmethod
    def lower(self, columns: int) -> Any:
        """Return f as a value on which compiled loops dispatch (`_value_loops`), for rows with this many columns."""

    @abstractmethod
    def slope(self, columns: int) -> float:
        """Return the largest `|f′|`."""

    def prepared(self, views: Views) -> PointRows:
        return views.centred

    def tile(self, left: PointRows, right: PointRows, memo: Memo) -> Array:
        tile = compute_squared_distances(left, right, memo, careful=self._needs_care(left, right))
        apply_kernel(cast_kernel(tile, self.lower(left.columns)), tile)
        return tile

    def fill_tile(self, left: PointRows, right: PointRows, out: Array) -> None:
        if is_sparse(left.X) or is_sparse(right.X) or self._needs_care(left, right) or out.dtype != left.squares.dtype:
            super().fill_tile(left, right, out)
        else:
            kernel = cast_kernel(left.squares, self.lower(left.columns))
            fill_radial(kernel, left.X, left.squares, right.X, right.squares, out)

    def _needs_care(self, left: PointRows, right: PointRows) -> bool:
        """Return whether rows lie so far from their centre that products lose the distances of near ones."""
        single = left.squares.dtype == np.float32
        return (
            not single
            and estimate_rounding_error(self.sensitivity(left, right), left.squares.dtype) > FLOAT64_ENTRY_TOLERANCE
        )

    # In float32 one compiled pass is enough: neither the products nor the tile leave the cache.

    def put_tile(self, left: PointRows, right: PointRows, kept: Array, slots: Array, first: int) -> None:
        if (kernel := self._lower_for_one_pass(left)) is None:
            super().put_tile(left, right, kept, slots, first)
        else:
            put_radial(kernel, left.X, left.squares, right.X, right.squares, kept, slots, first)

    def add_tile(self, left: PointRows, right: PointRows, factors: Array, total: Array) -> None:
        if (kernel := self._lower_for_one_pass(left)) is None:
            super().add_tile(left, right, factors, total)
        else:
            add_radial(kernel, left.X, left.squares, right.X, right.squares, factors, total)

    def _lower_for_one_pass(self, side: PointRows) -> Any:
        """Return f in the precision of the rows if no pair of them has to be computed again; else None."""
        if side.squares.dtype != np.float32 or is_sparse(side.X):
            return None
        return cast_kernel(side.squares, self.lower(side.columns))

    def diagonal(self, side: PointRows) -> Array:
        return np.ones(len(side))

    def sensitivity(self, left: PointRows, right: PointRows) -> float:
        return self.slope(left.columns) * (left.largest + right.largest)


def cast_kernel(tile: Array, lowered: Any) -> Any:
    """Return a lowered kernel with numbers of the tile's type, so that no arithmetic becomes float64."""
    return type(lowered)(*(tile.dtype.type(value) for value in lowered))


def apply_coordinate_loop(loop: Callable[[Array, Array, Array], None], left: PointRows, right: PointRows) -> Array:
    """Return the results of a loop over coordinates (`_coordinate_loops`) for every pair, in a new array."""
    tile = np.empty((len(left), len(right)))
    loop(to_dense(left.X), to_dense(right.X.T), tile)
    return tile


def resolve_gamma(gamma: float | None, columns: int) -> float:
    """Return γ, or scikit-learn's 1/d where it is None."""
    return 1.0 / columns if gamma is None else gamma
