"""Weighted least squares with absolute values in the penalty, by coordinate descent on working sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import FitInterrupted
from mercer._typing import Array
from mercer.families.penalties import Strengths
from mercer.solvers.certificate import Solution
from mercer.solvers.sparse.path import LassoFit, solve_path

__all__ = ["LassoFit", "solve"]


def solve(X: Any, y: Array, strengths: Strengths, **options: Any) -> Solution:
    """Minimise ½ Σ weight (y − b − X β)² + Σ l1 |β − mean| + ½ Σ l2 (β − mean)².

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
        Columns; a dense one is not copied.
    y : array of shape (n,)
        Responses.
    strengths : Strengths
        One l1, l2 and mean for each column.
    **options : Any
        Those of `mercer.solvers.sparse.path.solve_path`.

    Returns
    -------
    solution : Solution
        `value` is a `LassoFit`; the certificate is a duality gap.

    Raises
    ------
    NonFiniteError
        If the data, or sums of their squares, are not finite.
    FitInterrupted
        On Ctrl-C, with the solution as far as it got.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([-1.0, 0.0, 1.0])
    >>> solution = solve(X, y, Strengths(np.array([0.5]), np.zeros(1), np.zeros(1)))
    >>> solution.value.coefficients, solution.certificate.holds
    (array([0.75]), True)
    """
    try:
        return solve_path(X, y, strengths, np.ones(1), **options)[0]
    except FitInterrupted as stop:
        raise FitInterrupted(str(stop), stop.solution[-1]) from None
