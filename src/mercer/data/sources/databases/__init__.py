"""Databases as sources: DuckDB, and through ADBC SQLite and PostgreSQL."""
