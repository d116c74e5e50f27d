"""Linear regressions: least squares, with and without penalties of squares and absolute values."""
