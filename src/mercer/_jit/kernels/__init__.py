"""Loops that `kernels` calls: values of kernels, of numbers, sequences and graphs, and products with them."""
