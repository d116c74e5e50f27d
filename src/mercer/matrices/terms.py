"""Designs of tables: the names and levels of the coefficients, and the conversion of new rows."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from mercer._errors import ColumnMismatchError, ColumnTypeError
from mercer._stored import length, optional, sequence, stored
from mercer._threads import ordered_map
from mercer._typing import Array
from mercer.data.coding import code_array
from mercer.data.kinds import Kind
from mercer.data.table import Table
from mercer.matrices.base import Matrix
from mercer.matrices.categorical import CategoricalMatrix, Category, category_places
from mercer.matrices.construction import as_matrix, standardize
from mercer.matrices.coordinates import Coordinates, positive_weight_rows
from mercer.matrices.dense import DenseMatrix
from mercer.matrices.encoded import Encoded
from mercer.matrices.split import SplitMatrix


def _counts_agree(terms: Terms) -> bool:
    """Return whether there is a coordinate for each number and each level, as a model file may contain anything."""
    if not all(0 <= place < terms.n_columns for place in terms.categories):
        return False
    levels = sum(len(category.names) for category in terms.categories.values())
    return terms.n_columns - len(terms.categories) + levels == len(terms.coordinates.shift)


@stored(
    _counts_agree,
    n_columns=length("d"),
    column_names=optional(sequence("d")),
)
@dataclass(frozen=True, eq=False)
class Terms:
    """Columns and levels of the coefficients of a design, which convert new rows to the same design.

    Examples
    --------
    >>> import pyarrow as pa
    >>> _, terms = matrix_of(pa.table({"age": [31.0, 40.0, 28.0], "city": ["Ulm", "Bonn", "Ulm"]}))
    >>> terms.names
    ('age', 'city[Ulm]')
    >>> terms.design(pa.table({"age": [50.0], "city": ["Bonn"]})).n_columns
    3
    """

    n_columns: int
    #: None if the columns have no names
    column_names: tuple[str, ...] | None
    #: categories by the positions of their columns
    categories: Mapping[int, Category]
    coordinates: Coordinates

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each coefficient, without the intercept."""
        columns = self.column_names or tuple(f"x{j}" for j in range(self.n_columns))
        by_column = (self.categories[j].names if j in self.categories else (name,) for j, name in enumerate(columns))
        return tuple(name for names in by_column for name in names)

    def design(self, data: Any) -> Matrix:
        """Return the design of new rows, in the same coordinates."""
        if isinstance(data, Encoded):
            if self.categories or data.shape[1] != self.n_columns:
                raise ColumnMismatchError(
                    f"X has {data.shape[1]} encoded columns, but the model was fitted to {self.n_columns}"
                    f"{', some of them categories' if self.categories else ''}; give the columns of the fit."
                )
            return as_matrix(data, self.coordinates)
        table = data if isinstance(data, Table) else Table.of(data)
        if table.library == "scipy" and not self.categories and table.n_columns == self.n_columns:
            return as_matrix(table.native, self.coordinates)
        positions = self._positions(table)
        codes = ordered_map(lambda j: self.categories[j].codes(table.coded(positions[j])), self.categories)
        return _TableColumns(table, positions, self.categories, codes).design(self.coordinates)

    def design_of_columns(self, columns: Any, labels: Sequence[Array]) -> Matrix:
        """Return the design of rows given as numbers, or a sparse matrix, and the labels of each category."""
        if sparse.issparse(columns):
            return as_matrix(columns, self.coordinates)
        if not self.categories:
            return DenseMatrix(columns, self.coordinates)
        codes = [
            category.codes(code_array(values))
            for category, values in zip(self.categories.values(), labels, strict=True)
        ]
        numbers, coded = _places(self.categories, self.n_columns)
        return SplitMatrix.of(
            DenseMatrix(columns, self.coordinates.at(numbers)) if len(numbers) else None,
            codes=_codes(self.categories, codes),
            places=(numbers, coded) if len(numbers) else (coded,),
            intercept=self.coordinates.intercept,
        )

    def _positions(self, table: Table) -> list[int]:
        """Positions of the columns of the fit in a table; an error if one is absent or has another type."""
        if self.column_names is not None and table.column_names is not None:
            positions = [table.position(name) for name in self.column_names]
        elif table.n_columns == self.n_columns:
            positions = list(range(self.n_columns))
        else:
            raise ColumnMismatchError(
                f"X has {table.n_columns} columns, but it had {self.n_columns} when the model was fitted; give the "
                "same columns in the same order."
            )
        for j, position in enumerate(positions):
            is_category = table.kinds[position] is Kind.CATEGORY
            if is_category != (j in self.categories):
                was, now = ("numbers", "categories") if is_category else ("categories", "numbers")
                raise ColumnTypeError(
                    f"Column {table.names[position]!r} held {was} when the model was fitted, and now holds {now}; "
                    "convert it to the type it had."
                )
        return positions


def matrix_of(
    data: Any, *, intercept: bool = True, drop_first: bool = True, weight: Array | None = None
) -> tuple[Matrix, Terms]:
    """Return the design of a matrix or frame, and its terms.

    Numbers and booleans have one coefficient each, categories one for each level that occurs, in the order that their
    type declares or else sorted. Coefficients are in the order of the columns, the intercept last.

    Parameters
    ----------
    data : Encoded, Table, or an argument of `Table.of`
        An array, sparse matrix or frame. A matrix of floats is not copied.
    intercept : bool, default=True
        Whether a column of ones is added, and columns may be shifted.
    drop_first : bool, default=True
        Whether the first level of each category has no coefficient: the other levels are compared with it. Without
        a penalty, all levels together would be collinear with the intercept.
    weight : array, optional
        Weight of each row. Rows of weight zero have no influence on the shifts and scales of columns.

    Returns
    -------
    (Matrix, Terms)
    """
    if isinstance(data, Encoded):
        design = standardize(data, intercept=intercept, weight=weight)
        names = None if data.given_names is None else tuple(data.given_names)
        return design, Terms(data.shape[1], names, {}, design.coordinates)
    table = data if isinstance(data, Table) else Table.of(data)
    if table.library == "scipy":
        design = standardize(table.native, intercept=intercept, weight=weight)
        return design, Terms(table.n_columns, None, {}, design.coordinates)
    positions = category_places(table)
    # a table without rows, as some libraries convert a column to find its levels
    types = table.take(np.zeros(0, dtype=np.int64))

    def read(j: int) -> tuple[Category, Array]:
        coded = table.coded(j)
        category = Category.of(table.names[j], coded, types.declared_levels(j), drop_first=drop_first)
        return category, category.codes(coded)

    by_column = dict(zip(positions, ordered_map(read, positions), strict=True))
    categories = {j: category for j, (category, _) in by_column.items()}
    all_codes = [codes for _, codes in by_column.values()]
    columns = _TableColumns(table, list(range(table.n_columns)), categories, all_codes)
    rows = positive_weight_rows(np.arange(table.n_rows), weight)
    known = columns.take(rows).design(None, intercept=intercept).coordinates if len(rows) < table.n_rows else None
    design = columns.design(known, intercept=intercept)
    return design, Terms(table.n_columns, table.column_names, categories, design.coordinates)


@dataclass(frozen=True)
class _TableColumns:
    """Columns of a table in the order of the fit, at `positions`, with the codes of the categories among them."""

    table: Table
    positions: list[int]
    categories: Mapping[int, Category]
    codes: list[Array]

    def take(self, rows: Array) -> _TableColumns:
        return replace(self, table=self.table.take(rows), codes=[codes[rows] for codes in self.codes])

    def design(self, known: Coordinates | None, *, intercept: bool = False) -> Matrix:
        """Return the design in known coordinates, or in coordinates chosen by the data."""
        intercept = intercept if known is None else known.intercept
        if not self.categories:
            X = self._numbers(self.positions)
            return DenseMatrix(X, Coordinates.of(X, intercept=intercept) if known is None else known)
        numbers, codes = _places(self.categories, len(self.positions))
        return SplitMatrix.of(
            self._dense_part(numbers, known, intercept),
            codes=_codes(self.categories, self.codes),
            places=(numbers, codes) if len(numbers) else (codes,),
            intercept=intercept,
        )

    def _dense_part(self, places: Array, known: Coordinates | None, intercept: bool) -> DenseMatrix | None:
        if not len(places):
            return None
        X = self._numbers([position for j, position in enumerate(self.positions) if j not in self.categories])
        if known is None:
            chosen = Coordinates.of(X, intercept=intercept)
            return DenseMatrix(X, replace(chosen, intercept=False))
        return DenseMatrix(X, known.at(places))

    def _numbers(self, positions: list[int]) -> Array:
        """Columns as a matrix: the matrix that holds the data, or else a copy."""
        if positions == list(range(self.table.n_columns)):
            with contextlib.suppress(TypeError, ValueError, RuntimeError):  # errors differ between libraries
                matrix = np.asarray(self.table.native, copy=False)
                if matrix.dtype.kind in "fiub":
                    return matrix
        dtype = self.table.rows(slice(0, 0)).numbers(positions).dtype
        # in column order, in which a few columns are multiplied faster
        X = np.empty((self.table.n_rows, len(positions)), dtype=dtype, order="F")

        def fill(place: int) -> None:
            X[:, place] = self.table.numbers([positions[place]])[:, 0]

        ordered_map(fill, range(len(positions)))
        return X


def _places(categories: Mapping[int, Category], n_columns: int) -> tuple[Array, Array]:
    """Positions of the coefficients of numbers and of codes."""
    sizes = [len(categories[j].names) if j in categories else 1 for j in range(n_columns)]
    is_code = np.repeat([j in categories for j in range(n_columns)], sizes)
    return np.flatnonzero(~is_code), np.flatnonzero(is_code)


def with_categories(numbers: Coordinates, categories: Mapping[int, Category], n_columns: int) -> Coordinates:
    """Extend the coordinates of the numerical columns to all coefficients."""
    places, codes = _places(categories, n_columns)
    shift, scale = np.zeros(len(places) + len(codes)), np.ones(len(places) + len(codes))
    shift[places], scale[places] = numbers.shift, numbers.scale
    return Coordinates(shift, scale, numbers.intercept)


def _codes(categories: Mapping[int, Category], codes: list[Array]) -> CategoricalMatrix:
    drop_first = next(iter(categories.values())).drop_first
    return CategoricalMatrix.of(
        codes, [len(category.levels) for category in categories.values()], drop_first=drop_first
    )
