"""Files with a JSON object in each line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import mercer.data
from mercer._errors import DataError, EmptyDataError
from tests.data.sources._reading import open_in_blocks, table_of

#: many blocks and pieces in files of a few rows
open_source = partial(open_in_blocks, block_bytes=200, piece_bytes=600)


def written(folder: Path, rows: list[Any]) -> Path:
    path = folder / "a.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_columns_and_types_follow_from_all_lines(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"x": i if i < 90 else i + 0.5, "d": "2024-01-01" if i < 80 else "later"} for i in range(99)
    ]
    rows[98]["new"] = "here"
    X, _ = table_of(open_source(written(tmp_path, rows)))
    assert X.to_pylist() == [{"x": float(row["x"]), "d": row["d"], "new": row.get("new")} for row in rows]


def test_columns_are_dates_if_all_lines_have_dates(tmp_path: Path) -> None:
    X, _ = table_of(open_source(written(tmp_path, [{"d": f"2024-01-{1 + i % 30:02}"} for i in range(99)])))
    assert X.schema.field("d").type == pa.timestamp("s")


def test_declared_columns_are_used(tmp_path: Path) -> None:
    reading = mercer.data.Reading(held={"x": "category"})
    X, _ = table_of(open_source(written(tmp_path, [{"x": i} for i in range(99)]), reading=reading))
    assert X["x"].to_pylist() == [str(i) for i in range(99)]


def test_numbers_and_text_in_one_column_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, [{"x": i if i < 90 else "many"} for i in range(99)])
    with pytest.raises(
        DataError, match=r"'x' is (of the type string in line|'many').*'a\.jsonl'|Line 91 of 'a\.jsonl'"
    ):
        open_source(path)


def test_a_line_that_is_not_an_object_is_named_or_left_out(tmp_path: Path) -> None:
    rows: list[Any] = [{"x": i} for i in range(99)]
    rows[60] = '{"x": 6'
    path = written(tmp_path, rows)
    with pytest.raises(DataError, match=r"Line 61 of 'a\.jsonl' is not JSON"):
        open_source(path)
    X, skipped = table_of(open_source(path, on_error="skip"))
    assert X["x"].to_pylist() == [i for i in range(99) if i != 60]
    assert len(skipped) == 1
    assert skipped[0].startswith("Line 61 of 'a.jsonl' is not JSON")


def test_a_target_that_a_file_does_not_have(tmp_path: Path) -> None:
    written(tmp_path, [{"x": 1, "y": 2}])
    (tmp_path / "b.jsonl").write_text('{"x": 1}\n')
    with pytest.raises(DataError, match=r"No line of 'b\.jsonl' has the target 'y'"):
        open_source(tmp_path, target="y")


def test_files_that_cannot_be_streamed_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"x": 1}]')
    with pytest.raises(DataError, match=r"'a\.json' is one JSON list, which can only be read as a whole"):
        open_source(tmp_path / "a.json")
    (tmp_path / "b.jsonl").touch()
    with pytest.raises(EmptyDataError, match=r"'b\.jsonl' is empty"):
        open_source(tmp_path / "b.jsonl")


@pytest.mark.parametrize("where", [0, 3, 60])
def test_a_line_that_is_null_is_not_a_row(tmp_path: Path, where: int) -> None:
    rows: list[Any] = [{"x": i} for i in range(99)]
    rows[where] = "null"
    path = written(tmp_path, rows)
    with pytest.raises(DataError, match=rf"Line {where + 1} of 'a\.jsonl' is not an object"):
        open_source(path)
    X, skipped = table_of(open_source(path, on_error="skip"))
    assert X.num_rows == 98
    assert skipped == [f"Line {where + 1} of 'a.jsonl' is not an object like {{\"column\": 1}}."]


@pytest.mark.parametrize("line", [b'{"x": "\xff"}', b'{"\xffx": 1}'])
def test_bytes_that_are_not_text_are_named(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path, [{"x": "a"}] * 40)
    path.write_bytes(path.read_bytes() + b"\n" + line)
    with pytest.raises(DataError, match=r"Line 41 of 'a\.jsonl' is not JSON: 'utf-8' codec"):
        open_source(path)
    assert table_of(open_source(path, on_error="skip"))[0].num_rows == 40
