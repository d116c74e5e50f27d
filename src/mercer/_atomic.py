"""Atomic writing of files: a write that fails leaves the previous file as it was."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mercer._errors import MercerError, WriteError

#: characters of a name that its temporary file shares, so that temporary names are never too long
MAX_PREFIX = 40
#: the open files of this process, on Linux
OPEN_FILES = "/proc/self/fd"


def write_atomically(path: str | Path, content: str | bytes | Iterable[bytes]) -> None:
    """Write a temporary file in the same folder, and rename it when it is completely on the disk.

    A link is followed and stays a link. A device or a pipe, which has no previous content, is written directly.

    Raises
    ------
    WriteError
        If the folder is missing or cannot be written to, or if the disk is full; a previous file stays as it was.
    """
    with _system_errors_as_ours(Path(path)):
        if "\0" in str(path):  # which would raise a ValueError, as the content may
            raise OSError("its name has a null byte")
        if _is_stream(Path(path)):
            with open(path, "ab") as file:  # append, because a shell may have written there before
                file.writelines(_parts(content))
        else:
            _replace(Path(os.path.realpath(path)), _parts(content))


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    mode = _mode_of(path)
    temporary = path.with_name(f".{path.name[:MAX_PREFIX]}.{secrets.token_hex(4)}.part")
    number, is_named = _new_file(path.parent, temporary, mode or 0o666)
    try:
        with open(number, "wb") as file:
            file.writelines(parts)
            file.flush()
            if mode is not None:
                os.chmod(file.fileno() if os.chmod in os.supports_fd else temporary, mode)  # without the umask
            os.fsync(file.fileno())
            if not is_named:
                _give_name(file.fileno(), temporary)
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _new_file(folder: Path, name: Path, mode: int) -> tuple[int, bool]:
    """Open a new file for writing; return its descriptor, and whether it already has its name.

    If the system supports it, the file has no name until it is complete, so that a killed process leaves nothing.
    """
    if hasattr(os, "O_TMPFILE") and os.path.isdir(OPEN_FILES):
        try:
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode), False
        except OSError as error:  # old kernels interpret the flag as that of a folder
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                raise
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode), True


def _give_name(number: int, name: Path) -> None:
    folder = os.open(name.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:  # os.link follows the link to the open file only if it has the descriptor of a folder
        os.link(f"{OPEN_FILES}/{number}", name.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _sync_folder(folder: Path) -> None:
    """Write the entries of a folder to the disk, if the system supports it, so that they survive a power failure."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # the file is already complete, and some file systems do not support it
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device, a pipe or an open file such as /dev/stdout, which must not be replaced."""
    if not path.exists():
        return False
    folder = os.path.realpath(path.parent)
    return not path.is_file() or folder == "/dev" or folder.startswith("/proc/")


def _mode_of(path: Path) -> int | None:
    """Return the permissions of the file to replace; None if there is none yet."""
    try:
        mode = path.stat().st_mode & 0o777
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not os.access(path, os.W_OK):  # renaming would not need the permission to write this file
        if not path.exists():  # another process has removed it since
            return None
        raise PermissionError(13, "Permission denied")
    return mode


def _parts(content: str | bytes | Iterable[bytes]) -> Iterable[bytes]:
    if isinstance(content, str):
        return (content.encode(),)
    return (content,) if isinstance(content, bytes) else content


@contextmanager
def _system_errors_as_ours(path: Path) -> Iterator[None]:
    """Convert errors of the system to `WriteError`; errors of mercer, raised by the content, pass unchanged."""
    try:
        yield
    except MercerError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise WriteError(
            f"{str(path)!r} cannot be written: {reason}. Name another file, free some space, or get the permission."
        ) from error
