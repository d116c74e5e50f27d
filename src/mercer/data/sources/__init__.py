"""Sources: rows of files, databases, streams and arrays, read piece by piece and as often as needed."""
