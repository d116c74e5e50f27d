"""Models in the span of the rows, or on the features of a map: kernels as they are, or approximated."""
