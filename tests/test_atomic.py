"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mercer._atomic import write_atomically
from mercer._errors import WriteError


def test_what_was_written_is_there(tmp_path: Path) -> None:
    for name, content in {"text": "grün", "bytes": b"\x00\xff", "parts": iter([b"a", b"b"])}.items():
        write_atomically(tmp_path / name, content)
    assert (tmp_path / "text").read_text(encoding="utf-8") == "grün"
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert (tmp_path / "parts").read_bytes() == b"ab"


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("odd")])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, failure: BaseException) -> None:
    (tmp_path / "model").write_text("old")

    def parts() -> Iterator[bytes]:
        yield b"new"
        raise failure

    with pytest.raises(WriteError if isinstance(failure, OSError) else type(failure)) as caught:
        write_atomically(tmp_path / "model", parts())
    assert "no space left" in str(caught.value).lower() or not isinstance(failure, OSError)
    assert os.listdir(tmp_path) == ["model"]
    assert (tmp_path / "model").read_text() == "old"


def test_no_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be written: no such file or directory"):
        write_atomically(tmp_path / "nowhere" / "model", "new")


def test_permissions_are_those_of_the_file_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("old")
    (tmp_path / "model").chmod(0o640)
    write_atomically(tmp_path / "model", "new")
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640
