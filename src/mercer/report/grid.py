"""A table of results as a plain record, independent of its presentation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from mercer.report.wording import format_plain

Cell = str | int | float | None

#: the text of an empty cell
EMPTY_CELL = "–"


class Field(NamedTuple):
    """A column of a grid: its heading, and the format specification of its numbers."""

    heading: str
    form: str = ""

    @property
    def numeric(self) -> bool:
        """True if the column has numbers, which are aligned to the right."""
        return bool(self.form)

    def write(self, cell: Cell) -> str:
        """Return a cell as text."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return EMPTY_CELL
        return cell if isinstance(cell, str) else format_plain(cell, self.form)


@dataclass(frozen=True)
class Grid:
    """Rows under headings, with a title above and notes below.

    Examples
    --------
    >>> print(Grid("Fruit", (Field("name"), Field("price", ".2f")), (("apple", 1.5), ("melon", None)), ("In euros.",)))
    Fruit
    name   price
    -----  -----
    apple   1.50
    melon      –
    In euros.
    """

    title: str
    fields: tuple[Field, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def written(self) -> list[list[str]]:
        """Return every cell as text."""
        return [[field.write(cell) for field, cell in zip(self.fields, row, strict=True)] for row in self.rows]

    def __str__(self) -> str:
        headings = [field.heading for field in self.fields]
        written = self.written()
        widths = [max(map(len, column)) for column in zip(headings, *written, strict=True)]
        lines = [headings, ["-" * width for width in widths], *written]
        return "\n".join(filter(None, (self.title, *(self._line(line, widths) for line in lines), *self.notes)))

    def _line(self, cells: list[str], widths: list[int]) -> str:
        padded = (
            cell.rjust(width) if field.numeric else cell.ljust(width)
            for field, cell, width in zip(self.fields, cells, widths, strict=True)
        )
        return "  ".join(padded).rstrip()
