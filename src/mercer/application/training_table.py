"""A training table with its schema, and the pipelines that make features of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer.data import Column, Kind, Schema, Table
from mercer.data.formats import Format
from mercer.data.infer import IDENTIFIER, read_formats
from mercer.data.select import select

#: kinds whose values are amounts, not codes
AMOUNT_KINDS = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.COUNT})
#: kinds that models of numbers read as numbers, codes included
NUMERIC_KINDS = AMOUNT_KINDS | {Kind.CODE, Kind.BINARY, Kind.BOOLEAN}
#: a column with more levels has its rare levels pooled
MAX_UNPOOLED_LEVELS = 50
#: rows in which a level must occur so as not to be pooled
MIN_ROWS_PER_LEVEL = 5
#: columns that a note names for each reason
MAX_NOTED_COLUMNS = 10
#: kinds that are fixed for all folds; columns of one or two values are judged in each fold
FIXED_KINDS = frozenset({*Kind} - {Kind.BINARY, Kind.BOOLEAN, Kind.CONSTANT, Kind.IDENTIFIER})


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """A table of training rows, and its inferred schema."""

    table: Table
    schema: Schema

    @classmethod
    def of(cls, table: Table) -> Self:
        """Convert strings that spell numbers or dates, and infer the schema."""
        table = read_formats(table)
        return cls(table, Schema.infer(table))

    @property
    def formats(self) -> dict[str, Format]:
        """The formats of numbers and dates in columns of strings, which models store for new rows."""
        return self.schema.formats

    def names_of_kinds(self, *kinds: Kind) -> list[str]:
        """Return the names of the columns of these kinds."""
        return [column.name for column in self.schema if column.kind in kinds]

    @cached_property
    def texts(self) -> list[str]:
        """Names of the columns of text."""
        return self.names_of_kinds(Kind.TEXT)

    @cached_property
    def identifiers(self) -> list[str]:
        """Names of the columns that identify rows."""
        return self.names_of_kinds(Kind.IDENTIFIER)

    @cached_property
    def codes(self) -> list[str]:
        """Names of the columns of whole numbers that are codes (see `Schema.infer`); none if columns have no names."""
        return self.names_of_kinds(Kind.BINARY, Kind.CODE) if self.table.named else []

    @cached_property
    def n_columns(self) -> int:
        """Number of columns, without identifiers."""
        return len(self.schema) - len(self.identifiers)

    @cached_property
    def is_numeric(self) -> bool:
        """True if all columns but identifiers are stored as numbers."""
        columns = zip(self.schema, self.table.kinds, strict=True)
        return all(kind.numeric for column, kind in columns if column.kind is not Kind.IDENTIFIER)

    @cached_property
    def has_only_amounts(self) -> bool:
        """True if all described columns are stored as numbers that are not codes, counts or booleans."""
        return {self.schema[name].stored for name in self.described} <= {Kind.NUMBER, Kind.INTEGER}

    @cached_property
    def numeric(self) -> list[str]:
        """Names of the columns that are read as numbers, including codes and booleans, but not dates or constants."""
        return self.names_of_kinds(*NUMERIC_KINDS)

    @cached_property
    def has_gaps(self) -> bool:
        """True if a column has missing values besides others."""
        return any("missing" in note for column in self.schema for note in column.notes)

    @cached_property
    def undescribed(self) -> list[str]:
        """Names of the columns without a family of distributions: texts and dates."""
        return self.names_of_kinds(Kind.TEXT, Kind.DATE)

    @cached_property
    def described(self) -> list[str]:
        """Names of the columns with a family of distributions."""
        others = {*self.undescribed, *self.identifiers}
        return [column.name for column in self.schema if column.name not in others]

    def select_described(self) -> Table | None:
        """Return the columns with a family of distributions; None if there are none."""
        if not self.described:
            return None
        if len(self.described) == len(self.schema):
            return Table.of(self.table.native)
        return Table.of(select_columns(self.table, self.described))

    def to_numbers(self) -> Table:
        """Convert all columns but identifiers to numbers, with their names."""
        kept = [j for j, column in enumerate(self.schema) if column.kind is not Kind.IDENTIFIER]
        matrix = self.table.numbers(kept)
        if not self.table.named:
            return Table.of(matrix)
        names = [self.table.names[j] for j in kept]
        return Table.of(self.table.like(dict(zip(names, matrix.T, strict=True))))

    def with_features(self, model: Any, *, text_only: bool = False, **options: Any) -> Any:
        """Return a pipeline of features of all columns, or of text only, and the model."""
        from sklearn.pipeline import make_pipeline

        from mercer.preprocessing import TableFeatures

        exclude = self.identifiers
        if text_only:
            exclude = [column.name for column in self.schema if column.kind is not Kind.TEXT]
        fixed = {column.name: column.kind for column in self.schema if column.kind in FIXED_KINDS}
        kinds = {name: kind for name, kind in fixed.items() if name not in exclude}
        if any(len(column.levels or ()) > MAX_UNPOOLED_LEVELS for column in self.schema):
            options.setdefault("min_frequency", MIN_ROWS_PER_LEVEL)
        formats = self._formats_without(exclude)
        return make_pipeline(
            TableFeatures(kinds=kinds, formats=formats, exclude=exclude, unseen="ignore", **options), model
        )

    def _formats_without(self, exclude: Sequence[str]) -> dict[str, Format] | None:
        return {name: form for name, form in self.formats.items() if name not in exclude} or None

    def with_scaled_numbers(self, *steps: Any) -> Any:
        """Return a pipeline of all columns but identifiers as standardized numbers, NaN included, and the steps."""
        from sklearn.pipeline import make_pipeline

        from mercer.preprocessing import TableFeatures

        kinds = {
            column.name: column.kind if column.kind is Kind.DATE else Kind.NUMBER
            for column in self.schema
            if column.kind is not Kind.IDENTIFIER
        }
        formats = self._formats_without(self.identifiers)
        return make_pipeline(
            TableFeatures(kinds=kinds, formats=formats, exclude=self.identifiers, missing="keep", output="array"),
            *steps,
        )

    def with_numbers(self, names: Sequence[str], model: Any) -> Any:
        """Return a pipeline of some columns as unscaled numbers, NaN included, and the model."""
        from sklearn.pipeline import make_pipeline

        from mercer.preprocessing import TableFeatures

        kept = set(names)
        exclude = [name for name in self.schema.names if name not in kept]
        kinds = dict.fromkeys(names, Kind.NUMBER)
        options: dict[str, Any] = {"missing": "keep", "scale": False, "output": "array"}
        formats = self._formats_without(exclude)
        return make_pipeline(TableFeatures(kinds=kinds, formats=formats, exclude=exclude, **options), model)

    def notes(self) -> list[str]:
        """Return sentences about identifiers, which no model uses, and about columns that were converted."""
        left_out = {name: _explain_identifier(self.schema[name]) for name in self.identifiers}
        converted = {name: form.described for name, form in self.formats.items() if name not in left_out}
        sentences = {"Columns left out": left_out, "Columns converted": converted}
        return [f"{what}: {_group_by_reason(reasons)}." for what, reasons in sentences.items() if reasons]


def _group_by_reason(reasons: Mapping[str, str]) -> str:
    """Join the names of columns, grouped by the reason that is given for each."""
    columns: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        columns.setdefault(reason, []).append(repr(name))
    more = {
        reason: len(names) - MAX_NOTED_COLUMNS for reason, names in columns.items() if len(names) > MAX_NOTED_COLUMNS
    }
    return ", ".join(
        f"{', '.join(names[:MAX_NOTED_COLUMNS])}{f' and {more[reason]} more' if reason in more else ''} ({reason})"
        for reason, names in columns.items()
    )


def _explain_identifier(column: Column) -> str:
    return next((note for note in column.notes if note.startswith(IDENTIFIER)), "an identifier")


def select_columns(table: Table, names: Sequence[str]) -> Any:
    """Return the columns with these names as the array or frame that holds the table."""
    if table.library == "numpy":
        return np.asarray(table.native)[:, [table.positions[name] for name in names]]
    return select(table.native, names)
