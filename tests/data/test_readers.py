"""Files come in as typed tables, and a file that does not come in says why."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from mercer._errors import ColumnMismatchError, DataError, DataNotFoundError
from mercer.data import Kind, Schema, read_table, split_target


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def make(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "n, word\n1, red\n?, NA\n3,  blue \n"),
        ("a.csv", '\ufeffn,word\r\n1,"red"\r\n,\r\n3,blue\r\n'),
        ("a.csv", "n;word\n1;red\nNaN;?\n3;blue\n"),
        ("a.TSV", "n\tword\n1\tred\nNA\t\n3\tblue\n"),
        ("a.csv.gz", gzip.compress(b"n,word\n1,red\nnull,?\n3,blue\n", mtime=0)),
    ],
)
def test_separated_files(write: Any, name: str, text: Any) -> None:
    table = read_table(write(name, text))
    assert table.to_pydict() == {"n": [1, None, 3], "word": ["red", None, "blue"]}


@pytest.mark.parametrize(("first", "header"), [("1,red", False), ("?,red", False), ("n,red", True), (",red", True)])
def test_a_first_line_with_a_number_or_a_gap_is_no_header(write: Any, first: str, header: bool) -> None:
    table = read_table(write("a.csv", f"{first}\n2,blue\n"))
    assert table.num_rows == (1 if header else 2)
    assert table.column_names == (first.split(",") if header else ["x0", "x1"])


def test_the_caller_knows_better_about_the_header(write: Any) -> None:
    assert read_table(write("a.csv", "2019,2020\n1,2\n"), header=True).column_names == ["2019", "2020"]
    assert read_table(write("a.csv", "p,x\ne,y\n"), header=False).num_rows == 2


def test_quotation_marks_in_tab_separated_text_are_text(write: Any) -> None:
    table = read_table(write("a.tsv", 'label\ttext\nham\tsay "hi\nspam\t"win"\n'))
    assert table["text"].to_pylist() == ['say "hi', '"win"']
    assert read_table(write("b.tsv", '"label"\t"text"\n"ham"\t"a\tb"\n'))["text"].to_pylist() == ["a\tb"]


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"x": [1.5, None], "c": ["a", "b"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").equals(table)
    assert read_table(str(tmp_path)).num_rows == 2


def test_a_missing_file_suggests_one_beside_it(write: Any) -> None:
    path = write("heart.csv", "a\n1\n")
    with pytest.raises(DataNotFoundError, match=r"'.*hart.csv'\. Did you mean 'heart.csv'"):
        read_table(path.with_name("hart.csv"))
    with pytest.raises(FileNotFoundError):
        read_table(path.parent / "nowhere" / "heart.csv")


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.xlsx", "", r"'a\.xlsx'.*Known endings are '\.csv'"),
        ("a.csv", "", "empty"),
        ("a.csv", "a,b\n1,2,3\n", "'a.csv' cannot be read: .*Expected 2 columns, got 3"),
        ("a.csv", b"word\n\xff\xfe\n", "'word' of 'a.csv' is not UTF-8.*latin-1"),
        ("a.parquet", "no parquet", "'a.parquet' cannot be read as Parquet"),
    ],
)
def test_files_that_cannot_be_read(write: Any, name: str, text: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read_table(write(name, text))


def test_a_folder_without_parquet_names_the_files_in_it(write: Any) -> None:
    folder = write("heart.csv", "a\n1\n").parent
    with pytest.raises(DataError, match=r"is a folder without Parquet files\. Name one of its files: 'heart\.csv'\.$"):
        read_table(folder)


def test_other_encodings(write: Any) -> None:
    path = write("a.csv", "word\ncafé\n".encode("latin-1"))
    assert read_table(path, encoding="latin-1")["word"].to_pylist() == ["café"]


class TestTarget:
    FRAME = pa.table({"id": [7, 8], "x": [1.5, 2.5], "y": ["a", None]})

    @pytest.mark.parametrize("target", ["y", "2", "-1"])
    def test_by_name_or_position(self, target: str) -> None:
        X, y, name, unlabelled = split_target(self.FRAME, target, drop=["0"])
        assert (X.column_names, y.tolist(), name, unlabelled) == (["x"], ["a"], "y", 1)

    @pytest.mark.parametrize("convert", [lambda table: table.to_pandas(), pl.from_arrow])
    def test_any_frame(self, convert: Any) -> None:
        frame = convert(self.FRAME)
        X, y, _, unlabelled = split_target(frame, "y")
        assert type(X) is type(frame)
        assert (X.shape, y.tolist(), unlabelled) == ((1, 2), ["a"], 1)

    def test_a_name_wins_over_a_position(self) -> None:
        assert split_target(pa.table({"a": [1], "0": [2]}), "0").y.tolist() == [2]

    @pytest.mark.parametrize("target", ["Y", "3", "-4", "--1"])
    def test_an_unknown_column(self, target: str) -> None:
        with pytest.raises(ColumnMismatchError, match=f"no column '{target}'.*'y'"):
            split_target(self.FRAME, target)

    def test_a_name_that_occurs_twice(self) -> None:
        with pytest.raises(DataError, match=r"column 'x' 2 times.*Rename"):
            split_target(pa.table([[1], [2], [3]], names=["x", "x", "y"]), "y")

    def test_no_frame(self) -> None:
        with pytest.raises(DataError, match="not out of dict"):
            split_target({"x": [1], "y": [2]}, "y")

    def test_nothing_left(self) -> None:
        with pytest.raises(DataError, match="no column left"):
            split_target(self.FRAME, "y", drop=["id", "x"])


def test_adult(real_data: Any) -> None:
    schema = Schema.infer(read_table(real_data("adult-train.csv")))
    categories = [column for column in schema if column.kind is Kind.CATEGORY]
    assert len(categories) == 9
    assert schema["x14"].levels == ("<=50K", ">50K")
    assert schema["x1"].notes == ("6% missing",)


def test_text_messages(real_data: Any) -> None:
    assert read_table(real_data("sms_spam.tsv")).num_rows == 5574


def test_a_missing_file_is_one_sentence_where_nothing_else_was_meant(tmp_path: Path) -> None:
    with pytest.raises(
        DataNotFoundError, match=r"^There is no file '.*a\.csv', nor any other .* beside it; check .*\.$"
    ):
        read_table(tmp_path / "a.csv")
    with pytest.raises(DataNotFoundError, match=r"^There is no file '.*a\.csv', nor a folder '.*gone'; check .*\.$"):
        read_table(tmp_path / "gone" / "a.csv")
    with pytest.raises(DataError, match=r"is a folder without Parquet files\. Name a CSV or Parquet file\.$"):
        read_table(tmp_path)
