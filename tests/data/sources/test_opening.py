"""Objects that can be opened, and errors about others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import mercer.data
from mercer._errors import ColumnMismatchError, DataError, DataNotFoundError, EmptyDataError
from mercer.data.sources.base import CHUNK_BYTES

TABLE = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0, 1]})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"target": "z"}, "There is no column 'z'"),
        ({"target": "y", "weight": "y"}, "Column 'y' cannot be both target and weight"),
        ({"target": "y", "features": ["a", "y"]}, "Column 'y' cannot be both target and feature"),
        ({"target": "y", "drop": ["y"]}, "Column 'y' is the target, which cannot be dropped"),
        ({"target": "y", "drop": ["a", "b"]}, "Besides 'y' there is no column left to learn from"),
        ({"drop": ["a", "b", "y"]}, "^There is no column left to learn from"),
        ({"rows": 0}, "rows must be at least 1, got 0"),
        ({"on_error": "ignore"}, "on_error must be 'raise' or 'skip', got 'ignore'"),
        ({"sql": "SELECT 1"}, "is for a database, which an object of type Table is not"),
    ],
)
def test_incompatible_arguments_are_rejected(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        mercer.data.open(TABLE, **given)


@pytest.mark.parametrize("what", [3, object()])
def test_sources_without_rows_are_rejected(what: object) -> None:
    with pytest.raises(DataError, match=r"mercer\.data\.open cannot read an object of type"):
        mercer.data.open(what)


def test_columns_by_position_and_by_choice() -> None:
    assert mercer.data.open(TABLE, target="-1").columns.target == "y"
    assert mercer.data.open(TABLE, target="y", features=["b", "a"]).head().X.column_names == ["b", "a"]
    assert mercer.data.open(TABLE, target="y", drop=["a"]).columns.features == ("b",)


def test_rows_in_memory_are_a_source() -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])
    (chunk,) = mercer.data.open(X, y, weight=[1.0, 2.0, 3.0])
    assert chunk.weight is not None
    assert chunk.weight.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(DataError, match="X has 3 rows, but y 2"):
        mercer.data.open(X, y[:2])
    with pytest.raises(DataError, match="target=, features= and drop= name columns"):
        mercer.data.open(X, y, target="y")
    with pytest.raises(DataError, match="This is already a source"):
        mercer.data.open(mercer.data.open(X, y))


def test_paths_of_all_kinds_are_opened(tmp_path: Path) -> None:
    for name in ("b", "a"):
        parquet.write_table(TABLE, tmp_path / f"{name}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.csv").write_text("q\n")
    assert mercer.data.open(tmp_path, target="y").described == "2 Parquet files"
    assert mercer.data.open(str(tmp_path / "*.parquet"), target="y").n_rows == 4
    listed = mercer.data.open([tmp_path / "b.parquet", str(tmp_path / "a.parquet")], target="y")
    assert [piece.name for piece in listed.pieces()] == ["'b.parquet', row group 0", "'a.parquet', row group 0"]
    with pytest.raises(DataNotFoundError, match=r"There is no file whose path matches '.*\*\.csv'"):
        mercer.data.open(str(tmp_path / "*.csv"))
    with pytest.raises(DataNotFoundError, match=r"There is no file .*Did you mean 'a\.parquet'"):
        mercer.data.open(tmp_path / "a.parqet")
    with pytest.raises(DataError, match=r"A query \(sql=\) is for a database, which 'a\.parquet' is not"):
        mercer.data.open(tmp_path / "a.parquet", sql="SELECT 1")
    with pytest.raises(DataError, match="features= is a number for svmlight files only"):
        mercer.data.open(tmp_path / "a.parquet", features=3)
    (tmp_path / "c.csv").write_text("a,b,y\n1,2,3\n")
    with pytest.raises(DataError, match="CSV and Parquet files, which are not one table"):
        mercer.data.open(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="is a folder without data"):
        mercer.data.open(tmp_path / "empty")


def test_targets_and_weights_of_files_are_columns(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    for given in ({"y": np.zeros(2)}, {"weight": np.ones(2)}):
        with pytest.raises(DataError, match="Targets, weights and offsets of files are columns: name them"):
            mercer.data.open(tmp_path / "a.parquet", **given)
    (tmp_path / "a.svm").write_text("1 1:2\n")
    with pytest.raises(DataError, match="svmlight files have a label in each line"):
        mercer.data.open(tmp_path / "a.svm", target="y")


def test_a_name_with_brackets_is_not_a_pattern(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a[1].parquet")
    assert mercer.data.open(str(tmp_path / "a[1].parquet")).n_rows == 2


def test_a_declared_column_that_does_not_exist_is_named() -> None:
    with pytest.raises(ColumnMismatchError, match="There is no column 'c'"):
        mercer.data.open(TABLE, schema=mercer.data.Schema.of(pa.table({"c": [1]})))


def test_chunks_are_small_by_default() -> None:
    wide = pa.table({f"x{j}": np.zeros(3000) for j in range(2000)})
    sizes = [chunk.X.nbytes for chunk in mercer.data.open(wide)]
    assert len(sizes) == 2
    assert max(sizes) <= CHUNK_BYTES


def test_the_identity_depends_on_columns_and_rows(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    opened = [{"target": "y"}, {"target": "y", "drop": ["a"]}, {"target": "a"}, {"target": "y", "rows": 1}]
    identities = [mercer.data.open(tmp_path / "a.parquet", **given).identity for given in opened]
    assert len(set(identities)) == 4
    assert mercer.data.open(tmp_path / "a.parquet", target="y").identity == identities[0]


def test_opening_loads_modules_only_when_needed() -> None:
    code = (
        "import sys, mercer.data; mercer.data.open; "
        "print([m for m in ('pyarrow', 'pandas', 'duckdb', 'narwhals') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_pattern_of_partitioned_folders(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        parquet.write_table(TABLE, tmp_path / f"year={year}" / "a.parquet")
    for pattern in ("year=*", "year=*/*.parquet", "**/*.parquet"):
        source = mercer.data.open(str(tmp_path / pattern), target="y")
        assert [value for chunk in source for value in chunk.X["year"].to_pylist()] == [2023, 2023, 2024, 2024]


def test_the_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    assert mercer.data.open("~/a.parquet").n_rows == 2
    assert mercer.data.open("~/*.parquet").n_rows == 2


def test_rows_without_any_target_differ_from_no_rows() -> None:
    source = mercer.data.open(pa.table({"x": [1.0, 2.0], "y": [None, None]}), target="y")
    with pytest.raises(EmptyDataError, match="no rows in 2 rows except for those left out: 2 rows of frame 0 without"):
        source.head()


@pytest.mark.parametrize("where", ["Parquet", "Arrow", "reader", "function"])
def test_names_that_occur_twice_are_rejected(tmp_path: Path, where: str) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([0])], names=["x", "x", "y"])
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.arrow")
    what = {
        "Parquet": tmp_path / "a.parquet",
        "Arrow": tmp_path / "a.arrow",
        "reader": table.to_reader(),
        "function": table.to_reader,
    }[where]
    with pytest.raises(DataError, match=r"has several columns 'x'\. Rename them"):
        mercer.data.open(what, target="y")


def test_arrays_that_are_not_tables_are_rejected() -> None:
    with pytest.raises(DataError, match=r"X has the shape \(3,\), but a table has rows and columns\. Reshape it"):
        mercer.data.open(np.arange(3.0), np.zeros(3))
    with pytest.raises(DataError, match="weight= and offset= are names of columns"):
        mercer.data.open(TABLE, target="y", weight=np.ones(2))


def test_the_identity_of_a_frame_depends_on_its_last_rows() -> None:
    one, other = pa.table({"x": np.arange(1000.0)}), pa.table({"x": [*np.arange(999.0), 0.0]})
    assert mercer.data.open(one).identity != mercer.data.open(other).identity
    assert mercer.data.open(one).identity == mercer.data.open(one).identity
    assert mercer.data.open(one.slice(0, 0)).identity


def test_the_identity_of_an_array_depends_on_its_type() -> None:
    X, y = np.ones((3, 2)), np.zeros(3)
    assert mercer.data.open(X, y).identity != mercer.data.open(X.astype(np.float32), y).identity
