"""What holds the values of a `Table`: NumPy arrays, sparse matrices, frames of any library."""
