"""Files that are there whole or not at all: a write that fails leaves what was there before."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mercer._errors import MercerError, WriteError

#: letters of a name that its temporary file has too: with more, a long name would have none
LETTERS = 40


def write_atomically(path: str | Path, content: str | bytes | Iterable[bytes]) -> None:
    """Write a file beside its place and move it there when all of it is on the disk.

    A link is followed, and stays. A device or a pipe is written through: it has no old content to keep.

    Raises
    ------
    WriteError
        Where the folder is missing or may not be written to, or the disk is full; the old file is as it was.
    """
    with _refusing(Path(path)):
        if "\0" in str(path):  # else a ValueError, as the content may raise one
            raise OSError("its name has a null byte")
        if _is_stream(Path(path)):
            with open(path, "ab") as file:  # what a shell has written there before stays
                file.writelines(_parts(content))
        else:
            _replace(Path(os.path.realpath(path)), _parts(content))


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    mode = _mode_of(path)
    beside = path.with_name(f".{path.name[:LETTERS]}.{secrets.token_hex(4)}.part")
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, mode or 0o666)) as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(beside, mode)  # what the umask took away
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _is_stream(path: Path) -> bool:
    """Whether it is a device, a pipe or an open file by its number, like /dev/stdout, and not to be replaced."""
    if not path.exists():
        return False
    folder = os.path.realpath(path.parent)
    return not path.is_file() or folder == "/dev" or folder.startswith("/proc/")


def _mode_of(path: Path) -> int | None:
    """Permissions of the file that is replaced; None where there is none yet."""
    if not path.exists():
        return None
    if not os.access(path, os.W_OK):  # moving another file there would need no permission of this one
        raise PermissionError(13, "Permission denied")
    return path.stat().st_mode & 0o777


def _parts(content: str | bytes | Iterable[bytes]) -> Iterable[bytes]:
    if isinstance(content, str):
        return (content.encode(),)
    return (content,) if isinstance(content, bytes) else content


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Errors of the system as ours; those of mercer, of whoever makes the content, have said what it is."""
    try:
        yield
    except MercerError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise WriteError(
            f"{str(path)!r} cannot be written: {reason}. Name another place, or make room or get permission there."
        ) from error
