"""Columns in the form they were found in: numbers, codes of levels, a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from mercer._errors import DataError
from mercer._typing import Array

#: columns beyond which positions need 64 bits
INT32 = np.iinfo(np.int32).max
#: row, column and value of an entry
Entry = tuple[int, int, Any]


class Stored(NamedTuple):
    """Entries that are not zero, row by row, as a CSR matrix has them."""

    indptr: Array
    indices: Array
    values: Array


@dataclass(frozen=True, eq=False)
class NumberPart:
    """Columns of numbers: float64 of shape (rows, columns)."""

    X: Array

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def checked(self) -> Self:
        """With the type and shape that are promised."""
        X = np.asarray(self.X, dtype=np.float64)
        if X.ndim != 2:
            raise DataError(f"numbers must be a matrix, but have the shape {X.shape}; use X.reshape(len(X), -1).")
        return self if X is self.X else type(self)(X)

    def rows(self, rows: Any) -> Self:
        return type(self)(self.X[rows])

    def fill(self, dense: Array) -> None:
        """Write the columns into zeros of the same shape."""
        dense[:] = self.X

    def times(self, w: Array) -> Array:
        return np.asarray(self.X @ w)

    def transposed_times(self, r: Array) -> Array:
        return np.asarray(self.X.T @ r)

    def squared(self) -> Self:
        return type(self)(np.square(self.X))

    @property
    def width(self) -> int:
        """Entries that a row may have."""
        return self.n_columns

    def write(self, indices: Array, values: Array) -> None:
        """Column and value of the entries of each row; a value of 0 is no entry."""
        indices[:] = np.arange(self.n_columns)
        values[:] = self.X

    def first_where(self, bad: Callable[[Array], Array]) -> Entry | None:
        found = np.argwhere(bad(self.X))
        return (int(found[0, 0]), int(found[0, 1]), self.X[tuple(found[0])]) if len(found) else None

    def __str__(self) -> str:
        return f"{self.n_columns} of numbers"


@dataclass(frozen=True, eq=False)
class CodePart:
    """A column of 0 and 1 for each level: int32 codes, one per row; −1 is a row of zeros."""

    codes: Array
    n_levels: int

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def n_columns(self) -> int:
        return self.n_levels

    def checked(self) -> Self:
        """With the type and range that are promised."""
        codes = np.asarray(self.codes)
        if codes.ndim != 1 or codes.dtype.kind not in "iu":
            raise DataError(f"codes must be a vector of integers, not of {codes.dtype} with the shape {codes.shape}.")
        if len(codes) and (codes.min() < -1 or codes.max() >= self.n_levels):
            row = int(np.argmax((codes < -1) | (codes >= self.n_levels)))
            raise DataError(
                f"the code {codes[row]} of row {row} lies outside −1 … {self.n_levels - 1}; codes count levels from "
                "0 on, and −1 is none of them."
            )
        codes = codes.astype(np.int32, copy=False)
        return self if codes is self.codes else type(self)(codes, self.n_levels)

    def rows(self, rows: Any) -> Self:
        return type(self)(self.codes[rows], self.n_levels)

    def fill(self, dense: Array) -> None:
        rows = np.flatnonzero(self.codes >= 0)
        dense[rows, self.codes[rows]] = 1.0

    def times(self, w: Array) -> Array:
        if not self.n_levels:
            return np.zeros((self.n_rows, *w.shape[1:]))
        product = np.take(w, self.codes, axis=0, mode="clip")
        if len(none := np.flatnonzero(self.codes < 0)):
            product[none] = 0.0
        return product

    def transposed_times(self, r: Array) -> Array:
        places, product = self.codes + np.int64(1), np.empty((self.n_levels, *r.shape[1:]))
        for column, total in zip(np.atleast_2d(r.T), np.atleast_2d(product.T), strict=True):
            total[:] = np.bincount(places, weights=column, minlength=self.n_levels + 1)[1:]
        return product

    def squared(self) -> Self:
        return self  # 0 and 1 are their own squares

    @property
    def width(self) -> int:
        return int(self.n_levels > 0)

    def write(self, indices: Array, values: Array) -> None:
        if self.n_levels:
            indices[:, 0] = self.codes
            values[:, 0] = self.codes >= 0

    def first_where(self, bad: Callable[[Array], Array]) -> Entry | None:
        return None  # nothing is wrong with 0 and 1

    def __str__(self) -> str:
        return f"{self.n_columns} of levels"


@dataclass(frozen=True, eq=False)
class SparsePart:
    """Columns of a SciPy matrix in CSR format."""

    matrix: Any

    @property
    def n_rows(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.matrix.shape[1])

    def checked(self) -> Self:
        """With the format that is promised; places that are stored twice are added up."""
        matrix = self.matrix.tocsr()
        if matrix.dtype.kind not in "fiub":
            raise DataError(f"a sparse matrix of type {matrix.dtype} holds no real numbers; convert it to float64.")
        if not matrix.has_canonical_format:
            matrix = matrix.copy() if matrix is self.matrix else matrix
            matrix.sum_duplicates()
        return self if matrix is self.matrix else type(self)(matrix)

    def rows(self, rows: Any) -> Self:
        return type(self)(self.matrix[rows])

    def fill(self, dense: Array) -> None:
        matrix = self.matrix
        dense[np.repeat(np.arange(self.n_rows), np.diff(matrix.indptr)), matrix.indices] = matrix.data

    def times(self, w: Array) -> Array:
        return np.asarray(self.matrix @ w)

    def transposed_times(self, r: Array) -> Array:
        return np.asarray(self.matrix.T @ r)

    def squared(self) -> Self:
        return type(self)(self.matrix.multiply(self.matrix).tocsr())

    def first_where(self, bad: Callable[[Array], Array]) -> Entry | None:
        if not (found := bad(self.matrix.data)).any():
            return None
        place = int(np.argmax(found))
        row = int(np.searchsorted(self.matrix.indptr, place, side="right")) - 1
        return row, int(self.matrix.indices[place]), self.matrix.data[place]

    def __str__(self) -> str:
        return f"{self.n_columns} sparse"


Part = NumberPart | CodePart | SparsePart


def part_of(columns: Any) -> Part:
    """A matrix of numbers, sparse or not, as a part."""
    return SparsePart(columns) if sparse.issparse(columns) else NumberPart(np.asarray(columns, dtype=np.float64))


def stacked(parts: Sequence[Any]) -> Part:
    """The same columns of some rows, and of those below them."""
    match parts[0]:
        case NumberPart():
            return NumberPart(np.concatenate([part.X for part in parts]))
        case CodePart(n_levels=n_levels):
            return CodePart(np.concatenate([part.codes for part in parts]), n_levels)
        case _:
            return SparsePart(sparse.vstack([part.matrix for part in parts], format="csr"))


def all_stored(parts: Sequence[Part], begins: Array, n_rows: int) -> Stored:
    """What parts side by side store, where the columns of each begin at `begins`."""
    groups = [list(group) for _, group in groupby(range(len(parts)), lambda j: isinstance(parts[j], SparsePart))]
    stored = []
    for group in groups:
        many = [(part, int(begins[j])) for j in group if not isinstance(part := parts[j], SparsePart)]
        stored += [_written(many, n_rows)] if many else [_shifted(parts[j], int(begins[j])) for j in group]
    return stored[0] if len(stored) == 1 else _interleaved(stored, n_rows)


def _shifted(part: Any, begin: int) -> Stored:
    matrix = part.matrix
    return Stored(matrix.indptr, matrix.indices.astype(np.int64) + begin, matrix.data)


def _written(parts: Sequence[tuple[NumberPart | CodePart, int]], n_rows: int) -> Stored:
    """Entries of numbers and codes, of which each row has as many as any other, but for zeros."""
    ends = np.cumsum([part.width for part, _ in parts])
    last, begin_of_last = parts[-1]
    small = begin_of_last + last.n_columns <= INT32
    indices = np.empty((n_rows, ends[-1]), dtype=np.int32 if small else np.int64)
    values = np.empty(indices.shape)
    for (part, begin), end in zip(parts, ends, strict=True):
        mine = indices[:, end - part.width : end]
        part.write(mine, values[:, end - part.width : end])
        mine += begin
    present = values != 0
    if present.all():
        return Stored(np.arange(n_rows + 1, dtype=np.int64) * indices.shape[1], indices.ravel(), values.ravel())
    return Stored(np.append(0, np.cumsum(present.sum(axis=1))), indices[present], values[present])


def _interleaved(parts: list[Stored], n_rows: int) -> Stored:
    """The entries of each row of one after those of the one before."""
    counts = [np.diff(part.indptr).astype(np.int64) for part in parts]
    indptr = np.append(0, np.cumsum(np.sum([np.zeros(n_rows, dtype=np.int64), *counts], axis=0)))
    indices, values = np.empty(indptr[-1], dtype=np.int64), np.empty(indptr[-1])
    start = indptr[:-1].copy()
    for part, count in zip(parts, counts, strict=True):
        places = np.repeat(start - part.indptr[:-1], count) + np.arange(len(part.indices))
        indices[places] = part.indices
        values[places] = part.values
        start += count
    return Stored(indptr, indices, values)
