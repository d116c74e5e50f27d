"""From a name or a file to rows, from rows to a model file and back to predictions."""
