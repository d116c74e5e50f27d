"""Databases as sources: DuckDB, SQLite, and through ADBC PostgreSQL."""
