"""A matrix made of parts, each in the form it was found in: categories stay codes, counts stay sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from mercer._errors import DataError, TooLargeError
from mercer._memory import available_bytes, gigabytes
from mercer._typing import Array
from mercer.designs._encoded_parts import CodePart, Entry, NumberPart, Part, SparsePart, all_stored, part_of, stacked

__all__ = ["CodePart", "Encoded", "NumberPart", "Part", "SparsePart"]

#: of columns: a sequence of str, or an array of such objects
Names = Sequence[str] | Array

#: of the memory that is left, what the whole matrix of numbers may take
SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows × columns of float64, made of parts side by side; made by `Encoded.of`.

    Linear models of mercer read the parts as they are. Whoever asks for an array (`np.asarray`, scikit-learn's
    estimators) gets all columns written out, unless they would take more than half of the memory that is left.
    Rows are chosen as those of an array: `X[5:9]`, `X[[3, 1]]`, `X[mask]`.

    Parameters
    ----------
    parts : tuple of NumberPart, CodePart and SparsePart
        Columns from left to right.
    n_rows : int
        Number of rows, which all parts have.
    given_names : sequence or array of str, optional
        A name for each column.

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

    #: operators with arrays are ours to define
    __array_ufunc__ = None
    ndim = 2
    dtype = np.dtype(np.float64)

    @classmethod
    def of(cls, parts: Sequence[Part], *, names: Names | None = None, n_rows: int | None = None) -> Self:
        """Parts side by side, after a look at their types, sizes and codes.

        Parameters
        ----------
        parts : sequence of NumberPart, CodePart and SparsePart
            Columns from left to right.
        names : sequence or array of str, optional
            A name for each column; x0, x1, … if not given. It is kept as it is, not copied.
        n_rows : int, optional
            Number of rows, to be given where there may be no parts.

        Returns
        -------
        Encoded
        """
        whole = tuple(part.checked() for part in parts)
        rows = {part.n_rows for part in whole} | ({n_rows} if n_rows is not None else set())
        if len(rows) != 1:
            raise DataError(f"the parts have {sorted(rows)} rows; give parts with one and the same number of rows.")
        encoded = cls(whole, rows.pop(), names)
        if names is not None and len(names) != encoded.shape[1]:
            raise DataError(f"{len(names)} names do not fit {encoded.shape[1]} columns; give one for each.")
        return encoded

    @classmethod
    def hstack(cls, blocks: Sequence[Any]) -> Self:
        """Matrices side by side: encoded, sparse, or of numbers.

        Parameters
        ----------
        blocks : sequence of Encoded, sparse matrices and arrays of shape (n_rows, …)
            From left to right.

        Returns
        -------
        Encoded
            With names where every block has some.
        """
        wrapped = [block if isinstance(block, Encoded) else cls.of([part_of(block)]) for block in blocks]
        if not wrapped:
            raise DataError("there is nothing to put side by side; give at least one block.")
        given = [block.given_names for block in wrapped]
        named = [some for some in given if some is not None]
        names = [name for some in named for name in some] if len(named) == len(given) else None
        return cls.of([part for block in wrapped for part in block.parts], names=names, n_rows=wrapped[0].n_rows)

    @classmethod
    def vstack(cls, blocks: Sequence[Self]) -> Self:
        """Rows of one encoder below each other, as `TableFeatures` makes them of one chunk of a source after another.

        Parameters
        ----------
        blocks : sequence of Encoded
            With the same columns in the same parts, from the top down.

        Returns
        -------
        Encoded
            With the names of the first.
        """
        alike = zip(*(block.parts for block in blocks), strict=True)
        return cls.of(
            [stacked(same) for same in alike],
            names=blocks[0].given_names,
            n_rows=sum(block.n_rows for block in blocks),
        )

    @cached_property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.n_rows, int(self.begins[-1])

    @cached_property
    def begins(self) -> Array:
        """Where the columns of each part begin, and where the last ends."""
        return np.cumsum([0, *(part.n_columns for part in self.parts)], dtype=np.int64)

    @property
    def names(self) -> Names:
        """A name for each column."""
        return [f"x{j}" for j in range(self.shape[1])] if self.given_names is None else self.given_names

    @property
    def nbytes(self) -> int:
        """Bytes that the parts take as they are."""
        held = []
        for part in self.parts:
            match part:
                case NumberPart(X):
                    held.append(X.nbytes)
                case CodePart(codes):
                    held.append(codes.nbytes)
                case SparsePart(matrix):
                    held.append(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
        return sum(held)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        parts = ", ".join(map(str, self.parts)) or "none"
        return f"Encoded({self.n_rows} rows × {self.shape[1]} columns: {parts})"

    def __iter__(self) -> Iterator[Array]:
        """Row by row, as vectors."""
        return (self[row] for row in range(self.n_rows))

    def __getitem__(self, key: Any) -> Any:
        """Some rows, encoded as before; a single row, or rows of some columns, as an array."""
        if isinstance(key, tuple) and len(key) > 2:
            raise IndexError(f"{len(key)} indices are too many for rows and columns.")
        rows, columns = (*key, slice(None))[:2] if isinstance(key, tuple) else (key, slice(None))
        if columns is not Ellipsis and not (isinstance(columns, slice) and columns == slice(None)):
            return self._entries(rows, columns)
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
        """Positions of rows, which are given as such or as a mask."""
        rows = np.asarray(rows)
        if rows.dtype == bool and rows.shape != (self.n_rows,):
            raise IndexError(f"a mask of shape {rows.shape} does not fit {self.n_rows} rows.")
        if rows.ndim != 1 or (rows.dtype.kind not in "biu" and len(rows)):
            raise IndexError("rows are chosen by a slice, a vector of positions, or a mask.")
        if rows.dtype == bool:
            return np.flatnonzero(rows)
        if len(rows) and not (-self.n_rows <= rows.min() and rows.max() < self.n_rows):
            raise IndexError(f"a position lies outside the {self.n_rows} rows.")
        positions: Array = rows.astype(np.int64, copy=False)
        return positions

    def _entries(self, rows: Any, columns: Any) -> Any:
        chosen = sparse.csr_array(self.tocsr())[rows, columns]
        return chosen.toarray() if hasattr(chosen, "toarray") else chosen

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All columns written out; `TooLargeError` where they would take more than half of the memory left."""
        if copy is False:
            raise ValueError("the columns are not kept as an array, so that there is none without a copy.")
        return self.toarray().astype(np.float64 if dtype is None else dtype, copy=False)

    def toarray(self) -> Array:
        """All columns written out.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            float64. `TooLargeError` where it would take more than half of the memory that is left.
        """
        self._refuse_large()
        dense = np.zeros(self.shape)
        for part, begin, end in zip(self.parts, self.begins, self.begins[1:], strict=False):
            part.fill(dense[:, begin:end])
        return dense

    def _refuse_large(self) -> None:
        needed = 8.0 * self.shape[0] * self.shape[1]
        if needed > SHARE * (left := available_bytes()):
            raise TooLargeError(
                f"{self.shape[0]:,} rows × {self.shape[1]:,} columns written out as numbers would take "
                f"{gigabytes(needed)}, more than half of the {gigabytes(left)} of memory that are left. Linear models "
                "of mercer (GLM, LogisticRegression, Ridge, …) read them as they are; others may take `X.tocsr()`; or "
                "encode fewer levels, with max_levels, min_frequency or hashed."
            )

    def tocsr(self) -> Any:
        """As a sparse matrix.

        Returns
        -------
        csr_matrix of shape (n_rows, n_columns)
            float64; zeros among the numbers are not stored.
        """
        indptr, indices, values = all_stored(self.parts, self.begins, self.n_rows)
        values = values.astype(np.float64, copy=False)
        matrix = sparse.csr_matrix((values, indices, indptr), shape=self.shape)  # with small indices if they fit
        matrix.has_canonical_format = True
        return matrix

    def __matmul__(self, w: Any) -> Array:
        """X w, without writing anything out."""
        w = np.asarray(w)
        if w.ndim not in (1, 2) or len(w) != self.shape[1]:
            raise ValueError(f"coefficients of shape {w.shape} do not fit {self.shape[1]} columns.")
        product = np.zeros((self.n_rows, *w.shape[1:]))
        for part, begin, end in zip(self.parts, self.begins, self.begins[1:], strict=False):
            product += part.times(w[begin:end])
        return product

    @property
    def T(self) -> Transposed:
        """The transposed matrix, for products with it."""
        return Transposed(self)

    def squared(self) -> Self:
        """The square of every number."""
        return replace(self, parts=tuple(part.squared() for part in self.parts))

    def first_where(self, bad: Callable[[Array], Array]) -> Entry | None:
        """Row, column and value of the first entry that is `bad`; of sparse parts only what is stored is asked."""
        found = []
        for part, begin in zip(self.parts, self.begins, strict=False):
            if (entry := part.first_where(bad)) is not None:
                found.append((entry[0], entry[1] + int(begin), entry[2]))
        return min(found, key=lambda entry: entry[:2]) if found else None


@dataclass(frozen=True, eq=False)
class Transposed:
    """Columns × rows, known by its products."""

    of: Encoded

    #: operators with arrays are ours to define
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """(columns, rows)."""
        return self.of.shape[::-1]

    def __matmul__(self, r: Any) -> Array:
        """Xᵀ r, without writing anything out."""
        r = np.asarray(r)
        if r.ndim not in (1, 2) or len(r) != self.of.n_rows:
            raise ValueError(f"numbers of shape {r.shape} do not fit {self.of.n_rows} rows.")
        products = [part.transposed_times(r) for part in self.of.parts]
        return np.concatenate([np.zeros((0, *r.shape[1:])), *products])
