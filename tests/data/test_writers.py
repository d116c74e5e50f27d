"""Rows that are written piece by piece are read back unchanged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mercer._errors import DataError, WriteError
from mercer.data import read_table
from mercer.data.writers import append_columns, encode_tables, format_of

PARTS = [
    pa.table({"n": [1, 2], "word": ["a,b", None], "city": pa.array(["Ulm", "Bonn"]).dictionary_encode()}),
    pa.table({"n": [3], "word": ['"c"'], "city": pa.array(["Ulm"]).dictionary_encode()}),
]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet"])
def test_pieces_are_joined_into_a_file(tmp_path: Path, name: str) -> None:
    pieces = list(encode_tables(PARTS, format_of(name)))
    assert len(pieces) >= len(PARTS)
    (tmp_path / name).write_bytes(b"".join(pieces))
    expected = {"n": [1, 2, 3], "word": ["a,b", None, '"c"'], "city": ["Ulm", "Bonn", "Ulm"]}
    read = read_table(tmp_path / name)
    if name == "a.tsv":
        assert read["n"].to_pylist() == [1, 2, 3]
    else:
        assert read.to_pydict() == expected


@pytest.mark.parametrize(("form", "second"), [(",", '"b,c"'), ("\t", "b,c")])
def test_quotation_marks_are_written_only_where_needed(form: str, second: str) -> None:
    table = pa.table({"w,": ["00001", "b,c", 'd"', "e\nf", "", None], "n": [1.5, 2, 3, 4, 5, 6]})
    lines = b"".join(encode_tables([table], form)).decode()
    fields = ["00001", second, '"d"""', '"e\nf"', '""', ""]
    numbers = ["1.5", "2", "3", "4", "5", "6"]
    rows = [f"{field}{form}{number}\n" for field, number in zip(fields, numbers, strict=True)]
    assert lines == f'"w,"{form}"n"\n' + "".join(rows)


def test_a_column_without_values_at_first_is_one_of_strings(tmp_path: Path) -> None:
    parts = [pa.table({"note": pa.nulls(2)}), pa.table({"note": ["a", None]}), pa.table({"note": pa.nulls(1)})]
    (tmp_path / "a.parquet").write_bytes(b"".join(encode_tables(parts, "parquet")))
    assert read_table(tmp_path / "a.parquet")["note"].to_pylist() == [None, None, "a", None, None]


def test_values_that_a_format_cannot_store_are_named() -> None:
    with pytest.raises(WriteError, match=r"Column 'n' has the type double in some rows, but int64 .* as \.csv"):
        list(encode_tables([pa.table({"n": [1]}), pa.table({"n": [1.5]})], "parquet"))
    with pytest.raises(WriteError, match=r"Column 'n' has the type list.* as \.parquet"):
        list(encode_tables([pa.table({"n": [[1]]})], ","))


def test_several_columns_are_written() -> None:
    predictions = {"prediction": np.array(["x", None], dtype=object), "p": np.array([0.5, 1.0])}
    assert append_columns(PARTS[0], ["n"], predictions).to_pydict() == {
        "n": [1, 2],
        "prediction": ["x", None],
        "p": [0.5, 1.0],
    }
    assert (
        append_columns(PARTS[0], [], {"all": np.array([None, None], dtype=object)}).schema.field("all").type
        == pa.string()
    )


def test_the_file_extension_determines_the_format() -> None:
    assert format_of("-") == ","
    with pytest.raises(DataError, match=r"'a\.xlsx' does not follow from its ending\. Use \.csv"):
        format_of("a.xlsx")
