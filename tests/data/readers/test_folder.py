"""Folders of files with the same columns are one table."""

from __future__ import annotations

from pathlib import Path

import pytest

from mercer._errors import DataError
from mercer.data.readers import open_rows


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_files_of_a_folder_are_concatenated(tmp_path: Path) -> None:
    folder = write(tmp_path, b__csv="y,x\nb,2.5\n", a__csv="x,y\n1,a\n", readme__md="# about", _log__csv="z\n1\n")
    rows = open_rows(folder)
    assert rows.described == "2 files, fields separated by commas, names in the first line"
    assert rows.table().to_pydict() == {"x": [1, 2.5], "y": ["a", "b"]}
    parts = list(rows.parts(["y"]))
    assert [part.frame.to_pydict() for part in parts] == [{"y": ["a"]}, {"y": ["b"]}]
    assert parts[-1].share == 1.0


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, r"is a folder without data: no file in it ends in '\.csv'"),
        ({"readme__md": "# about"}, "is a folder without data"),
        (
            {"a__csv": "x\n1\n", "b__json": "[]"},
            "is a folder of CSV and JSON files.*Name one of its files: 'a.csv', 'b.json'",
        ),
        ({"a__csv": "x,y\n1,2\n", "b__csv": "x\n1\n"}, "'b.csv' has no column 'y', unlike 'a.csv'"),
        ({"a__csv": "x\n1\n", "b__csv": "x,z\n1,2\n"}, "'b.csv' has columns that 'a.csv' does not have: 'z'"),
        ({"a__csv": "x\n1\n", "b__csv": "x\nred\n"}, "Column 'x' has different types.*--kind x=category"),
    ],
)
def test_folders_that_are_not_a_table_are_rejected(tmp_path: Path, files: dict[str, str], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        open_rows(write(tmp_path, **files)).table()


def test_an_error_names_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path, a__csv="x\n1\n", b__csv="x\nred\n"))
    with pytest.raises(DataError, match=r"parts of '\.': int64 and string"):
        open_rows(".").table()
