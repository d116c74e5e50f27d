"""First records, quotation marks and missing values of separated fields agree with other readers."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import mercer.data
from mercer._errors import DataError
from mercer.data import Kind, Reading, read_table
from mercer.data.readers import separated
from mercer.data.readers.separated import MAX_HEADER_LINE_BYTES


def both_ways(path: Path) -> list[dict[str, list[Any]]]:
    """Return the rows read as a whole, and in pieces."""
    pieces: dict[str, list[Any]] = {}
    for chunk in mercer.data.open(path):
        for name, values in chunk.X.to_pydict().items():
            pieces.setdefault(name, []).extend(values)
    return [read_table(path).to_pydict(), pieces]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a\nb",c\n1,2\n', {"a\nb": [1], "c": [2]}),
        ('"a\r\nb""s",c\r\n1,2\r\n', {'a\r\nb"s': [1], "c": [2]}),
        ("a\u2028b,c\n1,2\n", {"a\u2028b": [1], "c": [2]}),
        ("a\x0bb,c\x85\n1,2\n", {"a\x0bb": [1], "c": [2]}),
        ("\n \n\ufeffa,b\n1,2\n", {"\ufeffa": [1], "b": [2]}),
        ("\ufeff\n\na,b\n1,2\n", {"a": [1], "b": [2]}),
        (" \n1,x\n2,y\n", {"x0": [1, 2], "x1": ["x", "y"]}),
        ('"last, first";"age"\nx;1\n', {"last, first": ["x"], "age": [1]}),
        ('a, "b, c"\n1,2\n', {"a": [1], "b, c": [2]}),
        (f"{'n' * 200_000},b\n1,2\n", {"n" * 200_000: [1], "b": [2]}),
    ],
)
def test_names_are_read_from_the_first_record(write: Any, text: str, expected: dict[str, list[Any]]) -> None:
    assert both_ways(write("a.csv", text)) == [expected, expected]


@pytest.mark.parametrize(("name", "is_name"), [("2019_2020", True), ("٣", True), ("\x1f1", False), (" 1", False)])
def test_literals_that_only_python_accepts_as_numbers_are_names(write: Any, name: str, is_name: bool) -> None:
    assert read_table(write("a.csv", f"a,{name}\n1,2\n")).column_names == (["a", name] if is_name else ["x0", "x1"])


@pytest.mark.parametrize("gap", ["NA ", "  NA", "    ?  ", '" NA "', "NaN    "])
def test_spaces_around_a_gap_do_not_count(write: Any, gap: str) -> None:
    expected = {"x": [1, None], "w": ["a", None]}
    assert both_ways(write("a.csv", f"x,w\n1,a\n{gap},{gap}\n")) == [expected, expected]


def test_many_spaces_around_a_gap_do_not_count_among_words(write: Any) -> None:
    expected = {"w": ["a", None]}
    assert both_ways(write("a.csv", f"w\na\n{' ' * 30}NA\t\n")) == [expected, expected]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"2\n3,4\n', 2),
        ('a\n"\n', 2),
        ('"a,b\n1,2\n', 1),
        ('a,b\n5" x,1\n"y"" z,2\n', 3),
        ('a;b\n1;"x;""\n', 2),
        ("a,b\n" + '"",""\n' * 2000 + '1,"2\n', 2002),
    ],
)
def test_a_quotation_mark_that_is_never_closed_is_rejected(write: Any, text: str, line: int) -> None:
    path = write("a.csv", text)
    for read in (read_table, lambda path: list(mercer.data.open(path))):
        with pytest.raises(DataError, match=rf"Line {line} of 'a\.csv' .*never closed"):
            read(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a,b\n1,5" disk\n', {"a": [1], "b": ['5" disk']}),
        ('a,b\n1,"x,"\n', {"a": [1], "b": ["x,"]}),
        ('a,b\n1,"x"y"\n', {"a": [1], "b": ['xy"']}),
        ("a,b\n1,\n" + '2,""\n' * 1500, {"a": [1, *[2] * 1500], "b": [None] * 1501}),
    ],
)
def test_other_quotation_marks_are_text_or_are_closed(write: Any, text: str, expected: dict[str, list[Any]]) -> None:
    at_once, pieces = both_ways(write("a.csv", text))
    assert at_once == expected
    assert pieces["a"] == expected["a"]


def test_names_that_are_not_text_are_rejected(write: Any) -> None:
    with pytest.raises(DataError, match=r"'a\.csv' is not utf-8 text.*latin-1"):
        read_table(write("a.csv", "é,b\n1,2\n".encode("latin-1")), encoding="utf-8")
    assert read_table(write("a.csv", "é,b\n1,2\n".encode("latin-1"))).column_names == ["é", "b"]
    assert read_table(write("a.csv", "\ufffd,b\n1,2\n")).column_names == ["\ufffd", "b"]


def test_a_first_line_without_an_end_is_rejected(write: Any) -> None:
    with pytest.raises(DataError, match=r"first line of 'a\.csv' is longer than 1,048,576 bytes"):
        read_table(write("a.csv", "n" * (MAX_HEADER_LINE_BYTES + 1)))


def test_a_long_field_in_a_ragged_line_gives_the_same_exception(write: Any) -> None:
    with pytest.raises(DataError, match="Expected 2 columns, got 3"):
        read_table(write("a.csv", f"a,b\n1,{'z' * 200_000},3\n"))


def test_blank_lines_before_names_in_a_compressed_file(write: Any) -> None:
    path = write("a.csv.gz", gzip.compress(b"\r\n\r\na,b\r\n1,2\r\n", mtime=0))
    assert both_ways(path) == [{"a": [1], "b": [2]}] * 2


def test_a_row_longer_than_a_block_is_rejected_with_a_remedy(write: Any) -> None:
    path = write("a.csv", 'a,b\n1,"x\ny"\n2,' + "z" * 1000 + "\n")
    with pytest.raises(DataError, match=r"'a\.csv' has a row longer than 400 bytes.*Parquet"):
        list(separated.Separated(path, Reading(block_bytes=400)).parts(["a", "b"]))


@pytest.mark.parametrize("text", ["a,b\n1, NA\n2,3\n", "a,b\n1,NA \n2,3\n", 'a,b\n1," NA"\n2,3\n', "a,b\n2,3\n1,NA "])
def test_a_gap_with_blanks_anywhere_leaves_numbers_numbers(tmp_path: Path, text: str) -> None:
    """Words with spaces are searched for only in files with spaces at the ends of fields."""
    (tmp_path / "rows.csv").write_text(text)
    assert sorted(read_table(tmp_path / "rows.csv")["b"].to_pylist(), key=str) == [3, None]
    (tmp_path / "rows.csv").write_text(text.partition("\n")[2])
    assert pa.types.is_integer(read_table(tmp_path / "rows.csv", header=False).schema.types[1])


def test_eight_thousand_columns_are_read(tmp_path: Path) -> None:
    """Half of them words, two with a kind: it takes a second, not half a minute."""
    names = [f"c{j}" for j in range(8000)]
    rows = [[str(i + j) if j % 2 else f"word {i}" for j in range(8000)] for i in range(3)]
    (tmp_path / "wide.csv").write_text("\n".join(map(",".join, [names, *rows])) + "\n")
    reading = Reading(
        decimal=".", held=dict.fromkeys(names[:2], "text"), kinds={"c3": Kind.COUNTS}, missing=("word 1",)
    )
    table = read_table(tmp_path / "wide.csv", reading=reading)
    assert table.column_names == names
    assert table["c1"].to_pylist() == ["1", "2", "3"]
    assert table["c7999"].to_pylist() == [7999, 8000, 8001]
    assert table["c7998"].to_pylist() == ["word 0", None, "word 2"]
