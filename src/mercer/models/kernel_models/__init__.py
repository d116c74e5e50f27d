"""Functions in the span of rows: kernel ridge regression, and what `kernelize` makes of other models."""
