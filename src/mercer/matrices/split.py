"""Design matrix of dense, sparse and categorical parts and an intercept."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mercer._typing import Array
from mercer.matrices.base import Matrix, Tile
from mercer.matrices.categorical import CategoricalMatrix
from mercer.matrices.coordinates import Coordinates
from mercer.matrices.dense import DenseMatrix
from mercer.matrices.sparse import SparseMatrix, far_columns


@dataclass(frozen=True, eq=False)
class SplitMatrix(Matrix):
    """Dense, sparse and categorical parts without intercepts, whose coefficients are at `places` among all.

    Examples
    --------
    >>> from mercer.matrices.categorical import CategoricalMatrix
    >>> colour = CategoricalMatrix.of([np.array([0, 1, 1])], [2])
    >>> SplitMatrix.of(codes=colour, intercept=True).dense()
    array([[1., 0., 1.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """

    numbers: DenseMatrix | None
    sparse: SparseMatrix | None
    codes: CategoricalMatrix | None
    #: positions of the coefficients of each part that is not None, in the order above
    places: tuple[Array, ...]
    coordinates: Coordinates

    is_sparse: ClassVar[bool] = True
    has_exact_gradients: ClassVar[bool] = False

    @classmethod
    def of(
        cls,
        numbers: DenseMatrix | None = None,
        sparse: SparseMatrix | None = None,
        codes: CategoricalMatrix | None = None,
        *,
        places: tuple[Array, ...] | None = None,
        intercept: bool,
    ) -> Self:
        """Join parts; their coefficients follow one another unless `places` are given."""
        parts: list[Matrix] = [part for part in (numbers, sparse, codes) if part is not None]
        if places is None:
            sizes = [part.n_columns for part in parts]
            places = tuple(np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]))
        shift, scale = np.zeros((2, sum(map(len, places))))
        for part, where in zip(parts, places, strict=True):
            shift[where], scale[where] = part.coordinates.shift, part.coordinates.scale
        return cls(numbers, sparse, codes, places, Coordinates(shift, scale, intercept))

    def _parts(self) -> list[Matrix]:
        return [part for part in (self.numbers, self.sparse, self.codes) if part is not None]

    @property
    def n_rows(self) -> int:
        return self._parts()[0].n_rows

    @property
    def stored_per_row(self) -> int:
        return sum(part.stored_per_row for part in self._parts())

    @property
    def most_rows(self) -> int:
        return min(part.most_rows for part in self._parts())

    def rows(self, rows: slice) -> Self:
        return replace(
            self,
            numbers=self.numbers and self.numbers.rows(rows),
            sparse=self.sparse and self.sparse.rows(rows),
            codes=self.codes and self.codes.rows(rows),
        )

    def take(self, rows: Array) -> Self:
        return replace(
            self,
            numbers=self.numbers and self.numbers.take(rows),
            sparse=self.sparse and self.sparse.take(rows),
            codes=self.codes and self.codes.take(rows),
        )

    def within(self, coordinates: Coordinates) -> SplitMatrix:
        return self._move(coordinates)

    def centred(self) -> SplitMatrix:
        return self._move(None)

    def _move(self, known: Coordinates | None) -> SplitMatrix:
        """Return the matrix in known coordinates, or without an intercept in coordinates chosen by the data."""
        none, places = np.zeros(0, dtype=np.intp), iter(self.places)
        where = [none if part is None else next(places) for part in (self.numbers, self.sparse, self.codes)]
        numbers = np.empty((self.n_rows, 0)) if self.numbers is None else self.numbers.X
        matrix = None if self.sparse is None else self.sparse.to_scipy()
        moved = join_parts(numbers, matrix, self.codes, (where[0], where[1], where[2]), known, intercept=True)
        intercept = known is not None and known.intercept
        return replace(moved, coordinates=replace(moved.coordinates, intercept=intercept))

    def residual_gradient(
        self, Y: Array, weight: Array | None, shift: Array, v: Array, *, exact: bool = True
    ) -> tuple[Array, Array]:
        """Return the gradient by products with the codes unless `exact`, or codes are shifted."""
        d = self.n_columns
        if exact or (self.codes is not None and shift[self.places[-1]].any()):
            return super().residual_gradient(Y, weight, shift, v)
        if weight is not None and not weight.all():
            positive = np.flatnonzero(weight)
            return self.take(positive).residual_gradient(Y[positive], weight[positive], shift, v, exact=False)
        X = self.within(Coordinates(shift[:d], np.ones(d), intercept=True))
        rest = Y - shift[d:] - X.matvec(np.roll(v, -1, axis=0))
        slope = np.roll(X.rmatvec(rest if weight is None else rest * weight[:, None]), 1, axis=0)
        return slope, np.zeros_like(slope)

    def tile(self) -> MixedTile:
        return MixedTile(self)

    def placed_parts(self) -> list[tuple[Matrix, Array | slice]]:
        """Return each part with the positions of its coefficients."""
        return list(zip(self._parts(), map(_as_slice, self.places), strict=True))


@dataclass(frozen=True, eq=False)
class MixedTile(Tile):
    """Rows of all parts. Dense parts are read in smaller tiles of their own, as large tiles pay only for codes."""

    design: SplitMatrix

    def matvec(self, w: Array) -> Array:
        product = np.zeros((self.design.n_rows, *w.shape[1:]))
        if self.design.coordinates.intercept:
            product += w[-1]
        for part, where in self.design.placed_parts():
            for rows, tile in part.tiles():
                product[rows] += tile.matvec(w[where])
        return product

    def rmatvec(self, r: Array) -> Array:
        product = np.empty((self.design.n_columns, *r.shape[1:]))
        if self.design.coordinates.intercept:
            product[-1] = r.sum(axis=0)
        for part, where in self.design.placed_parts():
            product[where] = _transposed_times(part, r)
        return product

    def gram(self, h: Array) -> Array:
        numbers, sparse, codes = self.design.numbers, self.design.sparse, self.design.codes
        whole = np.zeros((self.design.n_columns, self.design.n_columns))
        placed = self.design.placed_parts()
        if numbers is not None:
            _add_numbers(whole, numbers, placed, h)
        if sparse is not None and codes is not None:
            (_, rows), (_, columns) = placed[-2:]
            _add(whole, rows, columns, sparse.tile().gram_with(codes.tile(), h))
        for part, where in placed[numbers is not None :]:
            _add(whole, where, where, part.tile().gram(h))
        if self.design.coordinates.intercept:
            whole[-1] = whole[:, -1] = self._border(h, whole.diagonal(), placed)
        return whole

    def _border(self, h: Array, diagonal: Array, placed: list[tuple[Matrix, Array | slice]]) -> Array:
        """Xᵀ h, the last row of Xᵀ diag(h) X."""
        border = np.append(np.zeros(self.design.n_columns - 1), h.sum())
        for part, where in placed:
            if part is self.design.codes:  # of ones, the squares are on the diagonal
                border[where] = diagonal[where]
            else:
                border[where] = _transposed_times(part, h)
        return border

    def squares(self, h: Array) -> Array:
        total = np.zeros(self.design.n_columns)
        if self.design.coordinates.intercept:
            total[-1] = h.sum()
        for part, where in self.design.placed_parts():
            for rows, tile in part.tiles():
                total[where] += tile.squares(h[rows])
        return total

    def dense(self) -> Array:
        matrix = np.ones((self.design.n_rows, self.design.n_columns))
        for part, where in self.design.placed_parts():
            matrix[:, where] = part.dense()
        return matrix


def join_parts(
    numbers: Array,
    matrix: Any,
    codes: CategoricalMatrix | None,
    places: tuple[Array, Array, Array],
    known: Coordinates | None,
    *,
    intercept: bool,
) -> SplitMatrix:
    """Join numbers, a sparse matrix and codes, whose coefficients are at `places`.

    Columns of the matrix that are far from zero become dense, so that their shift is subtracted from the data:
    subtracting it from products would cancel their digits.
    """
    of_numbers, of_matrix, of_codes = places
    if intercept and matrix is not None and len(far := far_columns(matrix, known and known.at(of_matrix))):
        numbers = np.hstack([numbers, matrix[:, far].toarray()])
        near = np.delete(np.arange(len(of_matrix)), far)
        matrix = matrix[:, near]
        of_numbers, of_matrix = np.append(of_numbers, of_matrix[far]), of_matrix[near]
    dense = None
    if len(of_numbers):
        at = replace(Coordinates.of(numbers, intercept=intercept), intercept=False) if known is None else None
        dense = DenseMatrix(numbers, at or known.at(of_numbers))  # type: ignore[union-attr]
    return SplitMatrix.of(
        dense,
        sparse_part(matrix, known and known.at(of_matrix)) if len(of_matrix) else None,
        codes,
        places=tuple(where for where in (of_numbers, of_matrix, of_codes) if len(where)),
        intercept=intercept,
    )


def sparse_part(X: Any, known: Coordinates | None) -> SparseMatrix:
    """Return the matrix without an intercept, in known coordinates or in scales chosen by the data."""
    return SparseMatrix.of(X) if known is None else SparseMatrix.of_matrix(X, known)


def _transposed_times(part: Matrix, r: Array) -> Array:
    total: Array = functools.reduce(operator.iadd, (tile.rmatvec(r[rows]) for rows, tile in part.tiles()))
    return total


def _add_numbers(whole: Array, numbers: DenseMatrix, placed: list[tuple[Matrix, Array | slice]], h: Array) -> None:
    """Add the products of the dense part with itself and with the other parts."""
    (_, own), *others = placed
    for rows, tile in numbers.tiles():
        if others:
            weighted = tile.dense() * h[rows, None]
            for part, where in others:
                _add(whole, where, own, part.rows(rows).tile().rmatvec(weighted))
        _add(whole, own, own, tile.gram(h[rows]))


def _add(whole: Array, rows: Array | slice, columns: Array | slice, block: Array) -> None:
    """Add a block, and its transpose unless it is on the diagonal."""
    mirrored = [(columns, rows, block.T)] if rows is not columns else []
    for up, across, part in [(rows, columns, block), *mirrored]:
        if isinstance(up, np.ndarray) and isinstance(across, np.ndarray):
            whole[up[:, None], across] += part
        else:
            whole[up, across] += part


def _as_slice(where: Array) -> Array | slice:
    """Convert consecutive positions to a slice, which is indexed without a copy."""
    return slice(where[0], where[-1] + 1) if len(where) and where[-1] - where[0] + 1 == len(where) else where
