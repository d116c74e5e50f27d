"""Containers of the values of a `Table`: NumPy arrays, sparse matrices, and frames of any library."""
