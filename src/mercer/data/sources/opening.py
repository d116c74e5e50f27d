"""`mercer.data.open`: sources of rows of any kind."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from mercer._errors import DataError, EmptyDataError
from mercer._suggest import listed
from mercer.data.sources.base import Source
from mercer.data.sources.memory import MemorySource

if TYPE_CHECKING:
    from mercer.data.readers.base import Reading
    from mercer.data.schema import Schema
    from mercer.data.sources.files.finding import FoundFiles
    from mercer.data.sources.options import OpenOptions

#: beginnings of addresses of servers
SERVERS = ("postgresql://", "postgres://")


def open(
    what: Any,
    y: Any = None,
    *,
    target: str | None = None,
    weight: Any = None,
    offset: Any = None,
    features: Sequence[str] | int | None = None,
    drop: Sequence[str] = (),
    reading: Reading | None = None,
    sql: str | None = None,
    schema: Schema | None = None,
    rows: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> Source:
    """Open rows that need not fit into memory; `fit(source)` of every estimator takes the result in place of X and y.

    Every column has one type, the same in all chunks: that of the file or, for files of text, the narrowest one that
    holds all values, for which these files are read once before the first pass. Strings stay strings, since the last
    block may have a new category. Rows without a target are left out and counted.

    Parameters
    ----------
    what : str, Path, list, array, frame, pyarrow dataset or reader, DuckDB relation, iterable or callable
        The path of a Parquet, Arrow, CSV, TSV, JSON-lines, svmlight, Excel, DuckDB or SQLite file, compressed or not,
        or in a zip archive (`archive.zip/train.csv`); "-" for standard input; a folder of such files, also with folders
        like `year=2024` inside; a pattern (`part-*.csv`), or a list of these; the address of a PostgreSQL server
        (`postgresql://user@host/database`). Data in memory: an array, a memory map, a sparse matrix, a frame, a list of
        frames. A reader of record batches or a generator of frames can be read once; a function that returns one can be
        read as often as needed.
    y : array, default=None
        Targets of rows in memory; otherwise the target is a column.
    target : str, default=None
        The column to predict.
    weight, offset : str, default=None
        Columns of weights and offsets; arrays for rows in memory.
    features : list of str, default=None
        Columns to learn from; by default all that have no other role. For svmlight files, their number.
    drop : list of str, default=()
        Columns to leave out.
    reading : Reading, default=None
        Options for reading files; those that are not given are inferred.
    sql : str, default=None
        Query to a database, or the name of a table. Not needed if there is only one table.
    schema : Schema, default=None
        Kinds of columns, if they do not follow from the types or are not to be inferred.
    rows : int, default=None
        Largest number of rows in a chunk; by default as many as take about 32 MB.
    on_error : {"raise", "skip"}, default="raise"
        Whether row groups, record batches and lines that cannot be read raise an error, or are left out and named.

    Returns
    -------
    source : Source
        `for chunk in source` reads it, as often as needed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import mercer.data
    >>> source = mercer.data.open(pa.table({"x": [1.5, 2.5, 3.5], "y": ["a", None, "b"]}), target="y", rows=2)
    >>> [(chunk.X.to_pydict(), chunk.y.tolist()) for chunk in source]
    [({'x': [1.5]}, ['a']), ({'x': [3.5]}, ['b'])]
    """
    _check_arguments(what, rows, on_error)
    if _are_paths(what) and not (y is None and all(isinstance(given, str | None) for given in (weight, offset))):
        raise DataError("Targets, weights and offsets of files are columns: name them, as in target='y', weight='w'.")
    if y is not None or _is_matrix(what):
        if target is not None or features is not None or drop:
            raise DataError("target=, features= and drop= name columns of files and frames; here, give X and y.")
        return MemorySource(what, y, weight, offset, rows=rows)
    from mercer.data.readers.base import Reading
    from mercer.data.sources.options import OpenOptions

    if not all(isinstance(given, str | None) for given in (weight, offset)):
        raise DataError(
            "With target= or a table, weight= and offset= are names of columns. Add the arrays to the table."
        )
    reading = reading or Reading()
    options = OpenOptions(
        target=target,
        weight=weight,
        offset=offset,
        features=None if features is None or isinstance(features, int) else _as_tuple(features),
        drop=_as_tuple(drop),
        reading=reading if sql is None else replace(reading, sql=sql),
        schema=schema,
        rows=rows,
        skip=on_error == "skip",
    )
    return _opened(what, options, features if isinstance(features, int) else None)


def _check_arguments(what: Any, rows: int | None, on_error: str) -> None:
    if isinstance(what, Source):
        raise DataError("This is already a source; pass it to fit.")
    if on_error not in ("raise", "skip"):
        raise DataError(f"on_error must be 'raise' or 'skip', got {on_error!r}.")
    if rows is not None and rows < 1:
        raise DataError(f"rows must be at least 1, got {rows}; leave it out for chunks of about 32 MB.")


def _opened(what: Any, options: OpenOptions, n_features: int | None) -> Source:
    if isinstance(what, str) and what.startswith(SERVERS):
        from mercer.data.sources.databases.base import DatabaseRows
        from mercer.data.sources.databases.postgresql import PostgreSQL

        return DatabaseRows(PostgreSQL(what), options)
    if _are_paths(what):
        return _of_files(what, options, n_features)
    if options.reading.sql is not None:
        raise DataError(f"A query (sql=) is for a database, which {_describe_type(what)} is not.")
    return _of_object(what, options)


def _of_files(what: Any, options: OpenOptions, n_features: int | None) -> Source:
    """Return a source of files, by their format."""
    from mercer.data.readers.opening import DATABASES, open_rows
    from mercer.data.sources.files.finding import find

    files = find(what, options.reading)
    if files.format in DATABASES:
        return _of_database(files, options)
    if options.reading.sql is not None:
        raise DataError(f"A query (sql=) is for a database, which {files.files[0].name!r} is not.")
    if files.format == "Excel":
        from mercer.data.sources.frames import Frames

        return Frames([open_rows(file, options.reading).table() for file in files.files], options)
    if files.format == "svmlight":
        from mercer.data.sources.files.svmlight import SvmlightFiles

        if any((options.target, options.weight, options.offset, options.features, options.drop)):
            raise DataError(
                "svmlight files have a label in each line and no column names: leave out target=, weight=, offset=, "
                "features= and drop=. The command line needs names: write the rows as CSV or Parquet."
            )
        return SvmlightFiles(files, options, n_features)
    if n_features is not None:
        raise DataError("features= is a number for svmlight files only; name the columns to learn from.")
    if files.format == "Parquet":
        from mercer.data.sources.files.parquet import ParquetFiles

        return ParquetFiles(files, options)
    if files.format == "Arrow":
        from mercer.data.sources.files.arrow import ArrowFiles

        return ArrowFiles(files, options)
    if files.format == "JSON":
        from mercer.data.sources.files.json_lines import JsonFiles

        return JsonFiles(files, options)
    from mercer.data.sources.files.separated import SeparatedFiles

    return SeparatedFiles(files, options)


def _of_database(files: FoundFiles, options: OpenOptions) -> Source:
    from mercer.data.sources.databases.base import DatabaseRows
    from mercer.data.sources.databases.duckdb import DuckDBFile
    from mercer.data.sources.databases.sqlite import SQLiteFile
    from mercer.data.sources.files.stamps import Stamp

    if len(files.files) > 1:
        raise DataError(
            f"{len(files.files)} {files.format} files are not one table: {listed([f.name for f in files.files])}. Name "
            "one of them."
        )
    kind = DuckDBFile if files.format == "DuckDB" else SQLiteFile
    return DatabaseRows(kind(Stamp.of(files.files[0], log=kind.log)), options)


def _of_object(what: Any, options: OpenOptions) -> Source:
    """Return a source of an object of another library."""
    from mercer.data.sources.frames import Frames
    from mercer.data.sources.streams import RepeatedStream, SingleUseStream

    library = type(what).__module__.lstrip("_").partition(".")[0]
    if library == "duckdb" and hasattr(what, "sql_query"):
        from mercer.data.sources.databases.duckdb import Relation

        return Relation(what, options)
    if library == "pyarrow" and hasattr(what, "get_fragments"):
        from mercer.data.sources.files.datasets import of_dataset

        return of_dataset(what, options)
    if isinstance(what, list | tuple):
        if not what:
            raise EmptyDataError("The list is empty; give paths, or frames.")
        return Frames(what, options)
    if isinstance(what, Iterator) or hasattr(what, "read_next_batch"):
        return SingleUseStream(what, options)
    if callable(what):
        return RepeatedStream(what, options)
    from mercer.data.storages.frame import as_frame

    if as_frame(what) is not None:
        return Frames([what], options)
    if isinstance(what, Iterable):
        return RepeatedStream(partial(iter, what), options)
    raise DataError(
        f"mercer.data.open cannot read {_describe_type(what)}. Give a path, an array, a frame, or a function that "
        "returns frames."
    )


def _as_tuple(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _is_matrix(what: Any) -> bool:
    return isinstance(what, np.ndarray) or sparse.issparse(what)


def _are_paths(what: Any) -> bool:
    if isinstance(what, str | os.PathLike):
        return True
    return isinstance(what, list | tuple) and bool(what) and all(isinstance(each, str | os.PathLike) for each in what)


def _describe_type(what: Any) -> str:
    return f"an object of type {type(what).__name__}"
