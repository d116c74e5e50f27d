"""The interface of design matrices: solvers access rows and columns only through products."""

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

#: columns up to which Xᵀ diag(h) X is formed: it takes 8 p² bytes, and solvers hold several copies
MAX_GRAM_COLUMNS = 12_000
#: the number of blocks is a multiple of this, so that two or four threads have equal shares
BLOCKS_MULTIPLE = 4
#: … unless all rows together are at most 1/8 of the largest block: then they are one block
SINGLE_BLOCK_PART = 8


class Tile(ABC):
    """Some rows of a design, valid until the next tile is read.

    Products are new arrays, which the caller may overwrite.
    """

    @abstractmethod
    def matvec(self, w: Array) -> Array:
        """X w."""

    @abstractmethod
    def rmatvec(self, r: Array) -> Array:
        """Xᵀ r."""

    @abstractmethod
    def gram(self, h: Array) -> Array:
        """Xᵀ diag(h) X for h of any sign. It may overwrite the tile, and so has to be the last product."""

    @abstractmethod
    def dense(self) -> Array:
        """Rows as a dense matrix in working coordinates; not a copy."""


class Matrix(ABC):
    """n rows × p columns (the last of them ones, where there is an intercept), in working coordinates.

    `coordinates` holds the shifts and scales of the columns, and maps coefficients back. Vectors may be matrices of
    several columns: `matvec` takes (p,) or (p, k), and `rmatvec` (n,) or (n, k). A value of X that is not
    finite makes every product that contains it not finite.
    """

    coordinates: Coordinates

    @functools.cached_property
    def cache(self) -> dict[str, Any]:
        """Results that depend only on these rows and are reused by all fits to them."""
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
        """Largest useful number of rows in a block; larger blocks are not cheaper per row."""

    @property
    def block_rows(self) -> int:
        """Rows of a block for one thread, so that four blocks, or a multiple of four, have the same size."""
        n, most = self.n_rows, self.most_rows
        if n * SINGLE_BLOCK_PART <= most:
            return max(1, n)
        return -(-n // (BLOCKS_MULTIPLE * -(-n // (BLOCKS_MULTIPLE * most))))

    @abstractmethod
    def rows(self, rows: slice) -> Self:
        """Return consecutive rows, without a copy."""

    @abstractmethod
    def take(self, rows: Array) -> Self:
        """Return a copy of the rows at these positions."""

    @abstractmethod
    def tile(self) -> Tile:
        """Return all rows as one tile."""

    def tiles(self) -> Iterator[tuple[slice, Tile]]:
        """Iterate over tiles that stay in the cache while they are multiplied several times."""
        for rows in row_blocks(self.n_rows, self.most_rows):
            yield rows, self.rows(rows).tile()

    def blocks(self) -> list[slice]:
        return row_blocks(self.n_rows, self.block_rows)

    def dense_blocks(self) -> list[slice]:
        """Blocks that can be written out as dense matrices; a block of codes may have 8 GiB of numbers."""
        return row_blocks(self.n_rows, rows_per_block(self.n_columns))

    def matvec(self, w: Array) -> Array:
        """X w."""
        self.check_length(w)
        product = np.empty((self.n_rows, *w.shape[1:]))

        def fill(block: slice) -> None:
            part = product[block]
            for rows, tile in self.rows(block).tiles():
                part[rows] = tile.matvec(w)

        for _ in ordered_stream(fill, self.blocks()):
            pass
        return product

    def rmatvec(self, r: Array) -> Array:
        """Xᵀ r."""
        zero = np.zeros((self.n_columns, *r.shape[1:]))
        return self._summed(lambda tile, rows: tile.rmatvec(r[rows]), zero)

    def gram(self, h: Array) -> Array:
        """Xᵀ diag(h) X."""
        self.check_gram_columns()
        return self._summed(lambda tile, rows: tile.gram(h[rows]), np.zeros((self.n_columns, self.n_columns)))

    def dense(self) -> Array:
        """Return the whole design as a dense matrix, for small designs."""
        matrix = np.empty((self.n_rows, self.n_columns))
        for rows, tile in self.tiles():
            matrix[rows] = tile.dense()
        return matrix

    def check_length(self, w: Array) -> None:
        """Raise unless there is one coefficient per column, as compiled loops do not check bounds."""
        if len(w) != self.n_columns:
            raise ValueError(f"{len(w)} coefficients do not fit {self.n_columns} columns.")

    def check_gram_columns(self) -> None:
        """Raise if Xᵀ diag(h) X is too large to be formed."""
        if (p := self.n_columns) > MAX_GRAM_COLUMNS:
            raise TooManyColumnsError(
                f"the Hessian of {p} columns would take {8 * p * p / 2**30:.0f} GiB; use a solver that needs only "
                'products with it, solver="lbfgs" or solver="newton-cg", or fewer columns.'
            )

    def _summed(self, product: Callable[[Tile, slice], Array], total: Array) -> Array:
        """Add the products of all tiles to `total`, block by block in order."""

        def sum_block(block: slice) -> Array:
            products = (
                product(tile, slice(block.start + rows.start, block.start + rows.stop))
                for rows, tile in self.rows(block).tiles()
            )
            block_total: Array = functools.reduce(operator.iadd, products)
            return block_total

        for part in ordered_stream(sum_block, self.blocks()):
            total += part
        return total


def symmetric(lower: Array) -> Array:
    """Mirror the lower triangle to the upper one, in place."""
    loops.mirror(lower)
    return lower
