"""Solvers of kernel models in the span of the rows, or of the features of a map."""
