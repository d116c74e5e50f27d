"""Least squares with absolute values in the penalty, at one strength after another: each begins where the last ended.

Which columns matter is found by working sets. Those whose slopes are steepest are solved for among themselves; then
one pass over all columns tells whether others pull harder than their penalty holds, and how far from the minimum the
answer can be at most. Two things make a path cheaper than its points:

* Slopes change nearly linearly from one strength to the next. The columns that a few strengths will need are foreseen,
  solved for, and checked together: reading the matrix once serves four of them.
* A slope changes by no more than the residual does (times the length of the column), so that columns which cannot have
  come near their penalty since they were last looked at are not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.families.penalties import Strengths
from mercer.solvers.certificate import Solution, keeping
from mercer.solvers.sparse._lasso_point import LassoFit
from mercer.solvers.sparse._walk import Walk
from mercer.solvers.sparse.regression import Regression

__all__ = ["LassoFit", "solve_path"]

TOLERANCE = 1e-8
MOST_SWEEPS = 10_000


def solve_path(
    X: Any,
    y: Array,
    strengths: Strengths,
    multipliers: Array,
    *,
    weight: Array | None = None,
    fit_intercept: bool = True,
    positive: bool = False,
    start: Array | None = None,
    tolerance: float = TOLERANCE,
    most_sweeps: int = MOST_SWEEPS,
    screening: bool = True,
    gram: Array | None = None,
) -> list[Solution]:
    """Minimise ½ Σ weight (y − b − X β)² + m (Σ l1 |β − mean| + ½ Σ l2 (β − mean)²) for each multiplier m.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
        Columns; a dense one is not copied.
    y : array of shape (n,)
        Responses.
    strengths : Strengths
        One l1, l2 and mean for each column.
    multipliers : array
        From the largest to the smallest, which is the cheapest order.
    weight : array of shape (n,), optional
        Weights of the rows.
    fit_intercept : bool
        Whether there is a b.
    positive : bool
        Whether coefficients must not be below their means.
    start : array of shape (p,), optional
        Coefficients to begin with.
    tolerance : float
        The duality gap to be reached, in units of Σ weight (y − ȳ)².
    most_sweeps : int
        Sweeps over the coefficients at each multiplier after which to give up.
    screening : bool
        Whether columns are passed over that cannot matter; the answer is the same.
    gram : array of shape (p, p), optional
        Σ weight (x − x̄)(x − x̄)ᵀ where it is known.

    Returns
    -------
    solutions : list of Solution
        One for each multiplier; `value` is a `LassoFit`, `trace` has the gaps after each pass over the data.

    Raises
    ------
    NonFiniteError
        If the data, or sums of their squares, are not finite.
    FitInterrupted
        On Ctrl-C; its `solution` is the list of those found, the last of them as far as it got.
    """
    regression = Regression.of(X, y, weight, strengths.mean, intercept=fit_intercept)
    penalty = regression.penalty(strengths, positive=positive)
    walk = Walk(regression, penalty, tolerance=tolerance, most_sweeps=most_sweeps, screening=screening, gram=gram)
    solutions: list[Solution] = []
    with keeping(lambda: [*solutions, walk.unfinished()], "the coefficients found so far are kept"):
        walk.begin(start)
        solutions.extend(walk.along(np.asarray(multipliers, dtype=np.float64)))
    return solutions
