"""Loops that `data` calls: labels as codes, columns side by side."""
