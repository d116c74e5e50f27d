"""Who reads a file: by its ending, or what is in the folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mercer._errors import DataError, DataNotFoundError
from mercer._suggest import did_you_mean, listed
from mercer.data.readers.arrow import ARROW, Arrow
from mercer.data.readers.base import Reading, Rows
from mercer.data.readers.duckdb import DUCKDB, DuckDB, refuse_sqlite
from mercer.data.readers.folder import Folder
from mercer.data.readers.json_rows import JSON, JsonRows
from mercer.data.readers.parquet import PARQUET, Parquet
from mercer.data.readers.separated import CODECS, SEPARATORS, Separated

#: endings -> who reads such files, and what they are called
FORMATS: tuple[tuple[frozenset[str], type[Any], str], ...] = (
    (frozenset(SEPARATORS), Separated, "CSV"),
    (PARQUET, Parquet, "Parquet"),
    (ARROW, Arrow, "Arrow"),
    (JSON, JsonRows, "JSON"),
    (DUCKDB, DuckDB, "DuckDB"),
)
CALLED = {ending: name for endings, _, name in FORMATS for ending in endings}
#: what begins like https:// or s3://, of which paths leave one stroke; a drive has one letter only
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)")
#: endings of files that only `mercer.data.open` reads
SVMLIGHT = frozenset({".svm", ".svmlight", ".libsvm"})
#: endings of what people have instead
ELSEWHERE = {".xls": "Excel", ".xlsx": "Excel", ".ods": "LibreOffice"}


def read_table(path: str | Path, *, header: bool | None = None, encoding: str | None = None) -> Any:
    """A file, or a folder of files with the same columns, as a pyarrow table.

    Empty fields and "?", "NA", "NaN", … of files of text are missing values; spaces around a field do not count.
    Without `header` the first line holds the names unless one of its fields is a number or missing; columns without
    a name are x0, x1, … `open_rows` can be told more.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.data import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "visits.csv")
    ...     written = path.write_text("city;visits\\nRome;2\\nOslo;?\\n")
    ...     read_table(path).to_pylist()
    [{'city': 'Rome', 'visits': 2}, {'city': 'Oslo', 'visits': None}]
    """
    return open_rows(path, Reading(header=header, encoding=encoding)).table()


def open_rows(path: str | Path, reading: Reading | None = None) -> Rows:
    """A file, or a folder of files with the same columns, ready to be read: at once, or piece by piece.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, Parquet, Arrow or JSON, also compressed; a folder of such files; or a DuckDB file.
    reading : Reading, default=None
        What is known about it; the rest is guessed.

    Returns
    -------
    rows : Rows
        `.described` says what was guessed, `.table()` reads all rows, `.parts(columns)` some at a time.
    """
    path, reading = Path(path), reading or Reading()
    try:
        if not path.exists():
            raise DataNotFoundError(nothing_at(path))
        rows = _folder(path, reading) if path.is_dir() else _file(path, reading)
    except PermissionError:
        raise DataError(f"{str(path)!r} cannot be read: permission denied. Get the right to read it.") from None
    if reading.held or reading.kinds:
        rows.check()
    if reading.sql is not None and not isinstance(rows, DuckDB):
        raise DataError(f"A query (--sql) is put to a DuckDB file, which {path.name!r} is not.")
    return rows


def ending_of(path: Path) -> str:
    """The ending that names the format, below that of a compression."""
    name = path.with_suffix("") if path.suffix.lower() in CODECS else path
    return name.suffix.lower()


def format_of(path: Path, reading: Reading) -> str:
    """What files like this are called: 'CSV', 'Parquet', …; refused where its name does not tell."""
    ending = ending_of(path)
    if ending in CALLED:
        return CALLED[ending]
    if ending in ELSEWHERE:
        raise DataError(f"{path.name!r} is a file of {ELSEWHERE[ending]}. Save it as CSV, and name that file.")
    if ending in SVMLIGHT:
        raise DataError(
            f"{path.name!r} is a file of svmlight, whose columns have no names: it is read in Python, by "
            "mercer.data.open. Elsewhere, write it as CSV or Parquet."
        )
    if reading.separator is not None:
        return "CSV"
    refuse_sqlite(path)
    raise DataError(
        f"The ending of {path.name!r} does not tell how to read it. Known endings are {listed(_endings())}. If its "
        "fields are separated, name the separator (on the command line --separator)."
    )


def _file(path: Path, reading: Reading) -> Rows:
    named = format_of(path, reading)
    with path.open("rb"):  # or a reason why not
        rows: Rows = next(reader for _, reader, name in FORMATS if name == named)(path, reading)
    return rows


def _folder(path: Path, reading: Reading) -> Rows:
    if _holds_parquet(path) and not _files_in(path, besides=PARQUET):
        return Parquet(path, reading)
    files = [path / name for name in _files_in(path)]
    if not files:
        raise DataError(
            f"{str(path)!r} is a folder without data: no file in it ends in {listed(_endings())}. Name another folder, "
            "or a file."
        )
    formats = sorted({CALLED[ending_of(file)] for file in files})
    if len(formats) > 1 or formats == ["DuckDB"]:
        raise DataError(
            f"{str(path)!r} is a folder of {' and '.join(formats)} files, which are not one table. Name one of its "
            f"files: {listed([file.name for file in files])}."
        )
    return Folder(path, reading, tuple(_file(file, reading) for file in files))


def _holds_parquet(folder: Path) -> bool:
    """Whether there is such a file in it, or in a folder inside."""
    found = (file for file in folder.rglob("*") if ending_of(file) in PARQUET and file.is_file())
    return any(not is_hidden(file, folder) for file in found)


def is_hidden(file: Path, folder: Path) -> bool:
    """Whether a part of its path inside the folder begins with a dot or an underscore, as what is not data does."""
    return any(part[0] in "._" for part in file.relative_to(folder).parts)


def _endings() -> list[str]:
    return [*SEPARATORS, *sorted(CALLED.keys() - SEPARATORS.keys())]


def nothing_at(path: Path) -> str:
    """That there is no such file, and which may have been meant."""
    if (address := ADDRESS.match(str(path))) is not None:
        written = f"{address[1]}://{address[2]}"
        return f"{written!r} is an address, and addresses are not read: fetch the file first, and give its path."
    if not path.parent.is_dir():
        return f"There is no file {str(path)!r}, nor a folder {str(path.parent)!r}; check the path."
    if not (files := _files_in(path.parent)):
        return f"There is no file {str(path)!r}, nor any other file of data beside it; check the path."
    return f"There is no file {str(path)!r}. {did_you_mean(path.name, files)}"


def _files_in(folder: Path, besides: frozenset[str] = frozenset()) -> list[str]:
    """Files that could have been meant."""
    known = CALLED.keys() - besides
    return sorted(
        file.name
        for file in folder.iterdir()
        if ending_of(file) in known and file.is_file() and not is_hidden(file, folder)
    )
