"""Datasets of pyarrow."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

import mercer.data
from mercer._errors import DataError, SourceChangedError
from mercer.data import Reading
from tests.data.sources._reading import chunks_of

TABLE = pa.table({"x": np.random.default_rng(0).normal(size=300), "y": np.arange(300) % 2, "g": ["a", "b", "c"] * 100})


def test_files_are_cut_by_row_groups(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet", row_group_size=100)
    opened = dataset.dataset(tmp_path)
    assert [piece.name for piece in mercer.data.open(opened, target="y").pieces()] == ["'a.parquet'"]
    source = mercer.data.open(opened, target="y", reading=Reading(piece_bytes=100))
    pieces = pickle.loads(pickle.dumps(list(source.pieces())))
    assert [piece.name for piece in pieces] == [f"'a.parquet', row group {group}" for group in range(3)]
    X = pa.concat_tables([chunk.X for piece in pieces for chunk in piece.chunks([])])
    assert X.equals(TABLE.select(["x", "g"]))


def test_partitioned_folders_are_read(tmp_path: Path) -> None:
    parquet.write_to_dataset(TABLE, tmp_path, partition_cols=["g"])
    source = mercer.data.open(dataset.dataset(tmp_path, partitioning="hive"), target="y")
    assert source.columns.features == ("x", "g")
    assert {value for chunk in source for value in chunk.X["g"].to_pylist()} == {"a", "b", "c"}


def test_csv_and_memory(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    source = mercer.data.open(dataset.dataset(tmp_path, format="csv"), target="y")
    assert [chunk.X["x"].to_pylist() for chunk in source] == [[1, 3]]
    assert sum(chunk.n_rows for chunk in mercer.data.open(dataset.dataset(TABLE), target="y")) == 300


def test_broken_and_changed_files_are_reported(tmp_path: Path) -> None:
    parquet.write_table(TABLE, path := tmp_path / "a.parquet", compression="gzip")
    content = bytearray(path.read_bytes())
    content[400:420] = bytes(20)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"'a\.parquet', row group 0 cannot be read: .*on_error='skip'"):
        list(mercer.data.open(dataset.dataset(path), target="y"))
    source = mercer.data.open(dataset.dataset(path), target="y", on_error="skip")
    chunks, skipped = chunks_of(source)
    assert chunks == []
    assert len(skipped) == 1
    parquet.write_table(TABLE, path)
    with pytest.raises(SourceChangedError, match=r"a\.parquet' has changed"):
        list(source)
