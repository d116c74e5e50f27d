"""A lock on a folder, held by one process at a time; the system takes it back when the process dies."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

#: the byte that is locked on Windows, where one that is locked cannot be read: far behind those that name the owner
LOCKED = 1 << 30


class FolderInUseError(Exception):
    """Another owner has the lock: its argument names who."""


class FolderLock:
    """An exclusive lock, as a file in the folder that names its owner.

    File systems that have no locks are used without: what is read there has to prove itself.
    """

    def __init__(self, file: Path) -> None:
        """Take the lock, or raise FolderInUseError."""
        self._file, self._number = file, -1
        while self._number < 0:
            number = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                _lock(number)
                if _is_at(number, file):  # else the owner before has removed it meanwhile
                    self._number = number
            except BlockingIOError:
                raise FolderInUseError(_owner(number)) from None
            finally:
                if self._number < 0:
                    os.close(number)
        os.ftruncate(self._number, 0)
        os.write(self._number, f"{os.getpid()} {socket.gethostname()}".encode())

    @property
    def is_held(self) -> bool:
        """Whether the folder is still there, and still this owner's."""
        return self._number >= 0 and _is_at(self._number, self._file)

    def release(self, *, remove: bool = False) -> None:
        """Give the lock back; with `remove`, its file goes first."""
        number, self._number = self._number, -1
        if number < 0:
            return
        if remove and sys.platform != "win32":  # there an open file stays
            self._file.unlink(missing_ok=True)
        os.close(number)
        if remove and sys.platform == "win32":
            with suppress(OSError):
                self._file.unlink(missing_ok=True)


def _lock(number: int) -> None:
    """Lock an open file; BlockingIOError where another one has it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(number, LOCKED, os.SEEK_SET)
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None
        finally:
            os.lseek(number, 0, os.SEEK_SET)
    else:
        import fcntl

        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # the file system has no locks
            return


def _is_at(number: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), file.stat())
    except OSError:
        return False


def _owner(number: int) -> str:
    """Name the owner by what it wrote."""
    process, _, host = os.read(number, 300).decode("utf-8", "replace").partition(" ")
    if not host:
        return "another process"
    if host != socket.gethostname():
        return f"process {process} on {host}"
    return "another fit of this process" if process == str(os.getpid()) else f"process {process}"
