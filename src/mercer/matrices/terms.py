"""From a table to a design: which coefficient stands for what, and how new rows are read the same way."""

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
from mercer.matrices._base import Design
from mercer.matrices._split import MixedDesign
from mercer.matrices.categorical import Category, CodesDesign, category_places
from mercer.matrices.coordinates import Coordinates, that_count
from mercer.matrices.dense import DenseDesign
from mercer.matrices.encoded import Encoded, encoded_design, sparse_design


def _counts_agree(terms: Terms) -> bool:
    """Whether there is a coordinate for each number and each level; counted, since a file may name any number."""
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
    """What each coefficient stands for, and how rows become a design with those coefficients.

    Examples
    --------
    >>> import pyarrow as pa
    >>> _, terms = design_of(pa.table({"age": [31.0, 40.0, 28.0], "city": ["Ulm", "Bonn", "Ulm"]}))
    >>> terms.names
    ('age', 'city[Ulm]')
    >>> terms.design(pa.table({"age": [50.0], "city": ["Bonn"]})).n_columns
    3
    """

    n_columns: int
    #: None where the columns came without names
    column_names: tuple[str, ...] | None
    #: by the position of their column
    categories: Mapping[int, Category]
    coordinates: Coordinates

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each coefficient, without the intercept."""
        columns = self.column_names or tuple(f"x{j}" for j in range(self.n_columns))
        of_columns = (self.categories[j].names if j in self.categories else (name,) for j, name in enumerate(columns))
        return tuple(name for names in of_columns for name in names)

    def design(self, data: Any) -> Design:
        """The design of new rows, in the same coordinates."""
        if isinstance(data, Encoded):
            return self._of_encoded(data)
        table = data if isinstance(data, Table) else Table.of(data)
        if table.library == "scipy" and not self.categories and table.n_columns == self.n_columns:
            return sparse_design(table.native, self.coordinates)
        positions = self._positions(table)
        codes = ordered_map(lambda j: self.categories[j].codes(table.coded(positions[j])), self.categories)
        return _TermReading(table, positions, self.categories, codes).design(self.coordinates)

    def design_of_columns(self, columns: Any, labels: Sequence[Array]) -> Design:
        """The same of rows whose numbers, or sparse matrix, and whose categories were taken apart."""
        if sparse.issparse(columns):
            return sparse_design(columns, self.coordinates)
        if not self.categories:
            return DenseDesign(columns, self.coordinates)
        codes = [
            category.codes(code_array(values))
            for category, values in zip(self.categories.values(), labels, strict=True)
        ]
        numbers, coded = _places(self.categories, self.n_columns)
        return MixedDesign.of(
            DenseDesign(columns, self.coordinates.at(numbers)) if len(numbers) else None,
            codes=_codes(self.categories, codes),
            places=(numbers, coded) if len(numbers) else (coded,),
            intercept=self.coordinates.intercept,
        )

    def _of_encoded(self, X: Encoded) -> Design:
        if self.categories or X.shape[1] != self.n_columns:
            raise ColumnMismatchError(
                f"X has {X.shape[1]} encoded columns, but the model was fitted to {self.n_columns}"
                f"{', some of them categories' if self.categories else ''}; give the columns of the fit."
            )
        return encoded_design(X, self.coordinates)

    def _positions(self, table: Table) -> list[int]:
        """Where the columns of the fit are in a table, each of the type it had."""
        if self.column_names is not None and table.column_names is not None:
            positions = [table.position(name) for name in self.column_names]
        elif table.n_columns == self.n_columns:
            positions = list(range(self.n_columns))
        else:
            raise ColumnMismatchError(
                f"X has {table.n_columns} columns, but it had {self.n_columns} when the model was fitted; give the "
                "same columns in the same order."
            )
        self._refuse_other_types(table, positions)
        return positions

    def _refuse_other_types(self, table: Table, positions: list[int]) -> None:
        for j, position in enumerate(positions):
            is_category = table.kinds[position] is Kind.CATEGORY
            if is_category != (j in self.categories):
                was, now = ("numbers", "categories") if is_category else ("categories", "numbers")
                raise ColumnTypeError(
                    f"Column {table.names[position]!r} held {was} when the model was fitted, and now holds {now}; "
                    "convert it to the type it had."
                )


def design_of(
    data: Any, *, intercept: bool = True, drop_first: bool = True, weight: Array | None = None
) -> tuple[Design, Terms]:
    """The design of a matrix or frame, and what its coefficients stand for.

    Numbers and booleans have one coefficient each, categories one for each level that occurs: in the order that their
    type declares or else sorted. Coefficients come in the order of the columns, the intercept last.

    Parameters
    ----------
    data : Encoded, Table, or what `Table.of` takes
        An array, sparse matrix or frame. Where it is a matrix of floats, it is read in place.
    intercept : bool, default=True
        Whether a column of ones is added, and columns may be shifted.
    drop_first : bool, default=True
        Whether the first level of each category has no coefficient: it is what the others are compared with. Without
        a penalty, all levels together would be collinear with the intercept.
    weight : array, optional
        Of each row: numbers in rows that weigh nothing, however wild, do not decide how columns are shifted and scaled.

    Returns
    -------
    (Design, Terms)
    """
    if isinstance(data, Encoded):
        some = that_count(data, weight)
        known = None if some is data else encoded_design(some, None, intercept=intercept).coordinates
        design = encoded_design(data, known, intercept=intercept)
        names = None if data.given_names is None else tuple(data.given_names)
        return design, Terms(data.shape[1], names, {}, design.coordinates)
    table = data if isinstance(data, Table) else Table.of(data)
    if table.library == "scipy":
        X = table.native.tocsr()
        some = that_count(X, weight)
        known = None if some is X else sparse_design(some, None, intercept=intercept).coordinates
        design = sparse_design(X, known, intercept=intercept)
        return design, Terms(table.n_columns, None, {}, design.coordinates)
    positions = category_places(table)
    # asked of no rows: some libraries convert a column to find its levels
    types = table.take(np.zeros(0, dtype=np.int64))

    def read(j: int) -> tuple[Category, Array]:
        coded = table.coded(j)
        category = Category.of(table.names[j], coded, types.declared_levels(j), drop_first=drop_first)
        return category, category.codes(coded)

    found = dict(zip(positions, ordered_map(read, positions), strict=True))
    categories = {j: category for j, (category, _) in found.items()}
    reading = _TermReading(table, list(range(table.n_columns)), categories, [codes for _, codes in found.values()])
    heavy = that_count(np.arange(table.n_rows), weight)
    known = reading.take(heavy).design(None, intercept=intercept).coordinates if len(heavy) < table.n_rows else None
    design = reading.design(known, intercept=intercept)
    return design, Terms(table.n_columns, table.column_names, categories, design.coordinates)


@dataclass(frozen=True)
class _TermReading:
    """Columns of a table, in the order of the fit: those at `positions`, the categories among them as codes."""

    table: Table
    positions: list[int]
    categories: Mapping[int, Category]
    codes: list[Array]

    def take(self, rows: Array) -> _TermReading:
        return replace(self, table=self.table.take(rows), codes=[codes[rows] for codes in self.codes])

    def design(self, known: Coordinates | None, *, intercept: bool = False) -> Design:
        """In known coordinates, or in ones chosen by the data."""
        intercept = intercept if known is None else known.intercept
        if not self.categories:
            X = self._numbers(self.positions)
            return DenseDesign(X, Coordinates.of(X, intercept=intercept) if known is None else known)
        numbers, codes = _places(self.categories, len(self.positions))
        return MixedDesign.of(
            self._part_of_numbers(numbers, known, intercept),
            codes=_codes(self.categories, self.codes),
            places=(numbers, codes) if len(numbers) else (codes,),
            intercept=intercept,
        )

    def _part_of_numbers(self, places: Array, known: Coordinates | None, intercept: bool) -> DenseDesign | None:
        if not len(places):
            return None
        X = self._numbers([position for j, position in enumerate(self.positions) if j not in self.categories])
        if known is None:
            chosen = Coordinates.of(X, intercept=intercept)
            return DenseDesign(X, replace(chosen, intercept=False))
        return DenseDesign(X, known.at(places))

    def _numbers(self, positions: list[int]) -> Array:
        """Columns as a matrix: the one that holds the data, where there is one, else a copy of them."""
        if positions == list(range(self.table.n_columns)):
            with contextlib.suppress(TypeError, ValueError, RuntimeError):  # each library has its own way to refuse
                whole = np.asarray(self.table.native, copy=False)
                if whole.dtype.kind in "fiub":
                    return whole
        dtype = self.table.rows(slice(0, 0)).numbers(positions).dtype
        # by columns: a few of them are multiplied faster so
        X = np.empty((self.table.n_rows, len(positions)), dtype=dtype, order="F")

        def fill(place: int) -> None:
            X[:, place] = self.table.numbers([positions[place]])[:, 0]

        ordered_map(fill, range(len(positions)))
        return X


def _places(categories: Mapping[int, Category], n_columns: int) -> tuple[Array, Array]:
    """Where the coefficients of numbers and of codes are."""
    sizes = [len(categories[j].names) if j in categories else 1 for j in range(n_columns)]
    is_code = np.repeat([j in categories for j in range(n_columns)], sizes)
    return np.flatnonzero(~is_code), np.flatnonzero(is_code)


def with_categories(numbers: Coordinates, categories: Mapping[int, Category], n_columns: int) -> Coordinates:
    """Coordinates of all coefficients, where those of the columns of numbers are given."""
    places, codes = _places(categories, n_columns)
    shift, scale = np.zeros(len(places) + len(codes)), np.ones(len(places) + len(codes))
    shift[places], scale[places] = numbers.shift, numbers.scale
    return Coordinates(shift, scale, numbers.intercept)


def _codes(categories: Mapping[int, Category], codes: list[Array]) -> CodesDesign:
    drop_first = next(iter(categories.values())).drop_first
    return CodesDesign.of(codes, [len(category.levels) for category in categories.values()], drop_first=drop_first)
