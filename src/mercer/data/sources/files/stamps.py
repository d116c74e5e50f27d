"""Versions of files, by which a change after opening is detected."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from mercer._errors import SourceChangedError
from mercer.data.readers.unpacking import file_version
from mercer.data.sources.base import digest


@dataclass(frozen=True)
class Stamp:
    """A file and its version; the same on every machine that shares the file."""

    path: str
    #: size, time of modification, inode, and time of status change
    version: tuple[int, int, int, int]
    #: a file system of pyarrow; None for that of this machine
    filesystem: Any = None
    #: suffix of the log to which a database writes before it writes to the file
    log: str = ""
    #: size and time of modification of the log
    log_version: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, path: str | os.PathLike[str], filesystem: Any = None, *, log: str = "") -> Self:
        """Return the current version; the path is absolute, so that a process in another folder finds the file."""
        if filesystem is None:
            path = os.path.abspath(path)
        return cls(str(path), _version(path, filesystem), filesystem, log, _log_version(str(path), log))

    @property
    def size(self) -> int:
        return self.version[0]

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def check(self) -> None:
        """Raise an error if the file changed or does not exist any more."""
        try:
            now = _version(self.path, self.filesystem)
        except FileNotFoundError:
            raise SourceChangedError(
                f"{self.path!r} was removed after it was opened, or does not exist on this machine. Put it back where "
                "every machine can read it, or open the current files."
            ) from None
        if now != self.version or _log_version(self.path, self.log) != self.log_version:
            grown = f": it had {self.size} bytes, now {now[0]}" if now[0] != self.size else ""
            raise SourceChangedError(
                f"{self.path!r} has changed since it was opened{grown}. Passes over it would not agree: open it again "
                "when it does not change any more."
            )


def describe_files(stamps: Sequence[Stamp], format_name: str) -> str:
    """Return the name of a single file, or the number and format of several."""
    return repr(stamps[0].name) if len(stamps) == 1 else f"{len(stamps)} {format_name} files"


def identify_files(stamps: Sequence[Stamp], format_name: str, options: object) -> str:
    """Return a text that changes if a file is written to, or if the options change."""
    files = [(stamp.path, stamp.version) for stamp in stamps]
    return f"{describe_files(stamps, format_name)}, {digest(files, options)}"


def _version(path: str | os.PathLike[str], filesystem: Any) -> tuple[int, int, int, int]:
    if filesystem is None:
        return file_version(path)
    status = filesystem.get_file_info(str(path))
    if not status.is_file:
        raise FileNotFoundError(path)
    return int(status.size), int(status.mtime_ns or 0), 0, 0


def _log_version(path: str, log: str) -> tuple[int, int]:
    """Return the size and modification time of a log; an empty one, which readers may leave, counts as absent."""
    try:
        status = os.stat(path + log) if log else None
    except FileNotFoundError:
        status = None
    return (status.st_size, status.st_mtime_ns) if status is not None and status.st_size else (0, 0)
