"""One small table in every kind of source."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, dataset, feather, parquet
from sklearn.datasets import dump_svmlight_file

import mercer.data
from mercer.data import Reading
from mercer.data.sources.base import Piece, Source

ROWS = 240
#: rows of the end that have a level of their own, fewer than any block has
LAST = 4
#: blocks and pieces so small that 240 rows are many pieces
SMALL = Reading(block_bytes=1500, piece_bytes=1000)
NUMBERS = ("a", "big")
COUNTS = ("n", "m", "k")


def _drawn() -> pa.Table:
    """Numbers, one column far from zero and one with gaps, counts, categories, texts, responses, weights, offsets."""
    rng = np.random.default_rng(9)
    a, big, gap = rng.normal(size=ROWS), 1e6 + rng.normal(size=ROWS), rng.normal(size=ROWS)
    city = rng.choice(["Ulm", "Bonn", "Bad Ems"], ROWS)
    city[-LAST:] = "Zell"
    eta = 0.7 * a - 0.4 * (big - 1e6) + 0.3 * (city == "Ulm")
    noisy = eta + rng.logistic(size=ROWS)
    words = np.array(["rain", "sun", "wind", "snow", "hail", "fog", "Föhn"])
    texts = [" ".join(rng.choice(words[: 4 + (value > 0) * 3], 5)) for value in noisy]
    texts[-1] += " thunder"
    weight = rng.integers(0, 9, ROWS) / 4
    weight[60:110] = 0.0  # so that some blocks weigh nothing
    return pa.table(
        {
            "a": a,
            "big": big,
            "gap": pa.array(gap, mask=rng.uniform(size=ROWS) < 0.15),
            "n": rng.poisson(np.exp(0.5 + 0.3 * (noisy > 0)), ROWS),
            "m": rng.poisson(2.0, ROWS),
            "k": rng.poisson(np.exp(0.3 * a)),
            "city": city,
            "words": texts,
            "two": np.where(noisy > 0, "yes", "no"),
            "three": np.array(["low", "mid", "high"])[np.digitize(noisy, [-1.0, 1.0])],
            "flag": (noisy > 0).astype(int),
            "code": np.digitize(noisy, [-1.0, 1.0]),
            "number": eta + rng.normal(size=ROWS),
            "count": rng.poisson(np.exp(0.5 * eta)),
            "weight": weight,
            "exposure": 0.1 * rng.normal(size=ROWS),
        }
    )


TABLE = _drawn()


@dataclass(frozen=True)
class TableInputs:
    """The columns of the table that a model takes."""

    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = "weight"
    offset: str | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """Return the columns as arguments of `mercer.data.open`."""
        return {"features": self.features, "target": self.target, "weight": self.weight, "offset": self.offset}

    @property
    def only_numbers(self) -> bool:
        return not {"city", "words"} & {*self.features}

    def as_numbers(self) -> TableInputs:
        """Return the inputs as an svmlight file has them: labels are numbers, and there are no weights."""
        target = {"two": "flag", "three": "code"}.get(str(self.target), self.target)
        return TableInputs(self.features, target, weight=None)

    def values(self, name: str | None, table: pa.Table = TABLE) -> Any:
        return None if name is None else table[name].to_numpy()

    def array(self) -> Any:
        """The features of a table of numbers; gaps are NaN."""
        return np.column_stack([TABLE[name].to_numpy().astype(float) for name in self.features])


# Where the table is written, once for each module of tests.


def write(folder: Path) -> None:
    """Every file that `KINDS` open."""
    (folder / "csv").mkdir()
    (folder / "parquet").mkdir()
    halves = [(0, 100), (100, 0), (100, ROWS)]  # one of the files has no rows
    for number, (start, length) in enumerate(halves):
        part = TABLE.slice(start, length)
        parquet.write_table(part, folder / "parquet" / f"{number}.parquet", row_group_size=30)
        csv.write_csv(part, folder / "csv" / f"{number}.csv")
    parquet.write_table(TABLE, folder / "a.parquet", row_group_size=50)
    parquet.write_to_dataset(TABLE, folder / "hive", partition_cols=["city"])
    feather.write_feather(TABLE, str(folder / "a.arrow"), chunksize=70)
    with pa.ipc.new_stream(str(folder / "a.arrows"), TABLE.schema) as stream:
        stream.write_table(TABLE, max_chunksize=70)
    csv.write_csv(TABLE, folder / "a.csv")
    csv.write_csv(TABLE, folder / "a.tsv", csv.WriteOptions(delimiter="\t"))
    with pa.CompressedOutputStream(str(folder / "b.csv.gz"), "gzip") as packed:
        csv.write_csv(TABLE, packed)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in TABLE.to_pylist())
    (folder / "a.jsonl").write_text("".join(lines), encoding="utf-8")
    connection = sqlite3.connect(folder / "a.sqlite")
    TABLE.to_pandas().to_sql("t", connection, index=False)
    connection.close()
    _write_duckdb(folder)


def _write_duckdb(folder: Path) -> None:
    import duckdb

    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")


# Ways to open it. Each takes the folder, what is inputs for, and how many rows a chunk has.

Opened = Callable[[Path, TableInputs, int | None], Source]
KINDS: dict[str, Opened] = {}


def kind(function: Opened) -> Opened:
    KINDS[function.__name__.replace("_", " ")] = function
    return function


def _file(name: str, **more: Any) -> Opened:
    def opened(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
        return mercer.data.open(folder / name, rows=rows, reading=SMALL, **inputs.columns, **more)

    return opened


KINDS |= {
    "Parquet file": _file("a.parquet"),
    "Parquet folder": _file("parquet"),
    "hive folders": _file("hive"),
    "Arrow file": _file("a.arrow"),
    "Arrow stream file": _file("a.arrows"),
    "CSV": _file("a.csv"),
    "CSV folder": _file("csv"),
    "CSV, compressed": _file("b.csv.gz"),
    "TSV": _file("a.tsv"),
    "JSON lines": _file("a.jsonl"),
    "DuckDB file": _file("a.duckdb", sql="SELECT * FROM t WHERE weight >= 0"),
    "SQLite": _file("a.sqlite", sql="t"),
}


@kind
def Parquet_pattern(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    return mercer.data.open(str(folder / "parquet" / "*.parquet"), rows=rows, reading=SMALL, **inputs.columns)


@kind
def DuckDB_relation(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    import duckdb

    connection = duckdb.connect()
    connection.register("given", TABLE)
    return mercer.data.open(connection.sql("SELECT * FROM given"), rows=rows, **inputs.columns)


@kind
def pyarrow_dataset(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    return mercer.data.open(dataset.dataset(folder / "parquet"), rows=rows, reading=SMALL, **inputs.columns)


@kind
def list_of_frames(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    import polars

    frames = [TABLE.slice(0, 90).to_pandas(), polars.from_arrow(TABLE.slice(90, 90)), TABLE.slice(180)]
    return mercer.data.open(frames, rows=rows, **inputs.columns)


@kind
def function_of_frames(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    def made() -> Iterator[Any]:
        return (TABLE.slice(start, 70).to_pandas() for start in range(0, ROWS, 70))

    return mercer.data.open(made, rows=rows, **inputs.columns)


@kind
def function_of_a_reader(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    return mercer.data.open(partial(TABLE.to_reader, max_chunksize=70), rows=rows, **inputs.columns)


@kind
def pandas_frame(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    return mercer.data.open(TABLE.to_pandas(), rows=rows, **inputs.columns)


@kind
def polars_frame(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    import polars

    return mercer.data.open(polars.from_arrow(TABLE), rows=rows, **inputs.columns)


@kind
def pyarrow_table(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    return mercer.data.open(TABLE, rows=rows, **inputs.columns)


def _targets_and_weights(inputs: TableInputs) -> dict[str, Any]:
    return {
        "y": inputs.values(inputs.target),
        "weight": inputs.values(inputs.weight),
        "offset": inputs.values(inputs.offset),
    }


@kind
def array(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    return mercer.data.open(inputs.array(), rows=rows, **_targets_and_weights(inputs))


@kind
def memory_map(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    path = folder / f"{'-'.join(inputs.features)}.npy"
    if not path.exists():
        np.save(path, inputs.array())
    return mercer.data.open(np.load(path, mmap_mode="r"), rows=rows, **_targets_and_weights(inputs))


@kind
def svmlight(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
    path = folder / f"{'-'.join(inputs.features)}-{inputs.target}.svm"
    if not path.exists():
        dump_svmlight_file(inputs.array(), inputs.values(inputs.target), str(path), zero_based=True)
    return mercer.data.open(path, rows=rows, reading=SMALL, features=len(inputs.features))


#: kinds that hold an array, and no words
ARRAYS = ("array", "memory map", "svmlight")


def supports(name: str, inputs: TableInputs) -> bool:
    """Return whether a source of that kind can store the inputs."""
    return name not in ARRAYS or (inputs.only_numbers and (name != "svmlight" or inputs.target is not None))


def postgresql(address: str) -> Opened:
    """The kind that needs a server; it is given the table."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as connection:
        with connection.cursor() as cursor:
            cursor.adbc_ingest("t", TABLE.to_reader(), mode="replace")
        connection.commit()

    def opened(folder: Path, inputs: TableInputs, rows: int | None) -> Source:
        return mercer.data.open(address, sql="t", rows=rows, **inputs.columns)

    return opened


class Shuffled(Source):
    """The pieces of another source in another order."""

    def __init__(self, source: Source, seed: int) -> None:
        self.source, self.seed, self.columns, self.sample_rows = source, seed, source.columns, source.sample_rows

    def pieces(self) -> Iterator[Piece]:
        pieces = list(self.source.pieces())
        return (pieces[j] for j in np.random.default_rng(self.seed).permutation(len(pieces)))

    @property
    def described(self) -> str:
        return f"{self.source.described}, shuffled"
