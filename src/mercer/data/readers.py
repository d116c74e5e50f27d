"""Files in: CSV, TSV and Parquet as pyarrow tables."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from mercer._errors import DataError, DataNotFoundError
from mercer._suggest import did_you_mean, listed

#: ending -> characters that may separate fields; the one that the first line holds most often does
SEPARATORS = {".csv": ",;\t", ".tsv": "\t", ".tab": "\t"}
PARQUET = {".parquet", ".pq"}
COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")

#: bytes in which the first line of a file must end
LONGEST_HEADER = 1 << 20


def read_table(path: str | Path, *, header: bool | None = None, encoding: str = "utf-8") -> Any:
    """A file as a pyarrow table.

    Empty fields and "?", "NA", "NaN", … are missing values; spaces around a field do not count. Without `header`
    the first line holds the names unless one of its fields is a number or missing; columns without a name are
    x0, x1, …
    """
    path = Path(path)
    if not path.exists():
        raise DataNotFoundError(_nothing_at(path))
    suffix = _suffix(path)
    if suffix in PARQUET or _holds_parquet(path):
        return _read_parquet(path)
    if path.is_dir():
        files = _files_in(path)
        advice = f"Name one of its files: {listed(files)}." if files else "Name a CSV or Parquet file."
        raise DataError(f"{str(path)!r} is a folder without Parquet files. {advice}")
    if suffix not in SEPARATORS:
        known = listed([*SEPARATORS, *sorted(PARQUET)])
        raise DataError(f"The ending of {path.name!r} does not tell how to read it. Known endings are {known}.")
    return _read_separated(path, SEPARATORS[suffix], header=header, encoding=encoding)


def _nothing_at(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no file {str(path)!r}, nor a folder {str(path.parent)!r}; check the path."
    if not (files := _files_in(path.parent)):
        return f"There is no file {str(path)!r}, nor any other CSV or Parquet file beside it; check the path."
    return f"There is no file {str(path)!r}. {did_you_mean(path.name, files)}"


def _suffix(path: Path) -> str:
    """The ending that names the format, below that of a compression."""
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    return name.suffix.lower()


def _holds_parquet(folder: Path) -> bool:
    """Whether it is a data set of several files, possibly in folders by the values of some columns."""
    return folder.is_dir() and any(_suffix(file) in PARQUET for file in folder.rglob("*"))


def _files_in(folder: Path) -> list[str]:
    """Files that could have been meant."""
    if not folder.is_dir():
        return []
    return sorted(file.name for file in folder.iterdir() if _suffix(file) in {*SEPARATORS, *PARQUET})


def _read_parquet(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_table(path)
    except (pa.ArrowException, OSError) as failure:
        raise DataError(f"{path.resolve().name!r} cannot be read as Parquet: {_what_failed(failure)}.") from None


def _read_separated(path: Path, separators: str, *, header: bool | None, encoding: str) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    first = _first_line_of(path, encoding)
    separator = max(separators, key=first.count)
    # in files separated by tabs a quotation mark is a quotation mark, unless the first line is quoted
    quoted = separator != "\t" or first.startswith('"')
    named = _is_header(_fields(first, separator)) if header is None else header
    read = arrow_csv.ReadOptions(encoding=encoding, autogenerate_column_names=not named)
    parse = arrow_csv.ParseOptions(delimiter=separator, quote_char='"' if quoted else False)
    missing = [space + word for word in MISSING for space in ("", " ")]
    convert = arrow_csv.ConvertOptions(null_values=missing, strings_can_be_null=True)
    try:
        table = arrow_csv.read_csv(path, read_options=read, parse_options=parse, convert_options=convert)
    except (pa.ArrowException, UnicodeError) as failure:
        raise DataError(f"{path.name!r} cannot be read: {_what_failed(failure)}. Look at that line of it.") from None
    names = [name.strip() for name in table.column_names] if named else [f"x{j}" for j in range(table.num_columns)]
    return _stripped(table.rename_columns(names), path)


def _first_line_of(path: Path, encoding: str) -> str:
    import pyarrow as pa

    try:
        with pa.input_stream(str(path)) as stream:
            start = stream.read(LONGEST_HEADER).decode(encoding, errors="replace").removeprefix("\ufeff")
    except OSError as failure:
        raise DataError(f"{path.name!r} cannot be opened: {_what_failed(failure)}.") from None
    if not start.strip():
        raise DataError(f"{path.name!r} is empty.")
    return str(start.splitlines()[0])


def _fields(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True))


def _is_header(fields: list[str]) -> bool:
    return not any(_is_number(field) or field.strip() in MISSING[1:] for field in fields)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _stripped(table: Any, path: Path) -> Any:
    """Text without the spaces around it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for position, name in enumerate(table.column_names):
        if pa.types.is_binary(table.schema.types[position]):
            raise DataError(f"Column {name!r} of {path.name!r} is not UTF-8 text. Try encoding='latin-1'.")
        if pa.types.is_string(table.schema.types[position]):
            table = table.set_column(position, name, pc.utf8_trim_whitespace(table.column(position)))
    return table


def _what_failed(failure: Exception) -> str:
    return str(failure).splitlines()[0].rstrip(".")
