"""Files that are there whole or not at all: a write that fails leaves what was there before."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mercer._errors import MercerError, WriteError

#: letters of a name that its temporary file has too: with more, a long name would have none
LETTERS = 40
#: names of the open files of this process, on Linux
OPEN_FILES = "/proc/self/fd"


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
    number, is_named = _new_file(path.parent, beside, mode or 0o666)
    try:
        with open(number, "wb") as file:
            file.writelines(parts)
            file.flush()
            if mode is not None:
                os.chmod(file.fileno() if os.chmod in os.supports_fd else beside, mode)  # what the umask took away
            os.fsync(file.fileno())
            if not is_named:
                _give_name(file.fileno(), beside)
        os.replace(beside, path)
        _sync_folder(path.parent)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _new_file(folder: Path, name: Path, mode: int) -> tuple[int, bool]:
    """Open a new file for writing; return its descriptor, and whether it has its name already.

    Where the system can, it gets its name when all of it is written, so that a process that is killed leaves nothing.
    """
    if hasattr(os, "O_TMPFILE") and os.path.isdir(OPEN_FILES):
        try:
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode), False
        except OSError as error:  # old kernels take the flag for that of a folder
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                raise
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode), True


def _give_name(number: int, name: Path) -> None:
    folder = os.open(name.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:  # with the descriptor of a folder, os.link follows the link to the open file
        os.link(f"{OPEN_FILES}/{number}", name.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _sync_folder(folder: Path) -> None:
    """Write the entries of a folder to the disk, where the system can: the new name survives a power failure."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # the file is in its place, and some file systems cannot
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


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
