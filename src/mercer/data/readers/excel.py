"""Sheets of Excel and LibreOffice: .xlsx, .xlsm, .xlsb, .xls, .ods."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mercer._errors import DataError, EmptyDataError
from mercer._memory import check_memory
from mercer._optional import require
from mercer._suggest import did_you_mean, listed
from mercer.data.readers.base import Reading, TablePart, TableReader, what_failed
from mercer.data.readers.cells import column_of, is_blank, text_of
from mercer.data.readers.separated import is_header

EXCEL = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})
#: bytes that calamine allocates for a cell, including blank cells inside the used area
CELL_BYTES = 32
#: the used area that a sheet of .xlsx declares at its beginning
DIMENSION = re.compile(rb'<dimension ref="(?:[A-Z]+\d+:)?([A-Z]+)(\d+)"')

Cells = list[list[Any]]


@dataclass(frozen=True)
class Excel(TableReader):
    """Reader of a sheet of a workbook: the named one, else the first that is not empty.

    Rows above the table with a single filled cell, such as a title, are dropped.
    """

    path: Path
    reading: Reading

    @property
    def described(self) -> str:
        sheet, (first, _) = self._sheet
        names = f"names in row {first + 1}" if self._named else "no row with names"
        return f"sheet {sheet!r}, {names}"

    def names(self) -> list[str]:
        _, (_, cells) = self._sheet
        if self._named:
            return [text_of(cell).strip() if not is_blank(cell) else "" for cell in cells[0]]
        return [f"x{j}" for j in range(len(cells[0]))]

    def table(self) -> Any:
        return self.finish(self._table)

    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        table = self.table().select(list(columns))
        for start in range(0, table.num_rows, self.reading.batch_rows):
            part = table.slice(start, self.reading.batch_rows)
            yield TablePart(part, (start + part.num_rows) / table.num_rows)

    @cached_property
    def _table(self) -> Any:
        import pyarrow as pa

        sheet, (_, cells) = self._sheet
        body = cells[1:] if self._named else cells
        if not body:
            raise EmptyDataError(f"Sheet {sheet!r} of {self.path.name!r} has column names, but no rows.")
        verbatim, text = self.reading.verbatim, self.reading.text_columns
        columns = [
            column_of(values, () if name in verbatim else self.reading.markers, text=name in text)
            for name, values in zip(self.names(), zip(*body, strict=True), strict=True)
        ]
        return pa.table(columns, names=self.names())

    @cached_property
    def _named(self) -> bool:
        if self.reading.header is not None:
            return self.reading.header
        _, (_, cells) = self._sheet
        return all(isinstance(cell, str) or is_blank(cell) for cell in cells[0]) and is_header(
            [cell for cell in cells[0] if isinstance(cell, str)], self.reading.markers
        )

    @cached_property
    def _sheet(self) -> tuple[str, tuple[int, Cells]]:
        """Return the name of the sheet, the number of the first row of the table, and the cells from this row on."""
        self._check_memory()
        calamine = require("python_calamine", purpose="Reading an Excel file", extra="excel")
        try:
            with calamine.CalamineWorkbook.from_path(str(self.path)) as workbook:
                names = [
                    sheet.name for sheet in workbook.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet
                ]
                for name in self._wanted(names):
                    sheet = workbook.get_sheet_by_name(name)
                    cells = sheet.to_python(skip_empty_area=True)
                    if any(not is_blank(cell) for row in cells for cell in row):
                        first, table = _trimmed(cells)
                        return name, (first + (sheet.start or (0, 0))[0], table)
        except calamine.PasswordError:
            raise DataError(f"{self.path.name!r} is protected by a password. Save it without one.") from None
        except (calamine.CalamineError, OSError) as failure:
            raise self._unreadable(failure) from None
        if self.reading.sheet is None:
            raise EmptyDataError(f"All sheets of {self.path.name!r} are empty.")
        others = [name for name in names if name != self._wanted(names)[0]]
        remedy = f" Name another one (on the command line --sheet): {listed(others)}." if others else ""
        raise EmptyDataError(f"Sheet {self._wanted(names)[0]!r} of {self.path.name!r} is empty.{remedy}")

    def _wanted(self, names: list[str]) -> list[str]:
        """Return the sheets to try, in order."""
        given = self.reading.sheet
        if given is None:
            return names
        if given in names:
            return [given]
        if given.isdecimal() and 1 <= int(given) <= len(names):
            return [names[int(given) - 1]]
        raise DataError(f"There is no sheet {given!r} in {self.path.name!r}. {did_you_mean(given, names)}")

    def _unreadable(self, failure: Exception) -> DataError:
        sentence = f"{self.path.name!r} cannot be read as a workbook of Excel: {what_failed(failure)}"
        return DataError(f"{sentence}. Save it again, or as CSV.")

    def _check_memory(self) -> None:
        """Raise an error if the decompressed parts of a workbook, or its used area, do not fit into memory."""
        if not zipfile.is_zipfile(self.path):
            return
        instead = "clear rows and columns beyond the table, or save the sheet as CSV"
        try:
            with zipfile.ZipFile(self.path) as parts:
                entries = parts.infolist()
                check_memory(sum(each.file_size for each in entries), repr(self.path.name), instead)
                for each in entries:
                    if not each.filename.startswith("xl/worksheets/"):
                        continue
                    with parts.open(each) as part:
                        match = DIMENSION.search(part.read(1 << 12))
                    if match is not None:
                        cells = _column_number(match[1]) * int(match[2])
                        check_memory(CELL_BYTES * cells, f"The used area of {self.path.name!r}", instead)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as failure:
            raise self._unreadable(failure) from None


def _trimmed(cells: Cells) -> tuple[int, Cells]:
    """Return the number of the first row of the table, and its rows without blank rows, columns and titles above."""
    columns = [j for j in range(len(cells[0])) if any(not is_blank(row[j]) for row in cells)]
    filled = [sum(not is_blank(row[j]) for j in columns) for row in cells]
    least = min(2, max(filled))
    first = next(number for number, count in enumerate(filled) if count >= least)
    rows = [[row[j] for j in columns] for row, count in zip(cells[first:], filled[first:], strict=True) if count]
    return first, rows


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number
