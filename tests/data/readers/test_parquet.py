"""Folders of Parquet files, and their types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from mercer._errors import DataError
from mercer.data.readers import Reading, open_rows

TABLE = pa.table({"x": list(range(100)), "c": ["a", "b"] * 50})


def test_partitioned_folders_are_read(tmp_path: Path) -> None:
    parquet.write_to_dataset(TABLE, tmp_path, partition_cols=["c"])
    rows = open_rows(tmp_path)
    assert sorted(rows.names()) == ["c", "x"]
    assert rows.table().num_rows == sum(part.frame.num_rows for part in rows.parts(["x", "c"])) == 100


def test_a_file_that_lacks_a_column_of_the_others_is_named(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    parquet.write_table(TABLE.drop(["c"]), tmp_path / "b.parquet")
    rows = open_rows(tmp_path)
    for read in (rows.table, lambda: list(rows.parts(["x"]))):
        with pytest.raises(DataError, match=r"'b\.parquet' has no column 'c', unlike 'a\.parquet'"):
            read()


def test_decimals_are_numbers(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"price": pa.array([1, 2]).cast(pa.decimal128(21, 2))}), tmp_path / "a.parquet")
    assert open_rows(tmp_path / "a.parquet").table().schema.field("price").type == pa.float64()


def test_words_in_one_file_and_numbers_in_another_are_named(tmp_path: Path) -> None:
    for name, values in (("a", [1.5, 2.5]), ("b", ["1.5", "2.5"])):
        parquet.write_table(pa.table({"x": values}), tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match=r"Column 'x' is of the type string in 'b.parquet', but double in 'a.parquet'"):
        open_rows(tmp_path).table()


@pytest.mark.parametrize("name", ["_part.parquet", ".part.parquet", "_old/part.parquet"])
def test_a_folder_without_data_files_is_rejected(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    parquet.write_table(pa.table({"x": [1]}), tmp_path / name)
    (tmp_path / "empty.parquet").mkdir()
    with pytest.raises(DataError, match="is a folder without data"):
        open_rows(tmp_path)


@pytest.mark.parametrize(
    ("numbers", "names"),
    [
        ([3.0, float("nan"), None, 1.0], ["3", None, None, "1"]),
        ([3.0, float("nan"), 1.5], ["3", None, "1.5"]),
        ([3.0, float("inf")], ["3", "inf"]),
    ],
)
@pytest.mark.parametrize("held", ["category", "text"])
def test_names_written_as_numbers(tmp_path: Path, numbers: Any, names: Any, held: Any) -> None:
    parquet.write_table(pa.table({"ward": pa.array(numbers)}), tmp_path / "a.parquet")
    rows = open_rows(tmp_path / "a.parquet", Reading(held={"ward": held}))
    assert rows.table()["ward"].to_pylist() == names
