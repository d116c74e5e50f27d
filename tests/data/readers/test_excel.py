"""Sheets of workbooks: the same table as a CSV file, with the types of the cells."""

from __future__ import annotations

import datetime as dt
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import mercer.data
from mercer import _memory as memory
from mercer._errors import DataError, EmptyDataError, MissingDependencyError, TooLargeError
from mercer.data.readers import Reading, open_rows, read_table

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")


def workbook(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


DAY, NOON = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30)
ROWS = [
    ["id", "x", "day", "at", "flag", "word", "mixed", "gaps", "never"],
    [1, 1.5, dt.datetime(2024, 2, 29), NOON, True, "a", 1, "NA", None],
    [2, 2, None, DAY, False, " b ", "x", 7, None],
    [3, None, DAY, None, True, None, 2.5, "?", None],
]


def test_cells_have_types(tmp_path: Path) -> None:
    rows = open_rows(workbook(tmp_path / "a.xlsx", People=ROWS))
    assert rows.described == "sheet 'People', names in row 1"
    table = rows.table()
    assert table.to_pydict() == {
        "id": [1, 2, 3],
        "x": [1.5, 2.0, None],
        "day": [DAY, None, DAY],
        "at": [NOON, dt.datetime(2024, 2, 29), None],
        "flag": [True, False, True],
        "word": ["a", "b", None],
        "mixed": ["1", "x", "2.5"],
        "gaps": [None, 7, None],
        "never": [None, None, None],
    }
    assert table.schema.field("id").type == table.schema.field("gaps").type == pa.int64()
    assert table.schema.field("day").type == pa.date32()
    (part,) = rows.parts(["x", "id"])
    assert part.frame.equals(table.select(["x", "id"]))
    source = mercer.data.open(tmp_path / "a.xlsx", target="id")
    assert next(iter(source)).X["mixed"].to_pylist() == ["1", "x", "2.5"]


def test_a_workbook_agrees_with_a_csv_file(tmp_path: Path) -> None:
    cells = [["city", "n", "share", "since"], ["Ulm", 3, 0.25, "2024-01-31"], ["NA", None, 1, "2023-12-01"]]
    (tmp_path / "a.csv").write_text("\n".join(",".join("" if c is None else str(c) for c in row) for row in cells))
    typed = [[*row[:3], dt.date.fromisoformat(row[3])] if number else row for number, row in enumerate(cells)]
    assert read_table(workbook(tmp_path / "a.xlsx", S=typed)).equals(read_table(tmp_path / "a.csv"))


def test_titles_blank_rows_and_blank_columns_are_left_out(tmp_path: Path) -> None:
    rows = [
        [],
        [None, "Sales in 2024"],
        [],
        [None, "city", None, "n"],
        [None, "Ulm", None, 1],
        [],
        [None, "Bonn", None, 2],
        [],
    ]
    opened = open_rows(workbook(tmp_path / "a.xlsx", S=rows))
    assert opened.described == "sheet 'S', names in row 4"
    assert opened.table().to_pydict() == {"city": ["Ulm", "Bonn"], "n": [1, 2]}
    nameless = open_rows(workbook(tmp_path / "b.xlsx", S=[["Ulm", 1], ["Bonn", 2]]))
    assert nameless.described == "sheet 'S', no row with names"
    assert nameless.table().to_pydict() == {"x0": ["Ulm", "Bonn"], "x1": [1, 2]}
    assert open_rows(tmp_path / "b.xlsx", Reading(header=True)).table().to_pydict() == {"Ulm": ["Bonn"], "1": [2]}


def test_numbers_stored_as_text_are_read_as_numbers(tmp_path: Path) -> None:
    rows = [["n", "code", "mixed"], ["1", "00501", 1.5], [" 2 ", "12", "2.5"], ["NA", "7", None]]
    path = workbook(tmp_path / "a.xlsx", S=rows)
    assert read_table(path).to_pydict() == {"n": [1, 2, None], "code": ["00501", "12", "7"], "mixed": [1.5, 2.5, None]}
    kept = open_rows(path, Reading(held={"n": "verbatim", "mixed": "text"})).table()
    assert kept["n"].to_pylist() == ["1", "2", "NA"]
    assert kept["mixed"].to_pylist() == ["1.5", "2.5", None]


def test_sheets_by_name_and_number(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", Empty=[], First=[["x"], [1]], Second=[["x"], [2]], Names=[["x", "y"]])
    assert read_table(path).to_pydict() == {"x": [1]}
    assert read_table(path, sheet="Second").to_pydict() == read_table(path, sheet="3").to_pydict() == {"x": [2]}
    for sheet, kind, sentence in [
        ("Secnd", DataError, r"There is no sheet 'Secnd' in 'a\.xlsx'\. Did you mean 'Second'\?"),
        ("9", DataError, r"There is no sheet '9' in 'a\.xlsx'\. There are 'Empty', 'First'"),
        ("Empty", EmptyDataError, r"Sheet 'Empty' of 'a\.xlsx' is empty\. Name another one .*--sheet\): 'First'"),
        ("Names", EmptyDataError, r"Sheet 'Names' of 'a\.xlsx' has column names, but no rows"),
    ]:
        with pytest.raises(kind, match=sentence):
            read_table(path, sheet=sheet)
    with pytest.raises(EmptyDataError, match=r"All sheets of 'b\.xlsx' are empty"):
        read_table(workbook(tmp_path / "b.xlsx", Empty=[]))
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(DataError, match=r"A sheet \(--sheet\) is for an Excel file, which 'a\.csv' is not"):
        read_table(tmp_path / "a.csv", sheet="1")


def test_workbooks_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "a.xlsx", S=[["x"], [1]])
    for content in (path.read_bytes()[:1000], b"", b"no workbook"):
        (tmp_path / "b.xlsx").write_bytes(content)
        with pytest.raises(
            DataError, match=r"'b\.xlsx' cannot be read as a workbook of Excel: .*Save it again, or as CSV"
        ):
            read_table(tmp_path / "b.xlsx")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingDependencyError, match=r"Reading an Excel file needs .*pip install 'mercer\[excel\]'"):
        read_table(path)


def test_a_workbook_beyond_memory_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "x", 1
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(TooLargeError, match=r"The used area of 'a\.xlsx' needs .*clear rows and columns beyond"):
        read_table(tmp_path / "a.xlsx")
    path = workbook(tmp_path / "b.xlsx", S=[["x"], [1]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros.bin", bytes(40_000_000))
    monkeypatch.setattr(memory, "available_bytes", lambda: 20_000_000)
    with pytest.raises(TooLargeError, match=r"'b\.xlsx' needs 0\.04"):
        read_table(path)
