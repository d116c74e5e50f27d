"""What models are shown: the columns as they are, or features of them."""

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

#: kinds whose values are amounts: numbers that are no names
AMOUNTS = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.COUNT})
#: kinds that are read as numbers by models of numbers as they are, codes and all
NUMERIC = AMOUNTS | {Kind.CODE, Kind.BINARY, Kind.BOOLEAN}
#: levels of a column from which on rare ones are pooled, and in how many rows a level of its own occurs at least
MANY_LEVELS, ROWS_PER_LEVEL = 50, 5
#: columns that are named in a sentence about them
MOST_NOTED = 10
#: kinds that each fold is given, so that all folds see the same; what has two values or one, a fold sees for itself
TOLD = frozenset({*Kind} - {Kind.BINARY, Kind.BOOLEAN, Kind.CONSTANT, Kind.IDENTIFIER})


@dataclass(frozen=True, eq=False)
class Shown:
    """A table of rows to learn from, and what its columns were found to be."""

    table: Table
    schema: Schema

    @classmethod
    def of(cls, table: Table) -> Self:
        """Strings that spell numbers or dates are read as such."""
        table = read_formats(table)
        return cls(table, Schema.infer(table))

    @property
    def formats(self) -> dict[str, Format]:
        """How numbers and dates are written in columns of strings; models keep it for new rows."""
        return self.schema.formats

    def named(self, *kinds: Kind) -> list[str]:
        """Columns of these kinds."""
        return [column.name for column in self.schema if column.kind in kinds]

    @cached_property
    def texts(self) -> list[str]:
        return self.named(Kind.TEXT)

    @cached_property
    def identifiers(self) -> list[str]:
        return self.named(Kind.IDENTIFIER)

    @cached_property
    def codes(self) -> list[str]:
        """Whole numbers that are names: two, or few of which each recurs (see `Schema.infer`), in named columns."""
        return self.named(Kind.BINARY, Kind.CODE) if self.table.named else []

    @cached_property
    def n_columns(self) -> int:
        """Those that say something about a row."""
        return len(self.schema) - len(self.identifiers)

    @cached_property
    def all_numbers(self) -> bool:
        """Whether all of these can be read as numbers as they are."""
        plain = zip(self.schema, self.table.kinds, strict=True)
        return all(kind.numeric for column, kind in plain if column.kind is not Kind.IDENTIFIER)

    @cached_property
    def plain_numbers(self) -> bool:
        """Whether models for values of any type take those they describe for numbers: no codes, counts or bools."""
        return {self.schema[name].stored for name in self.described} <= {Kind.NUMBER, Kind.INTEGER}

    @cached_property
    def plain(self) -> list[str]:
        """Those whose values are numbers as they are, codes and bools among them, and differ; no dates."""
        return self.named(*NUMERIC)

    @cached_property
    def has_gaps(self) -> bool:
        """Whether a value is missing where there are others."""
        return any("missing" in note for column in self.schema for note in column.notes)

    @cached_property
    def undescribed(self) -> list[str]:
        """Text and dates, which models for values of any type have no distribution for."""
        return self.named(Kind.TEXT, Kind.DATE)

    @cached_property
    def described(self) -> list[str]:
        """Those for which they have one."""
        others = {*self.undescribed, *self.identifiers}
        return [column.name for column in self.schema if column.name not in others]

    def as_they_are(self) -> Table | None:
        """The columns that models for values of any type describe; None where there is none."""
        return self._only(self.described) if self.described else None

    def as_numbers(self) -> Table:
        """All columns but identifiers as numbers, by their names, so that errors and notes call them so."""
        kept = [j for j, column in enumerate(self.schema) if column.kind is not Kind.IDENTIFIER]
        matrix = self.table.numbers(kept)
        if not self.table.named:
            return Table.of(matrix)
        names = [self.table.names[j] for j in kept]
        return Table.of(self.table.like(dict(zip(names, matrix.T, strict=True))))

    def features(self, model: Any, *, text_only: bool = False, **options: Any) -> Any:
        """A model of features of the columns: of all, or of text alone."""
        from sklearn.pipeline import make_pipeline

        from mercer.preprocessing import TableFeatures

        kinds: Mapping[str, Kind] = {column.name: column.kind for column in self.schema if column.kind in TOLD}
        exclude = (
            [column.name for column in self.schema if column.kind is not Kind.TEXT] if text_only else self.identifiers
        )
        given = {name: kind for name, kind in kinds.items() if name not in exclude}
        if any(len(column.levels or ()) > MANY_LEVELS for column in self.schema):
            options.setdefault("min_frequency", ROWS_PER_LEVEL)
        formats = self._formats(exclude)
        return make_pipeline(
            TableFeatures(kinds=given, formats=formats, exclude=exclude, unseen="ignore", **options), model
        )

    def _formats(self, exclude: Sequence[str]) -> dict[str, Format] | None:
        return {name: form for name, form in self.formats.items() if name not in exclude} or None

    def numbers(self, *steps: Any) -> Any:
        """A model of all columns but identifiers as numbers in standard units, gaps and all."""
        from sklearn.pipeline import make_pipeline

        from mercer.preprocessing import TableFeatures

        kinds = {
            column.name: column.kind if column.kind is Kind.DATE else Kind.NUMBER
            for column in self.schema
            if column.kind is not Kind.IDENTIFIER
        }
        formats = self._formats(self.identifiers)
        return make_pipeline(
            TableFeatures(kinds=kinds, formats=formats, exclude=self.identifiers, missing="keep", output="array"),
            *steps,
        )

    def plain_numbers_of(self, names: Sequence[str], model: Any) -> Any:
        """A model of some columns as the numbers that they are, gaps and all, which leaves out the others."""
        from sklearn.pipeline import make_pipeline

        from mercer.preprocessing import TableFeatures

        wanted = set(names)
        exclude = [name for name in self.schema.names if name not in wanted]
        kinds = dict.fromkeys(names, Kind.NUMBER)
        reading: dict[str, Any] = {"missing": "keep", "scale": False, "output": "array"}
        formats = self._formats(exclude)
        return make_pipeline(TableFeatures(kinds=kinds, formats=formats, exclude=exclude, **reading), model)

    def notes(self) -> list[str]:
        """Return sentences about identifiers, which no model is shown, and about columns that were converted."""
        left = {name: _why_identifier(self.schema[name]) for name in self.identifiers}
        read = {name: form.described for name, form in self.formats.items() if name not in left}
        sentences = {"Columns left out": left, "Columns converted": read}
        return [f"{what}: {_by_reason(reasons)}." for what, reasons in sentences.items() if reasons]

    def _only(self, names: list[str]) -> Table:
        whole = len(names) == len(self.schema)
        return Table.of(self.table.native if whole else some_columns(self.table, names))


def _by_reason(reasons: Mapping[str, str]) -> str:
    """Columns with the reason for what was done to them, those of one reason together."""
    columns: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        columns.setdefault(reason, []).append(repr(name))
    more = {reason: len(names) - MOST_NOTED for reason, names in columns.items() if len(names) > MOST_NOTED}
    return ", ".join(
        f"{', '.join(names[:MOST_NOTED])}{f' and {more[reason]} more' if reason in more else ''} ({reason})"
        for reason, names in columns.items()
    )


def _why_identifier(column: Column) -> str:
    return next((note for note in column.notes if note.startswith(IDENTIFIER)), "an identifier")


def some_columns(table: Table, names: Sequence[str]) -> Any:
    """The columns of these names, in what holds the table: an array or a frame."""
    if table.library == "numpy":
        return np.asarray(table.native)[:, [table.positions[name] for name in names]]
    return select(table.native, names)
