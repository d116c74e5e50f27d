"""Search for files by a path, a pattern, a folder, or a list of these."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from mercer._errors import DataError, DataNotFoundError
from mercer._suggest import listed
from mercer.data.readers.base import Reading
from mercer.data.readers.opening import (
    FORMAT_NAMES,
    SVMLIGHT,
    describe_absence,
    ending_of,
    files_of_folder,
    format_of,
    is_hidden,
)
from mercer.data.readers.unpacking import STANDARD_INPUT, archive_of, plain_file

#: the name of a value's folder for rows without a value
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class FoundFiles:
    """Files of one format, in the order in which they are read."""

    files: tuple[Path, ...]
    format: str
    #: for each file, the values of the columns that the names of its folders give
    partitions: tuple[dict[str, str | None], ...]


def find(what: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], reading: Reading) -> FoundFiles:
    """Find the files and their format."""
    given = [what] if isinstance(what, str | os.PathLike) else list(what)
    pairs = [(plain_file(file), values) for each in given for file, values in _files(each)]
    formats = sorted({require_format(file, reading) for file, _ in pairs})
    if len(formats) != 1:
        raise DataError(
            f"These are {' and '.join(formats)} files, which are not one table: "
            f"{listed([file.name for file, _ in pairs])}. Name files of one format."
        )
    return FoundFiles(tuple(file for file, _ in pairs), formats[0], tuple(values for _, values in pairs))


def input_files(what: str, *, deep: bool = False) -> list[Path]:
    """Return the files on disk that are read for a table, so that none of them is overwritten.

    An archive stands for its contents. A folder is read as by `read_table` or, if `deep`, as by `mercer.data.open`,
    which also accepts patterns. The result is empty if the file does not exist.
    """
    path = Path(os.path.expanduser(what) if deep else what)
    if (archive := archive_of(path)) is not None:
        return [archive]
    if path.is_dir() and not deep:
        return files_of_folder(path)
    if path.is_file():
        return [path]
    try:
        return [file for file, _ in _files(path)] if deep else []
    except DataError:
        return []


def require_format(file: Path, reading: Reading) -> str:
    """Return the format of a file, including those that only sources read; raise an error if it is unknown."""
    return "svmlight" if ending_of(file) in SVMLIGHT else format_of(file, reading)


def _files(what: str | os.PathLike[str]) -> list[tuple[Path, dict[str, str | None]]]:
    path = plain_file(what if str(what) == STANDARD_INPUT else os.path.expanduser(what))
    if path.is_dir():
        return _in_folder(path, path)
    if path.exists():
        return [(path, {})]
    if glob.has_magic(str(path)):
        return _like(path)
    raise DataNotFoundError(describe_absence(path))


def _in_folder(folder: Path, root: Path) -> list[tuple[Path, dict[str, str | None]]]:
    inside = _inside(folder, (file for file in folder.rglob("*") if file.is_file()))
    if not inside:
        raise DataError(
            f"{str(folder)!r} is a folder without data: no file in it has the ending of a data file. Name another "
            "folder, or a file."
        )
    return [(file, _values(file.relative_to(root).parent.parts)) for file in inside]


def _like(pattern: Path) -> list[tuple[Path, dict[str, str | None]]]:
    """Return files whose paths match a pattern, or all matching folders if there are none."""
    matches = sorted(map(Path, glob.glob(str(pattern), recursive=True)))
    root = next(parent for parent in pattern.parents if not glob.has_magic(str(parent)))
    if files := [match for match in matches if match.is_file()]:
        return [(file, _values(file.relative_to(root).parent.parts)) for file in files]
    if not matches:
        raise DataNotFoundError(f"There is no file whose path matches {str(pattern)!r}; check the pattern.")
    return [pair for folder in matches for pair in _in_folder(folder, root)]


def _inside(folder: Path, files: Iterable[Path]) -> list[Path]:
    """Return the files of data in a folder, in the order of their paths."""
    known = FORMAT_NAMES.keys() | SVMLIGHT
    return sorted(file for file in files if ending_of(file) in known and not is_hidden(file, folder))


def _values(folders: Iterable[str]) -> dict[str, str | None]:
    """Return the values of folders named like year=2024, as written by Hive, Spark and pyarrow."""
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return {unquote(name): None if value == NO_VALUE else unquote(value) for name, _, value in pairs}
