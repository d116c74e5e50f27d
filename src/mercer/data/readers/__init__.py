"""Files in: CSV, TSV, Parquet, Arrow, JSON, Excel, SQLite, DuckDB, as pyarrow tables; a module for each."""

from mercer.data.readers.base import Part, Reading, Rows
from mercer.data.readers.opening import open_rows, read_table

__all__ = ["Part", "Reading", "Rows", "open_rows", "read_table"]
