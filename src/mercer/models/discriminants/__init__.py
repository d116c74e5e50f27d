"""Normal classes: linear, quadratic and Gaussian discriminant analysis."""
