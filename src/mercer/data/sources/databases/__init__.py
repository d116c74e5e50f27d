"""Databases as sources: DuckDB, SQLite, and PostgreSQL through ADBC."""
