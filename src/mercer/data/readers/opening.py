"""Choice of the reader of a file by its ending or its first bytes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from mercer._errors import DataError, DataNotFoundError
from mercer._suggest import did_you_mean, listed
from mercer.data.readers.arrow import ARROW, Arrow
from mercer.data.readers.base import Reading, TableReader
from mercer.data.readers.duckdb import DUCKDB, DuckDB
from mercer.data.readers.excel import EXCEL, Excel
from mercer.data.readers.folder import Folder
from mercer.data.readers.json_rows import JSON, JsonRows
from mercer.data.readers.parquet import PARQUET, Parquet
from mercer.data.readers.separated import CODECS, SEPARATORS, Separated
from mercer.data.readers.sqlite import SQLITE, SQLite, begins_like_sqlite
from mercer.data.readers.unpacking import ending_by_content, plain_file

#: readers and names of formats, by endings of files
FORMATS: tuple[tuple[frozenset[str], type[Any], str], ...] = (
    (frozenset(SEPARATORS), Separated, "CSV"),
    (PARQUET, Parquet, "Parquet"),
    (ARROW, Arrow, "Arrow"),
    (JSON, JsonRows, "JSON"),
    (EXCEL, Excel, "Excel"),
    (SQLITE, SQLite, "SQLite"),
    (DUCKDB, DuckDB, "DuckDB"),
)
FORMAT_NAMES = {ending: name for endings, _, name in FORMATS for ending in endings}
#: an address such as https:// or s3://, of which `Path` keeps one slash; the name of a drive has a single letter
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)")
#: endings of files that only `mercer.data.open` reads
SVMLIGHT = frozenset({".svm", ".svmlight", ".libsvm"})
#: formats of databases, which execute queries
DATABASES = ("DuckDB", "SQLite")


def read_table(
    path: str | Path,
    *,
    header: bool | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    sql: str | None = None,
    reading: Reading | None = None,
) -> Any:
    """Read a file, or a folder of files with the same columns, as a pyarrow table.

    Empty fields and "?", "NA", "NaN", … of text files and sheets are missing values; spaces around a field are ignored.
    Text that is not UTF-8 is decoded as cp1252.

    Parameters
    ----------
    path : str or Path
        A CSV, TSV, JSON, Parquet, Arrow, Excel (.xlsx, .xlsb, .xls, .ods), SQLite or DuckDB file; such a file
        compressed by gzip, bz2, zstd, lz4 or xz, or in a zip archive (`archive.zip`, or `archive.zip/train.csv` where
        it has several); a folder of such files; or "-" for standard input.
    header : bool, default=None
        Whether the first line or row holds names. By default it does unless one of its fields is a number or missing;
        columns without a name are x0, x1, …
    encoding : str, default=None
        Encoding of a text file.
    sheet : str, default=None
        Sheet of a workbook: its name, or its number, counted from 1. By default the first that is not empty.
    sql : str, default=None
        Query to a database, or the name of a table. Not needed where there is only one table.
    reading : Reading, default=None
        Further options.

    Returns
    -------
    table : pyarrow.Table

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
    given: dict[str, Any] = {"header": header, "encoding": encoding, "sheet": sheet, "sql": sql}
    changed = {name: value for name, value in given.items() if value is not None}
    return open_rows(path, replace(reading or Reading(), **changed)).table()


def open_rows(path: str | Path, reading: Reading | None = None) -> TableReader:
    """Open a file, or a folder of files with the same columns, to be read as a whole or in parts.

    Parameters
    ----------
    path : str or Path
        As in `read_table`.
    reading : Reading, default=None
        Options; those that are not given are inferred.

    Returns
    -------
    rows : TableReader
        `.described` is the inferred format, `.table()` reads all rows, `.parts(columns)` a block of rows at a time.
    """
    reading = reading or Reading()
    try:
        file = plain_file(path)
        if not file.exists():
            raise DataNotFoundError(describe_absence(Path(path)))
        rows = _folder(file, reading) if file.is_dir() else _file(file, reading)
    except PermissionError:
        raise DataError(
            f"{str(path)!r} cannot be read: permission denied. Ask for the permission to read it."
        ) from None
    if reading.sql is not None and not isinstance(rows, DuckDB | SQLite):
        raise DataError(f"A query (--sql) is for a SQLite or DuckDB file, which {rows.path.name!r} is not.")
    if reading.sheet is not None and not isinstance(rows, Excel):
        raise DataError(f"A sheet (--sheet) is for an Excel file, which {rows.path.name!r} is not.")
    if reading.held or reading.kinds:
        rows.check()
    return rows


def ending_of(path: Path) -> str:
    """Return the ending that indicates the format, below that of a compression."""
    name = path.with_suffix("") if path.suffix.lower() in (*CODECS, ".xz") else path
    return name.suffix.lower()


def is_data(path: Path) -> bool:
    """Return whether the ending of a file is that of a supported format."""
    return ending_of(path) in FORMAT_NAMES


def format_of(path: Path, reading: Reading) -> str:
    """Return the name of the format of a file, 'CSV', 'Parquet', …, by its ending or its first bytes."""
    ending = ending_of(path)
    if ending in SQLITE & DUCKDB:
        return "SQLite" if begins_like_sqlite(path) else "DuckDB"
    if ending in FORMAT_NAMES:
        return FORMAT_NAMES[ending]
    if ending in SVMLIGHT:
        raise DataError(
            f"{path.name!r} is an svmlight file, whose columns have no names: only mercer.data.open reads it. Write it "
            "as CSV or Parquet."
        )
    if reading.separator is not None:
        return "CSV"
    if (by_content := ending_by_content(path)) is not None:
        return FORMAT_NAMES[by_content]
    raise DataError(
        f"The format of {path.name!r} does not follow from its ending; known endings are {listed(_endings())}. If its "
        "fields are separated, give the separator (on the command line --separator)."
    )


def _file(path: Path, reading: Reading) -> TableReader:
    path = plain_file(path)
    named = format_of(path, reading)
    with path.open("rb"):  # raises an error if the file cannot be read
        rows: TableReader = next(reader for _, reader, name in FORMATS if name == named)(path, reading)
    return rows


def files_of_folder(path: Path) -> list[Path]:
    """Return the files that are read for a folder: those in it, and for Parquet also those in its subfolders."""
    if _is_parquet(path):
        return [file for file in path.rglob("*") if ending_of(file) in PARQUET and not is_hidden(file, path)]
    return [path / name for name in _files_in(path)]


def _is_parquet(folder: Path) -> bool:
    return _holds_parquet(folder) and not _files_in(folder, besides=PARQUET)


def _folder(path: Path, reading: Reading) -> TableReader:
    if _is_parquet(path):
        return Parquet(path, reading)
    files = files_of_folder(path)
    if not files:
        raise DataError(
            f"{str(path)!r} is a folder without data: no file in it ends in {listed(_endings())}. Name another folder, "
            "or a file."
        )
    formats = sorted({FORMAT_NAMES[ending_of(file)] for file in files})
    if len(formats) > 1 or formats[0] in DATABASES:
        raise DataError(
            f"{str(path)!r} is a folder of {' and '.join(formats)} files, which are not one table. Name one of its "
            f"files: {listed([file.name for file in files])}."
        )
    return Folder(path, reading, tuple(_file(file, reading) for file in files))


def _holds_parquet(folder: Path) -> bool:
    """Return whether there is a Parquet file in the folder or a subfolder."""
    files = (file for file in folder.rglob("*") if ending_of(file) in PARQUET and file.is_file())
    return any(not is_hidden(file, folder) for file in files)


def is_hidden(file: Path, folder: Path) -> bool:
    """Return whether a part of the path inside the folder begins with a dot or an underscore, as files other than data
    do.
    """
    return any(part[0] in "._" for part in file.relative_to(folder).parts)


def _endings() -> list[str]:
    return [*SEPARATORS, *sorted(FORMAT_NAMES.keys() - SEPARATORS.keys())]


def describe_absence(path: Path) -> str:
    """Return the message that a file does not exist, with the names of files that may have been meant."""
    if (address := ADDRESS.match(str(path))) is not None:
        written = f"{address[1]}://{address[2]}"
        return f"{written!r} is an address, not a file. Download the file, and give its path."
    if not path.parent.is_dir():
        return f"There is neither a file {str(path)!r} nor a folder {str(path.parent)!r}; check the path."
    if not (files := _files_in(path.parent)):
        return f"There is no file {str(path)!r}, and no other data file in its folder; check the path."
    return f"There is no file {str(path)!r}. {did_you_mean(path.name, files)}"


def _files_in(folder: Path, besides: frozenset[str] = frozenset()) -> list[str]:
    """Return the names of the data files in a folder."""
    known = FORMAT_NAMES.keys() - besides
    return sorted(
        file.name
        for file in folder.iterdir()
        if ending_of(file) in known and file.is_file() and not is_hidden(file, folder)
    )
