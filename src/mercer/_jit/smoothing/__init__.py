"""Loops that `smoothing` calls: sums of smoothing kernels over points."""
