"""Archives, compressed files and standard input: the same table as that of the plain file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import mercer.data
from mercer import _memory as memory
from mercer._errors import DataError, DataNotFoundError, EmptyDataError, TooLargeError
from mercer.data.readers import open_rows, read_table
from tests.data._databases import sqlite_file

TEXT = "n,word\n" + "".join(f"{i},w{i % 3}\n" for i in range(40))
TABLE = pa.table({"n": list(range(40)), "word": [f"w{i % 3}" for i in range(40)]})


def zipped(path: Path, **files: str | bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return path


def give(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def as_parquet() -> bytes:
    parquet.write_table(TABLE, sink := io.BytesIO())
    return sink.getvalue()


def as_arrow(kind: Any) -> bytes:
    sink = io.BytesIO()
    with kind(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return sink.getvalue()


def as_zip(name: str, content: bytes) -> bytes:
    with zipfile.ZipFile(sink := io.BytesIO(), "w") as archive:
        archive.writestr(name, content)
    return sink.getvalue()


LINES = "".join(f'{{"n": {i}, "word": "w{i % 3}"}}\n' for i in range(40)).encode()
INPUTS = {
    "CSV": TEXT.encode(),
    "TSV": TEXT.replace(",", "\t").encode(),
    "UTF-16": TEXT.encode("utf-16"),
    "JSON lines": LINES,
    "JSON": b"[" + b",".join(LINES.splitlines()) + b"]",
    "Parquet": as_parquet(),
    "Arrow file": as_arrow(pa.ipc.new_file),
    "Arrow stream": as_arrow(pa.ipc.new_stream),
    "gzip": gzip.compress(TEXT.encode()),
    "bz2": bz2.compress(LINES),
    "zstd": bytes(pa.Codec("zstd").compress(TEXT.encode())),
    "lz4": bytes(pa.Codec("lz4").compress(TEXT.encode())),
    "xz": lzma.compress(as_parquet()),
    "zip": as_zip("a.csv", TEXT.encode()),
    "zip of xz": as_zip("a.csv.xz", lzma.compress(TEXT.encode())),
    "gzip of zip": gzip.compress(as_zip("a.jsonl", LINES)),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_standard_input_is_read_by_its_content(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, INPUTS[kind])
    assert read_table("-").to_pydict() == TABLE.to_pydict()
    assert open_rows("-").names() == ["n", "word"]  # read once, and opened as often as needed
    if kind != "JSON":  # one list, of which no part can be read on its own
        (chunk,) = mercer.data.open("-", target="n")
        assert chunk.X.to_pydict() == TABLE.select(["word"]).to_pydict()


def test_standard_input_that_is_not_a_table_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, b"")
    with pytest.raises(EmptyDataError, match=r"Standard input is empty\. Redirect a table to it"):
        read_table("-")
    give(monkeypatch, gzip.compress(TEXT.encode())[:-9])
    with pytest.raises(DataError, match=r"'standard input' cannot be decompressed.*complete gzip file"):
        read_table("-")


def test_files_of_archives(tmp_path: Path) -> None:
    one = zipped(tmp_path / "one.zip", inside__a_csv=TEXT, read_txt="hello", MACOSX__x_txt="")
    assert read_table(one).to_pydict() == TABLE.to_pydict()
    two = zipped(tmp_path / "two.zip", train_csv=TEXT, test_csv="n,word\n1,x\n")
    with pytest.raises(DataError, match=r"'two\.zip' has several files: 'train\.csv', 'test\.csv'\. Name one"):
        read_table(two)
    for opened in (two / "test.csv", str(two / "test.csv")):
        assert read_table(opened).to_pydict() == {"n": [1], "word": ["x"]}
    assert mercer.data.open(two / "train.csv", target="n").head().n_rows == 40
    with pytest.raises(DataError, match=r"There is no file 'tst\.csv' in 'two\.zip'\. Did you mean 'test\.csv'\?"):
        read_table(two / "tst.csv")
    with pytest.raises(EmptyDataError, match="is an archive without files"):
        read_table(zipped(tmp_path / "none.zip"))
    with pytest.raises(DataNotFoundError, match=r"There is no file .*three\.zip"):
        read_table(tmp_path / "three.zip")
    # a new archive of the same name is another one
    zipped(two, train_csv="n,word\n7,y\n")
    assert read_table(two).to_pydict() == {"n": [7], "word": ["y"]}


def test_formats_that_need_a_whole_file_are_unpacked_too(tmp_path: Path) -> None:
    database = sqlite_file(tmp_path / "a.sqlite", "n", [(1,), (2,)]).read_bytes()
    assert read_table(zipped(tmp_path / "a.zip", a_sqlite=database)).to_pydict() == {"n": [1, 2]}
    (tmp_path / "a.parquet.xz").write_bytes(lzma.compress(as_parquet()))
    assert read_table(tmp_path / "a.parquet.xz").equals(TABLE)
    (tmp_path / "folder").mkdir()
    for number in range(2):
        (tmp_path / "folder" / f"{number}.csv.xz").write_bytes(lzma.compress(TEXT.encode()))
    assert read_table(tmp_path / "folder").num_rows == 80
    assert sum(chunk.n_rows for chunk in mercer.data.open(tmp_path / "folder", target="n")) == 80


def test_damaged_archives_are_rejected(tmp_path: Path) -> None:
    whole = zipped(tmp_path / "a.zip", a_csv=TEXT * 50).read_bytes()
    damaged = bytearray(whole)
    damaged[60:90] = bytes(30)
    for content in (whole[:80], b"PK\x03\x04", bytes(damaged)):
        (tmp_path / "b.zip").write_bytes(content)
        with pytest.raises(DataError, match=r"'b\.zip' cannot be unpacked: .*Fetch the complete zip archive"):
            read_table(tmp_path / "b.zip")
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(TEXT.encode())[:-20])
    with pytest.raises(DataError, match=r"'a\.csv\.xz' cannot be decompressed: .*Fetch the complete xz file"):
        read_table(tmp_path / "a.csv.xz")


def test_archives_that_unpack_to_more_than_memory_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 20_000_000)
    zeros = bytes(40_000_000)
    declared = zipped(tmp_path / "a.zip", a_csv=zeros)
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(zeros, preset=0))
    lines = b"n,word\n" + b"1,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n" * 1_000_000
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(lines, 1))
    with pytest.raises(TooLargeError, match=r"'b\.csv\.gz', decompressed, needs 0\.03\d* GB.*read it piece by piece"):
        read_table(tmp_path / "b.csv.gz")
    assert next(iter(open_rows(tmp_path / "b.csv.gz").parts(["n"]))).frame.num_rows > 0
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(b"[" + b'{"n": 1},' * 4_000_000 + b"{}]", 1))
    with pytest.raises(TooLargeError, match=r"'b\.json\.gz' needs .*read it piece by piece"):
        read_table(tmp_path / "b.json.gz")
    for path in (declared, tmp_path / "a.csv.xz"):
        with pytest.raises(
            TooLargeError, match=r"unpacked, needs 0\.0\d+ GB of memory, but 0\.02 .*unpack it, and name"
        ):
            read_table(path)
