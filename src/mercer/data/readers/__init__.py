"""Readers of files as pyarrow tables: CSV, TSV, Parquet, Arrow, JSON, Excel, SQLite and DuckDB, a module for each."""

from mercer.data.readers.base import Reading, TablePart, TableReader
from mercer.data.readers.opening import open_rows, read_table

__all__ = ["Reading", "TablePart", "TableReader", "open_rows", "read_table"]
