"""Penalties with absolute values, which make coefficients exactly zero: working sets and coordinate descent."""
