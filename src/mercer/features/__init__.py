"""Feature maps ψ as values: what makes the columns of a linear model out of rows."""
