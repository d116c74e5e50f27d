"""Arrow files that are damaged, changed, or have different columns."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

import mercer.data
from mercer._errors import DataError, SourceChangedError
from mercer.data import Reading
from tests.data.sources._reading import rows_of

TABLE = pa.table({"x": np.arange(300.0), "c": ["abc", "de", None] * 100, "y": np.arange(300)})


def corrupt(path: Path) -> Path:
    """Write a file of three record batches, with flipped bytes in the compressed values of the second."""
    feather.write_feather(TABLE, str(path), chunksize=100, compression="zstd")
    content = bytearray(path.read_bytes())
    first = content.index(magic := b"\x28\xb5\x2f\xfd")
    frames = [first]
    while (following := content.find(magic, frames[-1] + 1)) > 0:
        frames.append(following)
    start = frames[len(frames) // 2]
    content[start : start + 4] = b"\0\0\0\0"
    path.write_bytes(content)
    return path


def test_a_corrupt_record_batch_is_named_or_left_out(tmp_path: Path) -> None:
    path = corrupt(tmp_path / "a.feather")
    with pytest.raises(DataError, match=r"Record batch 1 of 'a\.feather' cannot be read: .*on_error='skip'"):
        rows_of(mercer.data.open(path, target="y"))
    rows, skipped = rows_of(mercer.data.open(path, target="y", on_error="skip"))
    assert rows == 200
    assert skipped[0].startswith("Record batch 1 of 'a.feather' cannot be read")


def test_a_truncated_stream_is_reported(tmp_path: Path) -> None:
    with pa.ipc.new_stream(str(tmp_path / "a.arrows"), TABLE.schema) as stream:
        stream.write_table(TABLE, max_chunksize=100)
    content = (tmp_path / "a.arrows").read_bytes()
    (tmp_path / "a.arrows").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"Record batch 1 and all after it of 'a\.arrows' cannot be read"):
        rows_of(mercer.data.open(tmp_path / "a.arrows", target="y"))
    rows, skipped = rows_of(mercer.data.open(tmp_path / "a.arrows", target="y", on_error="skip"))
    assert (rows, len(skipped)) == (100, 1)


def test_a_file_of_another_format_is_rejected_or_skipped(tmp_path: Path) -> None:
    feather.write_feather(TABLE, str(tmp_path / "a.feather"))
    (tmp_path / "b.feather").write_bytes(b"something else, which is long enough to be looked at")
    with pytest.raises(DataError, match=r"'b\.feather' cannot be read as Arrow"):
        mercer.data.open(tmp_path, target="y")
    assert rows_of(mercer.data.open(tmp_path, target="y", on_error="skip"))[0] == 300
    (tmp_path / "b.feather").write_bytes(b"")
    with pytest.raises(DataError, match=r"'b\.feather' is empty"):
        mercer.data.open(tmp_path, target="y")


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    feather.write_feather(TABLE, str(tmp_path / "a.feather"))
    source = mercer.data.open(tmp_path / "a.feather", target="y")
    assert rows_of(source)[0] == source.n_rows == 300
    os.utime(tmp_path / "a.feather", ns=(0, 1))
    with pytest.raises(SourceChangedError):
        rows_of(source)


def test_pieces_are_ranges_of_record_batches(tmp_path: Path) -> None:
    feather.write_feather(TABLE, str(tmp_path / "a.feather"), chunksize=30)
    reading = Reading(piece_bytes=(tmp_path / "a.feather").stat().st_size // 3)
    names = [piece.name for piece in mercer.data.open(tmp_path / "a.feather", target="y", reading=reading).pieces()]
    assert names[0] == "'a.feather', record batches 0 to 2"
    assert len(names) == 4
