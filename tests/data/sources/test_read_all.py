"""All rows of a source in memory, or an error if they do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import mercer
import mercer.data
from mercer._errors import TooLargeError
from mercer.data.sources.read_all import read_all

TABLE = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0, 1]})


def test_rows_that_do_not_fit_into_memory_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    source = mercer.data.open(tmp_path / "a.parquet", target="y")
    assert read_all(source).X.equals(TABLE.select(["a", "b"]))
    monkeypatch.setattr(type(source), "n_bytes", 1 << 60)
    with pytest.raises(TooLargeError, match=r"hold all rows of 'a\.parquet'"):
        read_all(source)


def test_rows_of_unknown_number_are_rejected_during_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is raised before all rows are read."""
    made: list[int] = []

    def many() -> Iterator[Any]:
        for number in range(1000):
            made.append(number)
            yield TABLE

    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 10 * TABLE.nbytes)
    with pytest.raises(TooLargeError, match="To hold all rows of a stream"):
        read_all(mercer.data.open(many(), target="y"))
    assert len(made) < 30


def test_encoded_rows_are_counted_during_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def many() -> Iterator[Any]:
        for number in range(1000):
            made.append(number)
            yield cities

    cities = pa.table({"city": ["Ulm", "Bonn"] * 500, "y": [0, 1] * 500})
    features = mercer.TableFeatures().fit(cities.select(["city"]))
    source = features.transform(mercer.data.open(many(), target="y"))
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 100_000)
    with pytest.raises(TooLargeError, match="To hold all rows of a stream"):
        read_all(source)
    assert len(made) < 100
