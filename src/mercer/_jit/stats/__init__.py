"""Loops that `stats` calls: one pass over rows for what is added up."""
