"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mercer._atomic import write_atomically
from mercer._errors import MissingModelFileError, WriteError


def test_a_written_file_has_its_content(tmp_path: Path) -> None:
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


def test_a_missing_folder_gives_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be written: no such file or directory"):
        write_atomically(tmp_path / "nowhere" / "model", "new")


def test_permissions_of_an_existing_file_are_kept(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("old")
    (tmp_path / "model").chmod(0o640)
    write_atomically(tmp_path / "model", "new")
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640


def test_a_new_file_has_the_default_permissions_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("by hand")
    write_atomically(tmp_path / "model", "new")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_symbolic_link_is_kept_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for old in ("", "old"):
        if old:
            (tmp_path / "models" / "first").write_text(old)
        (tmp_path / "latest").unlink(missing_ok=True)
        (tmp_path / "latest").symlink_to("models/first")
        write_atomically(tmp_path / "latest", "new")
        assert (tmp_path / "latest").is_symlink()
        assert (tmp_path / "models" / "first").read_text() == "new"


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", iter([b"a", b"b"]))
    assert os.read(reader, 10) == b"ab"
    os.close(reader)
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files have no names here")
def test_a_file_descriptor_is_written_through(tmp_path: Path) -> None:
    with open(tmp_path / "redirected", "wb", buffering=0) as file:
        file.write(b"before, ")
        write_atomically(f"/proc/self/fd/{file.fileno()}", "new")
        assert os.fstat(file.fileno()).st_nlink == 1
    assert (tmp_path / "redirected").read_text() == "before, new"
    assert os.listdir(tmp_path) == ["redirected"]


def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").write_text("old")
    monkeypatch.setattr("os.access", lambda path, mode: False)  # the user who runs the tests may write everywhere
    with pytest.raises(WriteError, match="permission denied"):
        write_atomically(tmp_path / "model", "new")
    assert (tmp_path / "model").read_text() == "old"


@pytest.mark.parametrize("name", ["ü" * 120, "m" * 250])
def test_a_long_name_is_accepted(tmp_path: Path, name: str) -> None:
    write_atomically(tmp_path / name, "new")
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["a\0b", "m" * 300, "", "."])
def test_an_invalid_name_gives_a_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(WriteError, match="cannot be written"):
        write_atomically(tmp_path / name, "new")
    assert not os.listdir(tmp_path)


def test_a_file_that_another_process_removes_meanwhile_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that compile at once remove files from each other's caches of machine code."""
    path, access = tmp_path / "cache", os.access
    path.write_text("old")

    def access_removed(*arguments: Any) -> bool:
        path.unlink(missing_ok=True)
        return access(*arguments)

    monkeypatch.setattr(os, "access", access_removed)
    write_atomically(path, "new")
    assert path.read_text() == "new"


def test_an_error_while_making_the_content_is_raised_unchanged(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"new"
        raise MissingModelFileError("'shard' cannot be read")

    with pytest.raises(MissingModelFileError, match="shard"):
        write_atomically(tmp_path / "model", parts())
    assert not os.listdir(tmp_path)


KILLED = """
import sys, time
from mercer._atomic import write_atomically

def parts():
    yield b"new" * 100_000
    print("half of it is written", flush=True)
    time.sleep(60)

write_atomically(sys.argv[1], parts())
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="only Linux has files without a name")
def test_a_killed_process_leaves_no_partial_file(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("old")
    writer = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "model")], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    writer.kill()
    writer.communicate()
    assert os.listdir(tmp_path) == ["model"]
    assert (tmp_path / "model").read_text() == "old"
