"""Optimisation: problems, solvers, and certificates of their solutions."""
