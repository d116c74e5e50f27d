"""Encoded matrices: numbers, codes of categories and sparse columns as parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from mercer._errors import DataError, TooLargeError
from mercer._memory import available_bytes, gigabytes
from mercer._typing import Array

# The parts: numbers, codes of levels, or a sparse matrix.

#: number of columns beyond which indices need 64 bits
MAX_INT32_COLUMNS = np.iinfo(np.int32).max
#: row, column and value of an entry
Entry = tuple[int, int, Any]


class StoredEntries(NamedTuple):
    """Arrays of a CSR matrix."""

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
        """Convert to float64 and check the shape."""
        X = np.asarray(self.X, dtype=np.float64)
        if X.ndim != 2:
            raise DataError(f"numbers must be a matrix, but have the shape {X.shape}; use X.reshape(len(X), -1).")
        return self if X is self.X else type(self)(X)

    def rows(self, rows: Any) -> Self:
        return type(self)(self.X[rows])

    def fill(self, dense: Array) -> None:
        """Write the columns into a matrix of zeros."""
        dense[:] = self.X

    def matvec(self, w: Array) -> Array:
        return np.asarray(self.X @ w)

    def rmatvec(self, r: Array) -> Array:
        return np.asarray(self.X.T @ r)

    def squared(self) -> Self:
        return type(self)(np.square(self.X))

    @property
    def width(self) -> int:
        """Largest number of stored entries of a row."""
        return self.n_columns

    def write(self, indices: Array, values: Array) -> None:
        """Write columns and values of the entries of each row; entries with the value 0 are to be dropped."""
        indices[:] = np.arange(self.n_columns)
        values[:] = self.X

    def first_where(self, bad: Callable[[Array], Array]) -> Entry | None:
        places = np.argwhere(bad(self.X))
        return (int(places[0, 0]), int(places[0, 1]), self.X[tuple(places[0])]) if len(places) else None

    def __str__(self) -> str:
        return f"{self.n_columns} of numbers"


@dataclass(frozen=True, eq=False)
class CodePart:
    """One-hot columns, one per level, as an int32 code per row; −1 is a row of zeros."""

    codes: Array
    n_levels: int

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def n_columns(self) -> int:
        return self.n_levels

    def checked(self) -> Self:
        """Convert to int32 and check the range."""
        codes = np.asarray(self.codes)
        if codes.ndim != 1 or codes.dtype.kind not in "iu":
            raise DataError(f"codes must be a vector of integers, not of {codes.dtype} with the shape {codes.shape}.")
        if len(codes) and (codes.min() < -1 or codes.max() >= self.n_levels):
            row = int(np.argmax((codes < -1) | (codes >= self.n_levels)))
            raise DataError(
                f"the code {codes[row]} of row {row} lies outside −1 … {self.n_levels - 1}; levels are coded from 0 "
                "on, and −1 means no level."
            )
        codes = codes.astype(np.int32, copy=False)
        return self if codes is self.codes else type(self)(codes, self.n_levels)

    def rows(self, rows: Any) -> Self:
        return type(self)(self.codes[rows], self.n_levels)

    def fill(self, dense: Array) -> None:
        rows = np.flatnonzero(self.codes >= 0)
        dense[rows, self.codes[rows]] = 1.0

    def matvec(self, w: Array) -> Array:
        if not self.n_levels:
            return np.zeros((self.n_rows, *w.shape[1:]))
        product = np.take(w, self.codes, axis=0, mode="clip")
        if len(none := np.flatnonzero(self.codes < 0)):
            product[none] = 0.0
        return product

    def rmatvec(self, r: Array) -> Array:
        places, product = self.codes + np.int64(1), np.empty((self.n_levels, *r.shape[1:]))
        for column, total in zip(np.atleast_2d(r.T), np.atleast_2d(product.T), strict=True):
            total[:] = np.bincount(places, weights=column, minlength=self.n_levels + 1)[1:]
        return product

    def squared(self) -> Self:
        return self  # 0² = 0 and 1² = 1

    @property
    def width(self) -> int:
        return int(self.n_levels > 0)

    def write(self, indices: Array, values: Array) -> None:
        if self.n_levels:
            indices[:, 0] = self.codes
            values[:, 0] = self.codes >= 0

    def first_where(self, bad: Callable[[Array], Array]) -> Entry | None:
        return None  # 0 and 1 are never bad

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
        """Convert to CSR and sum duplicate entries."""
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

    def matvec(self, w: Array) -> Array:
        return np.asarray(self.matrix @ w)

    def rmatvec(self, r: Array) -> Array:
        return np.asarray(self.matrix.T @ r)

    def squared(self) -> Self:
        return type(self)(self.matrix.multiply(self.matrix).tocsr())

    def first_where(self, bad: Callable[[Array], Array]) -> Entry | None:
        if not (is_bad := bad(self.matrix.data)).any():
            return None
        place = int(np.argmax(is_bad))
        row = int(np.searchsorted(self.matrix.indptr, place, side="right")) - 1
        return row, int(self.matrix.indices[place]), self.matrix.data[place]

    def __str__(self) -> str:
        return f"{self.n_columns} sparse"


Part = NumberPart | CodePart | SparsePart


def as_part(columns: Any) -> Part:
    """Return a dense or sparse matrix as a part."""
    return SparsePart(columns) if sparse.issparse(columns) else NumberPart(np.asarray(columns, dtype=np.float64))


def stack_parts(parts: Sequence[Any]) -> Part:
    """Concatenate the rows of parts with the same columns."""
    match parts[0]:
        case NumberPart():
            return NumberPart(np.concatenate([part.X for part in parts]))
        case CodePart(n_levels=n_levels):
            return CodePart(np.concatenate([part.codes for part in parts]), n_levels)
        case _:
            return SparsePart(sparse.vstack([part.matrix for part in parts], format="csr"))


def stored_entries(parts: Sequence[Part], begins: Array, n_rows: int) -> StoredEntries:
    """Entries of parts side by side, where `begins` holds the first column of each."""
    groups = [list(group) for _, group in groupby(range(len(parts)), lambda j: isinstance(parts[j], SparsePart))]
    stored = []
    for group in groups:
        many = [(part, int(begins[j])) for j in group if not isinstance(part := parts[j], SparsePart)]
        if many:
            stored.append(_entries_of_numbers_and_codes(many, n_rows))
            continue
        for j in group:
            matrix: Any = parts[j].matrix  # type: ignore[union-attr]
            stored.append(StoredEntries(matrix.indptr, matrix.indices.astype(np.int64) + int(begins[j]), matrix.data))
    return stored[0] if len(stored) == 1 else _interleave(stored, n_rows)


def _entries_of_numbers_and_codes(parts: Sequence[tuple[NumberPart | CodePart, int]], n_rows: int) -> StoredEntries:
    """Entries of numbers and codes, of which every row has the same number except for zeros."""
    ends = np.cumsum([part.width for part, _ in parts])
    last, begin_of_last = parts[-1]
    small = begin_of_last + last.n_columns <= MAX_INT32_COLUMNS
    indices = np.empty((n_rows, ends[-1]), dtype=np.int32 if small else np.int64)
    values = np.empty(indices.shape)
    for (part, begin), end in zip(parts, ends, strict=True):
        columns = indices[:, end - part.width : end]
        part.write(columns, values[:, end - part.width : end])
        columns += begin
    present = values != 0
    if present.all():
        return StoredEntries(np.arange(n_rows + 1, dtype=np.int64) * indices.shape[1], indices.ravel(), values.ravel())
    return StoredEntries(np.append(0, np.cumsum(present.sum(axis=1))), indices[present], values[present])


def _interleave(parts: list[StoredEntries], n_rows: int) -> StoredEntries:
    """Join entries row by row, those of a part after those of the previous part."""
    counts = [np.diff(part.indptr).astype(np.int64) for part in parts]
    indptr = np.append(0, np.cumsum(np.sum([np.zeros(n_rows, dtype=np.int64), *counts], axis=0)))
    indices, values = np.empty(indptr[-1], dtype=np.int64), np.empty(indptr[-1])
    start = indptr[:-1].copy()
    for part, count in zip(parts, counts, strict=True):
        places = np.repeat(start - part.indptr[:-1], count) + np.arange(len(part.indices))
        indices[places] = part.indices
        values[places] = part.values
        start += count
    return StoredEntries(indptr, indices, values)


# The matrix of parts.

#: names of columns: a sequence of str, or an array of str objects
Names = Sequence[str] | Array

#: share of the available memory that the dense matrix may take
DENSE_SHARE_OF_MEMORY = 0.5


@dataclass(frozen=True, eq=False)
class Encoded:
    """Matrix of float64 of shape (rows, columns) that consists of parts; built by `Encoded.of`.

    Linear models of mercer multiply the parts directly. `np.asarray` and the estimators of scikit-learn get a dense
    matrix, unless it would take more than half of the available memory.
    Rows are selected as those of an array: `X[5:9]`, `X[[3, 1]]`, `X[mask]`.

    Parameters
    ----------
    parts : tuple of NumberPart, CodePart and SparsePart
        Columns from left to right.
    n_rows : int
        Number of rows of all parts.
    given_names : sequence or array of str, optional
        Name of each column.

    Examples
    --------
    >>> X = Encoded.of([NumberPart(np.array([[31.0], [40.0], [28.0]])), CodePart(np.array([1, 0, -1]), 2)])
    >>> X
    Encoded(3 rows × 3 columns: 1 of numbers, 2 of levels)
    >>> X.toarray()
    array([[31.,  0.,  1.],
           [40.,  1.,  0.],
           [28.,  0.,  0.]])
    >>> X[1:].shape
    (2, 3)
    """

    parts: tuple[Part, ...]
    n_rows: int
    given_names: Names | None = None

    #: operators with arrays call the methods of this class
    __array_ufunc__ = None
    ndim = 2
    dtype = np.dtype(np.float64)

    @classmethod
    def of(cls, parts: Sequence[Part], *, names: Names | None = None, n_rows: int | None = None) -> Self:
        """Join parts from left to right after a check of their types, sizes and codes.

        Parameters
        ----------
        parts : sequence of NumberPart, CodePart and SparsePart
            Columns from left to right.
        names : sequence or array of str, optional
            Name of each column; x0, x1, … if not given. It is not copied.
        n_rows : int, optional
            Number of rows; required if there are no parts.

        Returns
        -------
        Encoded
        """
        checked = tuple(part.checked() for part in parts)
        rows = {part.n_rows for part in checked} | ({n_rows} if n_rows is not None else set())
        if len(rows) != 1:
            raise DataError(f"the parts have {sorted(rows)} rows; give parts with the same number of rows.")
        encoded = cls(checked, rows.pop(), names)
        if names is not None and len(names) != encoded.shape[1]:
            raise DataError(f"{len(names)} names do not fit {encoded.shape[1]} columns; give one for each.")
        return encoded

    @classmethod
    def hstack(cls, blocks: Sequence[Any]) -> Self:
        """Join encoded, sparse and dense matrices from left to right.

        Parameters
        ----------
        blocks : sequence of Encoded, sparse matrices and arrays of shape (n_rows, …)
            From left to right.

        Returns
        -------
        Encoded
            With names if every block has names.
        """
        wrapped = [block if isinstance(block, Encoded) else cls.of([as_part(block)]) for block in blocks]
        if not wrapped:
            raise DataError("there is no block to join; give at least one.")
        given = [block.given_names for block in wrapped]
        named = [names for names in given if names is not None]
        names = [name for block_names in named for name in block_names] if len(named) == len(given) else None
        return cls.of([part for block in wrapped for part in block.parts], names=names, n_rows=wrapped[0].n_rows)

    @classmethod
    def vstack(cls, blocks: Sequence[Self]) -> Self:
        """Concatenate the rows of matrices of one encoder, such as the chunks that `TableFeatures` encodes.

        Parameters
        ----------
        blocks : sequence of Encoded
            Matrices with the same columns in the same parts, from top to bottom.

        Returns
        -------
        Encoded
            With the names of the first block.
        """
        return cls.of(
            [stack_parts(parts) for parts in zip(*(block.parts for block in blocks), strict=True)],
            names=blocks[0].given_names,
            n_rows=sum(block.n_rows for block in blocks),
        )

    @cached_property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.n_rows, int(self.begins[-1])

    @cached_property
    def begins(self) -> Array:
        """First column of each part, and the number of all columns."""
        return np.cumsum([0, *(part.n_columns for part in self.parts)], dtype=np.int64)

    @property
    def names(self) -> Names:
        """Name of each column."""
        return [f"x{j}" for j in range(self.shape[1])] if self.given_names is None else self.given_names

    @property
    def nbytes(self) -> int:
        """Number of bytes of the parts."""
        sizes = []
        for part in self.parts:
            match part:
                case NumberPart(X):
                    sizes.append(X.nbytes)
                case CodePart(codes):
                    sizes.append(codes.nbytes)
                case SparsePart(matrix):
                    sizes.append(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
        return sum(sizes)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        parts = ", ".join(map(str, self.parts)) or "none"
        return f"Encoded({self.n_rows} rows × {self.shape[1]} columns: {parts})"

    def __iter__(self) -> Iterator[Array]:
        """Iterate over the rows as vectors."""
        return (self[row] for row in range(self.n_rows))

    def __getitem__(self, key: Any) -> Any:
        """Select rows as an encoded matrix; a single row, or a selection of columns, as an array."""
        if isinstance(key, tuple) and len(key) > 2:
            raise IndexError(f"{len(key)} indices are too many for rows and columns.")
        rows, columns = (*key, slice(None))[:2] if isinstance(key, tuple) else (key, slice(None))
        if columns is not Ellipsis and not (isinstance(columns, slice) and columns == slice(None)):
            chosen = sparse.csr_array(self.tocsr())[rows, columns]
            return chosen.toarray() if hasattr(chosen, "toarray") else chosen
        if rows is Ellipsis:
            return self
        if isinstance(rows, int | np.integer):
            if not -self.n_rows <= rows < self.n_rows:
                raise IndexError(f"row {rows} is out of bounds: there are {self.n_rows}.")
            return self._rows(slice(rows % self.n_rows, rows % self.n_rows + 1)).toarray()[0]
        return self._rows(rows if isinstance(rows, slice) else self._positions(rows))

    def _rows(self, rows: Any) -> Self:
        n_rows = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        return type(self)(tuple(part.rows(rows) for part in self.parts), n_rows, self.given_names)

    def _positions(self, rows: Any) -> Array:
        """Positions of rows given by positions or a mask."""
        rows = np.asarray(rows)
        if rows.dtype == bool and rows.shape != (self.n_rows,):
            raise IndexError(f"a mask of shape {rows.shape} does not fit {self.n_rows} rows.")
        if rows.ndim != 1 or (rows.dtype.kind not in "biu" and len(rows)):
            raise IndexError("rows are selected by a slice, a vector of positions, or a mask.")
        if rows.dtype == bool:
            return np.flatnonzero(rows)
        if len(rows) and not (-self.n_rows <= rows.min() and rows.max() < self.n_rows):
            raise IndexError(f"a position lies outside the {self.n_rows} rows.")
        positions: Array = rows.astype(np.int64, copy=False)
        return positions

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return a dense matrix; `TooLargeError` if it would take more than half of the available memory."""
        if copy is False:
            raise ValueError("the columns are not stored as one array; allow a copy.")
        return self.toarray().astype(np.float64 if dtype is None else dtype, copy=False)

    def toarray(self) -> Array:
        """Return a dense matrix.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            float64. `TooLargeError` if it would take more than half of the available memory.
        """
        needed = 8.0 * self.shape[0] * self.shape[1]
        if needed > DENSE_SHARE_OF_MEMORY * (left := available_bytes()):
            raise TooLargeError(
                f"{self.shape[0]:,} rows × {self.shape[1]:,} columns written out as numbers would take "
                f"{gigabytes(needed)}, more than half of the {gigabytes(left)} of memory that are left. Linear models "
                "of mercer (GLM, LogisticRegression, Ridge, …) read them as they are; others may take `X.tocsr()`; or "
                "encode fewer levels, with max_levels, min_frequency or hashed."
            )
        dense = np.zeros(self.shape)
        for part, begin, end in zip(self.parts, self.begins, self.begins[1:], strict=False):
            part.fill(dense[:, begin:end])
        return dense

    def tocsr(self) -> Any:
        """Return a sparse matrix.

        Returns
        -------
        csr_matrix of shape (n_rows, n_columns)
            float64; zeros among the numbers are not stored.
        """
        indptr, indices, values = stored_entries(self.parts, self.begins, self.n_rows)
        values = values.astype(np.float64, copy=False)
        matrix = sparse.csr_matrix((values, indices, indptr), shape=self.shape)  # converts indices to int32 if they fit
        matrix.has_canonical_format = True
        return matrix

    def __matmul__(self, w: Any) -> Array:
        """X w, without a dense matrix."""
        w = np.asarray(w)
        if w.ndim not in (1, 2) or len(w) != self.shape[1]:
            raise ValueError(f"coefficients of shape {w.shape} do not fit {self.shape[1]} columns.")
        product = np.zeros((self.n_rows, *w.shape[1:]))
        for part, begin, end in zip(self.parts, self.begins, self.begins[1:], strict=False):
            product += part.matvec(w[begin:end])
        return product

    @property
    def T(self) -> Transposed:
        """Transposed matrix, for products."""
        return Transposed(self)

    def squared(self) -> Self:
        """Return the matrix of the squares of all entries."""
        return replace(self, parts=tuple(part.squared() for part in self.parts))

    def first_where(self, bad: Callable[[Array], Array]) -> Entry | None:
        """Row, column and value of the first entry that is `bad`, among the stored entries of sparse parts."""
        entries = []
        for part, begin in zip(self.parts, self.begins, strict=False):
            if (entry := part.first_where(bad)) is not None:
                entries.append((entry[0], entry[1] + int(begin), entry[2]))
        return min(entries, key=lambda entry: entry[:2]) if entries else None


@dataclass(frozen=True, eq=False)
class Transposed:
    """Transpose of an encoded matrix, for products."""

    of: Encoded

    #: operators with arrays call the methods of this class
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """(columns, rows)."""
        return self.of.shape[::-1]

    def __matmul__(self, r: Any) -> Array:
        """Xᵀ r, without a dense matrix."""
        r = np.asarray(r)
        if r.ndim not in (1, 2) or len(r) != self.of.n_rows:
            raise ValueError(f"numbers of shape {r.shape} do not fit {self.of.n_rows} rows.")
        products = [part.rmatvec(r) for part in self.of.parts]
        return np.concatenate([np.zeros((0, *r.shape[1:])), *products])


def places_of(X: Encoded, kind: type) -> Array:
    """Positions of the columns of all parts of a kind."""
    runs = [np.arange(*X.begins[j : j + 2]) for j, part in enumerate(X.parts) if isinstance(part, kind)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *runs])


def number_places(X: Encoded) -> Array:
    """Positions of the columns of numbers."""
    return places_of(X, NumberPart)


def numbers_of(X: Encoded) -> Array:
    """Columns of numbers as one matrix."""
    numbers = [part.X for part in X.parts if isinstance(part, NumberPart) and part.n_columns]
    return numbers[0] if len(numbers) == 1 else np.hstack([np.empty((X.n_rows, 0)), *numbers])
