"""Loops that `features` calls, but for those of texts."""
