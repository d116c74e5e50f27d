"""Files that are there whole or not at all: a write that fails leaves what was there before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from mercer._errors import WriteError


def write_atomically(path: str | Path, content: str | bytes | Iterable[bytes]) -> None:
    """Write a file beside its place and move it there when all of it is on the disk.

    Raises
    ------
    WriteError
        Where the folder is missing or may not be written to, or the disk is full; the old file is as it was.
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # a device or a pipe has no old content to keep, and is not to be replaced
        _write_through(path, content)
        return
    try:
        mode = _mode_of(path)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise WriteError(_refused(path, error)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            for part in _parts(content):
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise WriteError(_refused(path, error)) from error
        raise


def _write_through(path: Path, content: str | bytes | Iterable[bytes]) -> None:
    try:
        with path.open("wb") as file:
            file.writelines(_parts(content))
    except OSError as error:
        raise WriteError(_refused(path, error)) from error


def _parts(content: str | bytes | Iterable[bytes]) -> Iterable[bytes]:
    if isinstance(content, str):
        return (content.encode(),)
    return (content,) if isinstance(content, bytes) else content


def _mode_of(path: Path) -> int:
    """Permissions of the file that is replaced, or those that a new one would get."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _refused(path: Path, error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"{str(path)!r} cannot be written: {reason}. Name another place, or make room or get permission there."
