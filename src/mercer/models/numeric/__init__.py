"""Transformers of numbers: monomials, buckets, logarithms and splines, so that linear models fit what is not linear."""
