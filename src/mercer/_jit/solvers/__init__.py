"""Loops that `solvers` calls: descent in coefficients, of duals and row by row, and small factorisations."""
