"""Rows as JSON objects: in lines, or in a list."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import mercer.data
from mercer._errors import DataError, EmptyDataError
from mercer.data import Reading
from mercer.data.readers import open_rows

EXPECTED = {"n": [1, None, 3.5], "word": ["red", "?", None]}


@pytest.mark.parametrize(
    ("name", "text", "described"),
    [
        ("a.jsonl", '{"n": 1, "word": "red"}\n{"word": "?"}\n\n{"n": 3.5}\n', "a JSON object in each line"),
        (
            "a.ndjson",
            '\ufeff{"n": 1, "word": "red"}\n{"n": null, "word": "?"}\n{"n": 3.5}',
            "a JSON object in each line",
        ),
        ("a.json", '[{"n": 1, "word": "red"}, {"word": "?"}, {"n": 3.5}]', "a JSON list"),
        ("a.json", "\n" * 5000 + '[{"n": 1, "word": "red"}, {"word": "?"}, {"n": 3.5}]', "a JSON list"),
        ("a.json", '{"n": 1, "word": "red"}\n{"word": "?"}\n{"n": 3.5}\n', "a JSON object in each line"),
    ],
)
def test_rows_are_read(tmp_path: Path, name: str, text: str, described: str) -> None:
    (path := tmp_path / name).write_text(text, encoding="utf-8")
    rows = open_rows(path)
    assert (rows.table().to_pydict(), rows.described, rows.names()) == (EXPECTED, described, ["n", "word"])


def test_parts_are_all_rows_in_order(tmp_path: Path) -> None:
    lines = [f'{{"i": {i}, "x": {i / 2}}}' if i < 500 else f'{{"i": {i}}}' for i in range(1000)]
    (path := tmp_path / "a.jsonl").write_text("\n".join(lines))
    parts = [part.frame for part in open_rows(path, Reading(block_bytes=500)).parts(["x", "i"])]
    assert len(parts) > 10
    whole = pa.concat_tables(parts, promote_options="permissive")
    assert whole["i"].to_pylist() == list(range(1000))
    assert whole["x"].null_count == 500


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.jsonl", '{"a": 1}\n{"a": \n', "Line 2 of 'a.jsonl' is not JSON"),
        ("a.jsonl", '{"a": 1}\n[1]\n', "Line 2 of 'a.jsonl' is not an object"),
        (
            "a.jsonl",
            '{"a": 1}\n{"a": 2}\n{"a": "x"}\n',
            "Line 3 of 'a.jsonl': 'a' is 'x', a str, but was a number before",
        ),
        ("a.json", '[{"a": 1}, 2]', "Entry 1 of 'a.json' is not an object"),
        ("a.json", '[{"a": 1}', "'a.json' is not JSON"),
        ("a.json", '[{"a": 1}, {"a": "x"}]', "Column 'a' of 'a.json' holds values of several types"),
    ],
)
def test_lines_that_cannot_be_read(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (path := tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=sentence):
        open_rows(path).table()


@pytest.mark.parametrize(("name", "text"), [("a.jsonl", ""), ("a.json", "[]"), ("a.json", "  \n")])
def test_files_without_rows_are_rejected(tmp_path: Path, name: str, text: str) -> None:
    (path := tmp_path / name).write_text(text)
    with pytest.raises(EmptyDataError):
        open_rows(path).table()


@pytest.mark.parametrize(
    ("name", "octets", "sentence"),
    [
        ("a.jsonl", b'null\n{"x": 1}\n', r"Line 1 of 'a\.jsonl' is not an object"),
        ("a.jsonl", b'{"x": 1}\n null\n', r"Line 2 of 'a\.jsonl' is not an object"),
        ("a.jsonl", b'{"x": "a"}\n{"x": "\xff"}\n', r"Line 2 of 'a\.jsonl' is not JSON: 'utf-8' codec"),
        ("a.json", b"[" * 100_000, r"'a\.json' is not JSON: maximum recursion depth"),
        ("a.json", b'[{"x": 1' + b"0" * 30 + b"}]", r"Column 'x' of 'a\.json' holds values .* columns cannot have"),
        ("a.json", b'[{"\\ud800": 1}]', r"of 'a\.json' holds values .* columns cannot have"),
        ("a.json", b'[{"x": "\\ud800"}]', r"Column 'x' of 'a\.json' holds values .* columns cannot have"),
    ],
)
def test_values_that_would_crash_the_parser_are_rejected(
    tmp_path: Path, name: str, octets: bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(octets)
    with pytest.raises(DataError, match=sentence):
        open_rows(tmp_path / name).table()


def test_a_column_of_several_types_next_to_one_that_some_blocks_lack(tmp_path: Path) -> None:
    small = Reading(block_bytes=24)
    text = '{"x": 1, "seen": "2024-01-01"}\n{"seen": "2024-01/02"}\n{"x": [1, 2], "seen": "2024-01-03"}\n'
    (path := tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(DataError, match=r"Column 'x' has different types in parts of 'a\.jsonl': int64 and list"):
        open_rows(path, small).table()
    path.write_text('{"x": 1, "seen": "2024-01-01"}\n{"seen": "2024-01/02"}\n')
    with pytest.raises(DataError, match=r"Column 'seen' has different types in parts of 'a\.jsonl': .*string"):
        open_rows(path, small).table()


@pytest.mark.parametrize("orient", ["columns", "index"])
def test_json_of_pandas_by_columns_raises_an_error_with_a_remedy(tmp_path: Path, orient: Any) -> None:
    path = tmp_path / "a.json"
    pd.DataFrame({"a": range(120), "b": range(120)}).to_json(path, orient=orient)
    with pytest.raises(DataError, match=r"one object of objects.*orient='records'"):
        open_rows(path).table()


@pytest.mark.parametrize("read", [mercer.data.read_table, mercer.data.open])
def test_an_endless_line_is_rejected_before_it_fills_the_memory(tmp_path: Path, read: Any) -> None:
    """200 MB that take 200 kB compressed."""
    with gzip.open(tmp_path / "bomb.jsonl.gz", "wb", compresslevel=1) as file:
        file.write(b'{"x": "')
        for _ in range(200):
            file.write(b"a" * 1_000_000)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"'bomb\.jsonl\.gz' has a line of more than 67,108,864 bytes"):
        read(tmp_path / "bomb.jsonl.gz")
    assert tracemalloc.get_traced_memory()[1] < 170e6
    tracemalloc.stop()
