"""What a design is: rows and columns that are never looked at, only multiplied."""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from mercer._errors import TooManyColumnsError
from mercer._jit import gram as loops
from mercer._threads import ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.matrices.coordinates import Coordinates

#: columns up to which Xᵀ diag(h) X is formed: it has 8 p² bytes, several times over
MOST_GRAM_COLUMNS = 12_000
#: rows are cut into a multiple of so many blocks, so that two or four threads have the same to do
FAIR = 4
#: … unless all of them are no more than this part of what one block may hold
SPLIT = 8


class Tile(ABC):
    """Some rows of a design, to be multiplied at once: it lives until the next tile is asked for.

    Products belong to the caller, who may change them.
    """

    @abstractmethod
    def times(self, w: Array) -> Array:
        """X w."""

    @abstractmethod
    def transposed_times(self, r: Array) -> Array:
        """Xᵀ r."""

    @abstractmethod
    def gram(self, h: Array) -> Array:
        """Xᵀ diag(h) X for h of any sign. May use the tile up: ask for it last."""

    @abstractmethod
    def dense(self) -> Array:
        """The rows as a matrix of numbers, in working coordinates; not a copy."""


class Design(ABC):
    """n rows × p columns (the last of them ones, where there is an intercept), in working coordinates.

    `coordinates` says how the columns were shifted and scaled, and maps coefficients back. Vectors may be matrices of
    several columns: `times` takes (p,) or (p, k), and `transposed_times` (n,) or (n, k). A value of X that is not
    finite makes each product that it enters not finite either.
    """

    coordinates: Coordinates

    @functools.cached_property
    def kept(self) -> dict[str, Any]:
        """What was computed of these rows once and serves all fits to them."""
        return {}

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int:
        return self.coordinates.n_columns

    @property
    @abstractmethod
    def most_rows(self) -> int:
        """Rows up to which a block gets cheaper by the row."""

    @property
    def block_rows(self) -> int:
        """Rows that one thread should take at a time: so that four blocks, or eight, … are of one size."""
        n, most = self.n_rows, self.most_rows
        return max(1, n) if n * SPLIT <= most else -(-n // (FAIR * -(-n // (FAIR * most))))

    @abstractmethod
    def rows(self, rows: slice) -> Self:
        """Consecutive rows, without a copy."""

    @abstractmethod
    def take(self, rows: Array) -> Self:
        """The rows at these positions, copied."""

    @abstractmethod
    def tile(self) -> Tile:
        """All rows as one tile."""

    def tiles(self) -> Iterator[tuple[slice, Tile]]:
        """The rows, cut so that each part stays in the cache while it is multiplied several times."""
        for rows in row_blocks(self.n_rows, self.most_rows):
            yield rows, self.rows(rows).tile()

    def blocks(self) -> list[slice]:
        return row_blocks(self.n_rows, self.block_rows)

    def dense_blocks(self) -> list[slice]:
        """For what makes a number of each row and column: a block of codes may have 8 GiB of them."""
        return row_blocks(self.n_rows, rows_per_block(self.n_columns))

    def times(self, w: Array) -> Array:
        """X w."""
        self.refuse_other_length(w)
        product = np.empty((self.n_rows, *w.shape[1:]))

        def fill(block: slice) -> None:
            part = product[block]
            for rows, tile in self.rows(block).tiles():
                part[rows] = tile.times(w)

        for _ in ordered_stream(fill, self.blocks()):
            pass
        return product

    def transposed_times(self, r: Array) -> Array:
        """Xᵀ r."""
        zero = np.zeros((self.n_columns, *r.shape[1:]))
        return self._summed(lambda tile, rows: tile.transposed_times(r[rows]), zero)

    def gram(self, h: Array) -> Array:
        """Xᵀ diag(h) X."""
        self.refuse_wide_gram()
        return self._summed(lambda tile, rows: tile.gram(h[rows]), np.zeros((self.n_columns, self.n_columns)))

    def dense(self) -> Array:
        """The whole design as a matrix of numbers: for small ones."""
        matrix = np.empty((self.n_rows, self.n_columns))
        for rows, tile in self.tiles():
            matrix[rows] = tile.dense()
        return matrix

    def refuse_other_length(self, w: Array) -> None:
        """Raise where there is not one coefficient per column: compiled loops do not look."""
        if len(w) != self.n_columns:
            raise ValueError(f"{len(w)} coefficients do not fit {self.n_columns} columns.")

    def refuse_wide_gram(self) -> None:
        """Raise where Xᵀ diag(h) X would be too large to form."""
        if (p := self.n_columns) > MOST_GRAM_COLUMNS:
            raise TooManyColumnsError(
                f"the Hessian of {p} columns would take {8 * p * p / 2**30:.0f} GiB; use a solver that needs only "
                'products with it, solver="lbfgs" or solver="newton-cg", or fewer columns.'
            )

    def _summed(self, product: Callable[[Tile, slice], Array], total: Array) -> Array:
        """Products of all tiles added to `total`: block by block, in order."""

        def of_block(block: slice) -> Array:
            products = (
                product(tile, slice(block.start + rows.start, block.start + rows.stop))
                for rows, tile in self.rows(block).tiles()
            )
            total_of_block: Array = functools.reduce(operator.iadd, products)
            return total_of_block

        for part in ordered_stream(of_block, self.blocks()):
            total += part
        return total


def symmetric(lower: Array) -> Array:
    """The symmetric matrix whose lower triangle is given, in place."""
    loops.mirror(lower)
    return lower
