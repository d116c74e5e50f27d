"""Absolute values in the penalty, of rows that are read once: a small matrix has the same squares as all of them.

With the Gram matrix G = V Λ Vᵀ of columns about their means, A = Λ^½ Vᵀ and z = Λ^−½ Vᵀ Xᵀy, it is
‖y − X w‖² = ‖z − A w‖² + rest for every w: what is minimised, and the proof that it is, are those of A and z.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.models.linear._coordinate_fit import Fitted, each_target, starts_of, together
from mercer.models.linear._coordinate_points import Point, Task, Terms
from mercer.solvers.least_squares.fit import NOT_FINITE
from mercer.solvers.least_squares.streamed_rows import StreamedRows
from mercer.solvers.sparse.regression import CONSTANT
from mercer.stats.normal_equations import Products

#: eigenvalues, columns of unit length, below this portion are rounding
ROUNDING = float(np.finfo(float).eps)


def fit_streamed(rows: StreamedRows, alpha: float, terms: Terms, *, start: Any = None) -> Fitted:
    """`fit` of a source; a `FitInterrupted` has a `Fitted` as its `solution`."""
    sums = rows.sums
    if not sums.finite:
        raise NonFiniteError(NOT_FINITE)
    products = sums.products(centred=terms.intercept)
    squares = np.diagonal(products.gram)
    constant = np.flatnonzero(squares <= sums.weight * np.square(CONSTANT * sums.mean[0]))
    A, Z = _small(products)
    if terms.intercept:
        A[:, constant] = 0.0  # but for rounding they are
    tasks = [Task(A, z, None, sums.weight) for z in Z.T]
    plain = replace(terms, closely=True, intercept=False)
    known = tuple(constant.tolist()) if terms.intercept else ()
    return each_target(tasks, alpha, plain, starts_of(start, rows), lambda found: _placed(found, rows, known, terms))


def _placed(found: list[Point], rows: StreamedRows, constant: tuple[int, ...], terms: Terms) -> Fitted:
    """With the intercept, which a matrix about its means has not."""
    x, y = rows.sums.mean if terms.intercept else (np.zeros(rows.shape[1]), np.zeros(rows.targets))
    moved = [
        point._replace(intercept=float(level - x @ point.coefficients)) for point, level in zip(found, y, strict=True)
    ]
    return together(moved, constant)


def _small(products: Products) -> tuple[Array, Array]:
    """A and z, with a row more in which y has what no column explains."""
    gram, moment, squares = products
    unit = np.sqrt(np.diagonal(gram))
    unit[unit == 0] = 1.0
    with blas_for(len(unit)):
        values, axes = np.linalg.eigh(gram / unit / unit[:, None])
    root = np.sqrt(np.maximum(values, 0.0))
    felt = values > len(values) * ROUNDING * values.max(initial=0.0)
    along = axes.T @ (moment / unit[:, None])
    z = np.divide(along, root[:, None], out=np.zeros_like(along), where=felt[:, None])
    A = np.where(felt, root, 0.0)[:, None] * axes.T * unit
    rest = np.sqrt(np.maximum(squares - np.square(z).sum(axis=0), 0.0))
    return np.vstack([A, np.zeros(len(unit))]), np.vstack([z, rest])
