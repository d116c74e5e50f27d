"""Files are read as typed tables; errors state why a file cannot be read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import mercer.data
from mercer._errors import DataError, DataNotFoundError, EmptyDataError
from mercer.data import Kind, Schema, read_table
from mercer.data.readers import Reading, open_rows


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
def test_separated_files_are_read(write: Any, name: str, text: Any) -> None:
    table = read_table(write(name, text))
    assert table.to_pydict() == {"n": [1, None, 3], "word": ["red", None, "blue"]}


@pytest.mark.parametrize(("first", "header"), [("1,red", False), ("?,red", False), ("n,red", True), (",red", True)])
def test_a_first_line_with_a_number_or_a_gap_is_not_a_header(write: Any, first: str, header: bool) -> None:
    table = read_table(write("a.csv", f"{first}\n2,blue\n"))
    assert table.num_rows == (1 if header else 2)
    assert table.column_names == (first.split(",") if header else ["x0", "x1"])


def test_the_header_can_be_declared(write: Any) -> None:
    assert read_table(write("a.csv", "2019,2020\n1,2\n"), header=True).column_names == ["2019", "2020"]
    assert read_table(write("a.csv", "p,x\ne,y\n"), header=False).num_rows == 2


def test_quotation_marks_in_tab_separated_text_are_text(write: Any) -> None:
    table = read_table(write("a.tsv", 'label\ttext\nham\tsay "hi\nspam\t"win"\n'))
    assert table["text"].to_pylist() == ['say "hi', '"win"']
    assert read_table(write("b.tsv", '"label"\t"text"\n"ham"\t"a\tb"\n'))["text"].to_pylist() == ["a\tb"]


def test_parquet_files_are_read(tmp_path: Path) -> None:
    table = pa.table({"x": [1.5, None], "c": ["a", "b"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").equals(table)
    assert read_table(str(tmp_path)).num_rows == 2


def test_a_missing_file_suggests_one_in_the_same_folder(write: Any) -> None:
    path = write("heart.csv", "a\n1\n")
    with pytest.raises(DataNotFoundError, match=r"'.*hart.csv'\. Did you mean 'heart.csv'"):
        read_table(path.with_name("hart.csv"))
    with pytest.raises(FileNotFoundError):
        read_table(path.parent / "nowhere" / "heart.csv")


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.doc", "", r"'a\.doc'.*known endings are '\.csv'"),
        ("a.csv", "", "'a.csv' is empty"),
        ("a.csv", " \n\n", "'a.csv' is empty"),
        ("a.csv", b"PK\x03\x04\x00\x00", "'a.csv' is not a text file"),
        ("a.csv", "a,b\n1,2\n1,2,3\n", "Line 3 of 'a.csv' has 3 fields, but the first line has 2"),
        ("a.csv", 'a,b\n"x\ny",2\n1\n', "Line 4 of 'a.csv' has 1 fields, but the first line has 2"),
        ("a.csv.gz", gzip.compress(b"a,b\n1\n", mtime=0), r"Line 2 of 'a\.csv\.gz' has 1 fields"),
        ("a.csv.gz", b"no gzip", r"'a\.csv\.gz' cannot be opened"),
        ("a.csv", b"word\n\x81\xfe\n", "'a.csv' is neither UTF-8 nor cp1252 text.*latin-1"),
        ("a.parquet", "no parquet", "'a.parquet' cannot be read as Parquet"),
    ],
)
def test_files_that_cannot_be_read(write: Any, name: str, text: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read_table(write(name, text))


def test_other_encodings_are_read(write: Any) -> None:
    path = write("a.csv", "word\ncafé\n".encode("latin-1"))
    assert read_table(path, encoding="latin-1")["word"].to_pylist() == ["café"]
    with pytest.raises(DataError, match="There is no encoding 'utf-9'; try 'utf-8'"):
        read_table(path, encoding="utf-9")


def test_text_that_is_not_utf_8_is_decoded_as_cp1252_wherever_the_first_such_byte_is(write: Any) -> None:
    late = "word,n\n" + "".join(f"word {i},{i}\n" for i in range(200_000)) + "5 €,café\n"
    path = write("a.csv", late.encode("cp1252"))
    rows = open_rows(path)
    assert rows.described.endswith("decoded as cp1252")
    assert rows.table().slice(200_000).to_pylist() == [{"word": "5 €", "n": "café"}]
    assert [part.frame for part in rows.parts(["word"])][-1]["word"].to_pylist()[-1] == "5 €"
    assert read_table(path, encoding="latin-1")["word"].to_pylist()[-1] == "5 \x80"
    with pytest.raises(DataError, match="is not"):
        read_table(path, encoding="utf-8")
    assert "decoded" not in open_rows(write("b.csv", "word\n5 €\n")).described


def test_a_byte_order_mark_identifies_utf_16(write: Any) -> None:
    rows = open_rows(write("a.csv", "n;word\n1;café\n".encode("utf-16")))
    assert rows.table().to_pydict() == {"n": [1], "word": ["café"]}
    assert rows.described == "fields separated by semicolons, names in the first line, decoded as utf-16"


def test_inferred_options_are_described_and_can_be_given(write: Any) -> None:
    path = write("a.txt", "a|b\n1|2\n")
    rows = open_rows(path, Reading(separator="|", header=False))
    assert rows.described == "fields separated by bars, no line with names"
    assert rows.table().to_pydict() == {"x0": ["a", "1"], "x1": ["b", "2"]}
    with pytest.raises(DataError, match="A separator is one character, not '::'"):
        open_rows(path, Reading(separator="::")).table()
    assert open_rows(write("b.csv", "a\tb\n1\t2\n"), Reading(separator="tab")).names() == ["a", "b"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_words_that_mean_a_missing_value(write: Any, tmp_path: Path, name: str) -> None:
    path = write(name, "n,word\n-999,red\n2,unknown\n")
    table = pa.table({"n": [-999, 2], "word": ["red", "unknown"]})
    if name == "a.parquet":
        parquet.write_table(table, path)
    if name == "a.jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    read = open_rows(path, Reading(missing=("-999", "unknown"))).table()
    assert read.to_pydict() == {"n": [None, 2], "word": ["red", None]}


def test_only_the_given_words_are_missing(write: Any) -> None:
    path = write("a.csv", "n,country\n-1,NA\n2,\n")
    read = open_rows(path, Reading(missing=("-1",), only_missing=True)).table()
    assert read.to_pydict() == {"n": [None, 2], "country": ["NA", None]}


def test_contents_of_columns_can_be_declared(write: Any) -> None:
    path = write("a.csv", "plz,stars\n01307,5\n89073,4\n")
    table = open_rows(path, Reading(held={"plz": "category"}, kinds={"stars": Kind.CATEGORY})).table()
    assert table["plz"].to_pylist() == ["01307", "89073"]
    assert Schema.infer(table)["plz"].levels == ("01307", "89073")
    with pytest.raises(DataError, match=r"There is no column 'star'\. Did you mean 'stars'"):
        open_rows(path, Reading(kinds={"star": Kind.NUMBER}))
    with pytest.raises(DataError, match=r"Column 'a' of 'b\.csv' must hold numbers, but is 'x' in line 2\."):
        open_rows(write("b.csv", "a\nx\n"), Reading(held={"a": "number"})).table()


def test_only_names_are_a_table_without_rows(write: Any) -> None:
    table = read_table(write("a.csv", "a,b\n"))
    assert (table.num_rows, table.column_names) == (0, ["a", "b"])


@pytest.mark.parametrize("size", ["block_bytes", "batch_rows", "piece_bytes"])
def test_sizes_are_positive(size: str) -> None:
    with pytest.raises(DataError, match=f"{size} must be at least 1, got 0"):
        Reading(**{size: 0})  # type: ignore[arg-type]


def test_queries_are_accepted_for_databases_only(write: Any) -> None:
    with pytest.raises(DataError, match=r"--sql.*DuckDB file, which 'a\.csv' is not"):
        open_rows(write("a.csv", "a\n1\n"), Reading(sql="SELECT 1"))


def test_parts_are_all_rows_in_order(write: Any) -> None:
    path = write("a.csv", "id,x,word\n" + "".join(f"{i},{i / 2},w{i}\n" for i in range(1000)))
    parts = list(open_rows(path, Reading(held={"x": "number"}, block_bytes=2000)).parts(["word", "x"]))
    assert len(parts) > 3
    assert [share for _, share in parts] == sorted(share for _, share in parts if share is not None)
    whole = pa.concat_tables([frame for frame, _ in parts])
    assert whole.equals(read_table(path).select(["word", "x"]))


def test_a_ragged_line_in_a_later_part_has_its_number(write: Any) -> None:
    path = write("a.csv", "id,x\n" + "".join(f"{i},{i / 2}\n" for i in range(1000)) + "1,2,3\n")
    with pytest.raises(DataError, match=r"Line 1002 of 'a\.csv' has 3 fields"):
        list(open_rows(path, Reading(block_bytes=2000)).parts(["x"]))


def test_a_value_that_is_not_a_number_in_a_later_part(write: Any) -> None:
    path = write("a.csv", "x\n" + "1\n" * 2000 + "many\n")
    with pytest.raises(DataError, match=r"Column 'x' of 'a\.csv' .* is 'many' in line 2002\."):
        list(open_rows(path, Reading(held={"x": "number"}, block_bytes=2000)).parts(["x"]))


def test_the_adult_data_are_read(real_data: Any) -> None:
    schema = Schema.infer(read_table(real_data("adult-train.csv")))
    categories = [column for column in schema if column.kind is Kind.CATEGORY]
    assert len(categories) == 9
    assert schema["x14"].levels == ("<=50K", ">50K")
    assert schema["x1"].notes == ("6% missing",)


def test_the_text_messages_are_read(real_data: Any) -> None:
    assert read_table(real_data("sms_spam.tsv")).num_rows == 5574


def test_a_missing_file_without_similar_names_gives_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        DataNotFoundError, match=r"^There is no file '.*a\.csv', and no other .* in its folder; check .*\.$"
    ):
        read_table(tmp_path / "a.csv")
    with pytest.raises(
        DataNotFoundError, match=r"^There is neither a file '.*a\.csv' nor a folder '.*gone'; check .*\.$"
    ):
        read_table(tmp_path / "gone" / "a.csv")


def test_a_header_line_without_a_newline_gives_a_clear_error(write: Any) -> None:
    with pytest.raises(EmptyDataError, match="has column names, but no rows"):
        read_table(write("a.csv", "a,b,y"))


@pytest.mark.parametrize("address", ["https://example.org/a.csv", "s3://bucket/a.parquet"])
def test_urls_are_rejected(address: str) -> None:
    for read in (read_table, mercer.data.open):
        with pytest.raises(DataNotFoundError, match=f"'{address}' is an address, not a file.*Download the file"):
            read(address)


@pytest.mark.parametrize("word", ["n/a", "#N/A", "<NA>"])
def test_words_of_spreadsheets_and_pandas_for_missing_values(write: Any, word: str) -> None:
    assert read_table(write("a.csv", f"x\n1.5\n{word}\n")).to_pydict() == {"x": [1.5, None]}
