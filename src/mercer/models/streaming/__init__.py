"""`fit(source)`: rows that are read piece by piece."""
