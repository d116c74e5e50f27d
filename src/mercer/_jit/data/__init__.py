"""Loops that `data` calls: labels as codes."""
