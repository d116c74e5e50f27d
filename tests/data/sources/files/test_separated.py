"""CSV files: types by the whole file, invalid lines, fields with line ends."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import mercer.data
from mercer._errors import ColumnMismatchError, DataError, EmptyDataError, SourceChangedError
from mercer.data import Schema
from mercer.data.kinds import Kind
from mercer.data.readers import Reading
from mercer.data.schema import Column
from mercer.data.sources.files.separated import WholeFile
from tests.data.sources._reading import open_in_blocks, table_of

#: many blocks and pieces in files of a few rows
open_source = partial(open_in_blocks, block_bytes=64, piece_bytes=200)


def written(folder: Path, header: str, rows: list[str]) -> Path:
    (path := folder / "a.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("block", [16, 64, 1 << 20])
@pytest.mark.parametrize(
    ("late", "kind"),
    [
        ("0.5", pa.float64()),
        ("word", pa.string()),
        ("true", pa.string()),
        ("", pa.int64()),
        ("2024-01-01", pa.string()),
    ],
)
def test_the_type_of_a_column_follows_from_all_its_values(tmp_path: Path, late: str, kind: Any, block: int) -> None:
    path = written(tmp_path, "x,y", [f"{i},0" for i in range(99)] + [f"{late},1"])
    X, _ = table_of(open_source(path, target="y", block_bytes=block))
    assert X.schema.field("x").type == kind
    assert X["x"][7].as_py() == (7 if kind != pa.string() else "7")


@pytest.mark.parametrize("block", [16, 1 << 20])
def test_dates_truth_values_and_empty_columns(tmp_path: Path, block: int) -> None:
    rows = [f"2024-05-{1 + i % 30:02}{' 10:00:00' if i == 90 else ''},{'true' if i else 'false'},,1" for i in range(99)]
    X, _ = table_of(open_source(written(tmp_path, "d,b,n,y", rows), target="y", block_bytes=block))
    assert X.schema.types == [pa.timestamp("s"), pa.bool_(), pa.float64()]


def test_a_ragged_line_is_named_or_left_out(tmp_path: Path) -> None:
    rows = [f"{i},0" for i in range(99)]
    rows[60], rows[80] = "1,2,3", "4"
    path = written(tmp_path, "x,y", rows)
    with pytest.raises(DataError, match=r"Line 62 of 'a\.csv' has 3 fields, but the first line has 2.*on_error='skip'"):
        table_of(open_source(path, target="y"))
    X, skipped = table_of(open_source(path, target="y", on_error="skip"))
    assert X["x"].to_pylist() == [i for i in range(99) if i not in (60, 80)]
    assert [sentence.split(" has ")[0] for sentence in skipped] == ["Line 62 of 'a.csv'", "Line 82 of 'a.csv'"]


def test_blank_lines_count_as_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "x,y", ["1,2", "", "", "1,2,3"])
    with pytest.raises(DataError, match=r"Line 5 of"):
        table_of(open_source(path, target="y"))


def test_a_value_that_contradicts_its_declared_type_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "x,y", [f"{'many' if i in (50, 51) else i},0" for i in range(99)])
    schema = Schema((Column("x", Kind.NUMBER),))
    with pytest.raises(DataError, match=r"Line 52 of 'a\.csv': 'x' is 'many', which is not a value of the type double"):
        table_of(open_source(path, target="y", schema=schema))
    X, skipped = table_of(open_source(path, target="y", schema=schema, on_error="skip"))
    assert (X.num_rows, len(skipped)) == (97, 2)
    assert X.schema.field("x").type == pa.float64()
    with pytest.raises(ColumnMismatchError, match="There is no column 'z'"):
        open_source(path, schema=Schema((Column("z", Kind.NUMBER),)))


def test_declared_columns_are_used(tmp_path: Path) -> None:
    path = written(tmp_path, "zip,n,y", ["01234,-1,0", "56789,5,1"])
    reading = Reading(held={"zip": "category"}, missing=("-1",), kinds={"n": Kind.COUNT})
    X, _ = table_of(open_source(path, target="y", reading=reading))
    assert X.to_pydict() == {"zip": ["01234", "56789"], "n": [None, 5]}
    assert Schema.infer(X)["n"].kind is Kind.COUNT


def test_fields_over_several_lines_are_one_piece(tmp_path: Path) -> None:
    rows = [f'{i if i < 90 else "w"},"a\n{i}",0' for i in range(99)]
    source = open_source(written(tmp_path, "x,t,y", rows), target="y")
    assert [type(piece) for piece in source.pieces()] == [WholeFile]
    X, _ = table_of(source)
    assert X["t"].to_pylist() == [f"a\n{i}" for i in range(99)]
    assert X["x"].to_pylist() == [str(i) if i < 90 else "w" for i in range(99)]
    rows[70] = "1,2"
    source = open_source(written(tmp_path, "x,t,y", rows), target="y", on_error="skip")
    X, skipped = table_of(source)
    assert X.num_rows == 98
    assert skipped == ["A line of 'a.csv' has 2 fields, but others have 3: '1,2'."]


def test_a_value_that_contradicts_its_declared_type_in_a_file_read_as_one_piece_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,t,y\n1,"a\nb",0\nabc,"c\nd",1\n')
    source = open_source(path, target="y", reading=Reading(held={"x": "number"}))
    with pytest.raises(DataError, match=r"Column 'x' of 'a\.csv' must hold numbers, but is 'abc' in line 4"):
        list(source)


def test_quotation_marks_inside_a_field_are_text(tmp_path: Path) -> None:
    rows = [f'{i},5" pipe,0' for i in range(50)]
    X, _ = table_of(open_source(written(tmp_path, "x,t,y", rows), target="y"))
    assert X["t"].to_pylist() == ['5" pipe'] * 50


def test_quoted_fields_without_lines_in_them_are_cut(tmp_path: Path) -> None:
    rows = [f'{i},"a, {i} ""b""",0' for i in range(99)]
    source = open_source(written(tmp_path, "x,t,y", rows), target="y")
    assert len(list(source.pieces())) > 3
    X, _ = table_of(source)
    assert X["t"].to_pylist() == [f'a, {i} "b"' for i in range(99)]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8-sig", "utf-16"])
def test_encodings_are_recognised(tmp_path: Path, encoding: str) -> None:
    text = "straße,y\n" + "".join(f"weg {i} ü,{i % 2}\n" for i in range(50))
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    reading = Reading(encoding="latin-1") if encoding == "latin-1" else None
    X, _ = table_of(open_source(tmp_path / "a.csv", target="y", reading=reading))
    assert X["straße"].to_pylist() == [f"weg {i} ü" for i in range(50)]
    if encoding == "latin-1":
        with pytest.raises(DataError, match=r"is not (utf-8|UTF-8) text"):
            table_of(open_source(tmp_path / "a.csv", target="y", reading=Reading(encoding="utf-8")))


def test_files_without_rows_and_empty_files_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,y\n")
    assert table_of(open_source(tmp_path, target="y"))[0].num_rows == 1
    (tmp_path / "c.csv").touch()
    with pytest.raises(EmptyDataError, match=r"'c\.csv' is empty\. Remove it"):
        open_source(tmp_path, target="y")
    _, skipped = table_of(open_source(tmp_path, target="y", on_error="skip"))
    assert "'c.csv' is empty" in skipped[0]


def test_columns_of_files_and_types_across_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,x\n2,1.5\n")
    X, _ = table_of(open_source(tmp_path, target="y"))
    assert X["x"].to_pylist() == [1.0, 1.5]
    (tmp_path / "c.csv").write_text("x\n1\n")
    with pytest.raises(DataError, match=r"'c\.csv' has no column 'y', unlike 'a\.csv'"):
        open_source(tmp_path, target="y")


def test_duplicate_names_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There are several columns 'x'"):
        open_source(written(tmp_path, "x,x,y", ["1,2,3"]))


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_all_line_endings_are_read(tmp_path: Path, end: str) -> None:
    (tmp_path / "a.csv").write_bytes(end.join(["x,y", "1,2", "3,4", ""]).encode())
    assert table_of(open_source(tmp_path / "a.csv", target="y"))[0].to_pydict() == {"x": [1, 3]}


def test_a_file_changed_between_passes_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path, "x,y", ["1,2", "3,4"])
    source = open_source(path, target="y")
    table_of(source)
    with path.open("a") as file:
        file.write("5,6\n")
    with pytest.raises(SourceChangedError, match=r"a\.csv' has changed since it was opened"):
        table_of(source)


def test_rows_are_counted_in_the_first_pass(tmp_path: Path) -> None:
    source = open_source(written(tmp_path, "x,y", ["1,2"] * 50), target="y")
    assert source.n_rows is None
    _ = source.schema
    assert source.n_rows == 50
    assert source.n_bytes == 204


def test_numbers_in_one_file_and_words_in_another_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,0\n2,1\n")
    (tmp_path / "b.csv").write_text("x,y\nabc,0\n2.5,1\n")
    with pytest.raises(
        DataError, match=r"Column 'x' is of the type string in 'b.csv', but int64 in 'a.csv'.*--kind x="
    ):
        list(open_source(tmp_path, target="y"))
    source = open_source(tmp_path, target="y", schema=Schema((Column("x", Kind.CATEGORY), Column("y", Kind.INTEGER))))
    assert [chunk.X["x"].to_pylist() for chunk in source] == [["1", "2"], ["abc", "2.5"]]


def test_hexadecimal_numbers_and_fractions_do_not_mix_in_any_block(tmp_path: Path) -> None:
    path = written(tmp_path, "x,k", ["0x1F,0x10"] + ["7,1"] * 40 + ["2.5,2"])
    X, _ = table_of(open_source(path))
    assert (X["x"][0].as_py(), X["x"][-1].as_py()) == ("0x1F", "2.5")
    assert X["k"].type == pa.int64()
    assert X["k"][0].as_py() == 16
    assert X.to_pydict() == mercer.data.read_table(path).to_pydict()


def test_a_quotation_mark_in_a_field_does_not_hide_a_field_in_several_lines(tmp_path: Path) -> None:
    # a block ends after two marks, of which one is an ordinary character
    path = written(tmp_path, "a,b,c", [f'3" nail,"two\n{"lines " * 8}",1'] * 9)
    X, _ = table_of(open_source(path))
    assert X.num_rows == 9
    assert X.to_pydict() == mercer.data.read_table(path).to_pydict()


def test_a_byte_order_mark_inside_a_file_is_a_letter(tmp_path: Path) -> None:
    path = written(tmp_path, "x", ["\ufeff1"] * 40)
    X, _ = table_of(open_source(path))
    assert X["x"].to_pylist() == ["\ufeff1"] * 40


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_a_ragged_line_is_named_or_left_out_whatever_ends_it(tmp_path: Path, end: str) -> None:
    (path := tmp_path / "a.csv").write_bytes(end.join(["a,b", "1,2", "3,4,5", "6,7", ""]).encode())
    with pytest.raises(DataError, match=r"of 'a\.csv' has 3 fields, but the first line has 2"):
        table_of(open_source(path))
    X, skipped = table_of(open_source(path, on_error="skip"))
    assert X.to_pydict() == {"a": [1, 6], "b": [2, 7]}
    assert len(skipped) == 1


@pytest.mark.parametrize("moved", [True, False])
def test_a_changed_file_of_the_same_size_and_time_is_noticed(tmp_path: Path, moved: bool) -> None:
    """Another file is moved to the path, or the file is overwritten."""
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n3,4\n")
    source = open_source(path, target="y")
    before, identity = path.stat(), source.identity
    other = tmp_path / "b.csv" if moved else path
    other.write_text("x,y\n5,6\n7,8\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    with pytest.raises(SourceChangedError, match=r"a\.csv' has changed since it was opened"):
        list(source)
    assert open_source(path, target="y").identity != identity
