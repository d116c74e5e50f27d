"""Least squares in closed form, with a proof: min Σ weight (y − X w − b)² + alpha ‖w‖², b not penalised.

Four ways, the cheapest that is accurate:

* more rows than columns: the normal equations, one pass over the rows, by Cholesky; refined, where they are
  ill-conditioned;
* … where they are close to singular, or overflow: the triangle of a QR factorisation, found block by block, which tells
  the rank, and is refined;
* at least as many columns as rows, with a penalty: the same equations on the side of the rows, w = Xᵀα;
* … where these are ill-conditioned, or nothing is penalised: singular values.

Where columns are linearly dependent and nothing is penalised, the answer is the shortest w.
"""

from __future__ import annotations

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.solvers.certificate import Solution
from mercer.solvers.least_squares._tall import by_normal_equations, by_triangle
from mercer.solvers.least_squares.fit import LinearFit, refuse_not_representable
from mercer.solvers.least_squares.rows import Rows
from mercer.solvers.least_squares.streamed_rows import StreamedRows
from mercer.solvers.least_squares.wide import solve_wide
from mercer.stats.normal_equations import NormalEquations

__all__ = ["LinearFit", "Rows", "least_squares", "worth_a_square"]

#: columns of sparse data up to which a square matrix of them is the better way
MOST_COLUMNS = 1000
#: entries up to which wide sparse data may be made dense
MOST_ENTRIES = 1 << 23


def worth_a_square(rows: Rows) -> bool:
    """Whether a direct solution is cheap; sparse data with too many columns are better left to conjugate gradients.

    Each of their steps would be a pass over a source, which has a square for that reason.
    """
    n, d = rows.shape
    if isinstance(rows, StreamedRows):
        return True
    if rows.sparse and n <= d:
        return n * d <= MOST_ENTRIES
    return not rows.sparse or d <= MOST_COLUMNS


def least_squares(
    rows: Rows,
    alpha: Array,
    *,
    intercept: bool = True,
    stable: bool = False,
    sums: NormalEquations | None = None,
) -> Solution:
    """Minimise Σ weight (y − X w − b)² + alpha ‖w‖² for each target.

    Parameters
    ----------
    rows : Rows
        The data.
    alpha : array of shape (targets,)
        Penalties, none negative.
    intercept : bool
        Whether there is a b.
    stable : bool
        Whether to use orthogonal factorisations from the start.
    sums : NormalEquations, optional
        The statistic of the rows, where it is known already.

    Returns
    -------
    solution : Solution
        `value` is a `LinearFit`.

    Raises
    ------
    NonFiniteError
        If a value is not finite, or so large that a sum or a coefficient is not.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows(np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]]))
    >>> fit = least_squares(rows, np.zeros(1)).value
    >>> fit.coefficients.round(12), fit.intercept.round(12)
    (array([[2.]]), array([1.]))
    """
    n, d = rows.shape
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what overflows is refused below
        if n <= d:
            return refuse_not_representable(solve_wide(rows, alpha, intercept=intercept, stable=stable))
        with blas_for(d):
            solution = None if stable else by_normal_equations(rows, alpha, intercept=intercept, sums=sums)
            return refuse_not_representable(solution or by_triangle(rows, alpha, intercept=intercept))
