"""The race: mercer and its rivals in one run, on the same arrays, with the same number of threads."""
