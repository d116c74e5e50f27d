"""Loops that `families` calls: losses with their slopes, and a density."""
