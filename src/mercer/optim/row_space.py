"""Newton's method in the space that the rows span, for fewer rows than columns.

If every column has a squared penalty, the minimiser is a combination of the rows. With l2 = λ D and the QR
decomposition X D^(−½) = R Qᵀ, coefficients w = D^(−½) Q v have the linear predictor R v and the penalty ½ λ ‖v‖²: R,
which has no more columns than rows, and λ replace X and l2. An unpenalised intercept is unchanged. The decomposition
depends neither on λ nor on responses and weights: it is computed once for a path of penalties and all of its folds.

The certificate is that of all columns: the part of the gradient within the space of the rows is measured by the Hessian
there, and the part outside, where only the penalty has curvature, by λ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.families.penalties import Strengths
from mercer.matrices import Coordinates, DenseMatrix, Observations
from mercer.optim import newton
from mercer.optim.certificate import Solution, gradient_certificate
from mercer.optim.curvature import Curvature
from mercer.optim.descent import Callback, map_coefficients
from mercer.optim.problem import Product, RowSlopes, Slope, evaluate
from mercer.report.wording import format_count
from mercer.stats.quadratic import GRADIENT, HESSIAN

#: columns up to which a Hessian of all columns is cheap
FEW_HESSIAN_COLUMNS = 300
#: coefficients in the space of the rows up to which their Hessian is cheap
MAX_ROW_SPACE_COEFFICIENTS = 1_000
#: largest tolerance in the space of the rows: the last steps of Newton's method are cheap
LOOSEST_ROW_SPACE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows X in an orthonormal basis of the space that they span, for a penalty ½ Σ metric w²: X = R Qᵀ diag(√metric).

    Examples
    --------
    >>> X = np.array([[3.0, 0.0, 4.0], [0.0, 2.0, 0.0]])
    >>> space = RowSpace.of(X, np.ones(3))
    >>> np.allclose(X @ space.lift(np.array([1.0, 2.0])), space.rows @ [1.0, 2.0])
    True
    """

    #: R
    rows: Array
    #: diag(1/√metric) Q
    basis: Array
    metric: Array

    @classmethod
    def of(cls, X: Array, metric: Array) -> Self:
        """Decompose rows by Householder reflections, which keep all digits even for dependent rows."""
        root = np.sqrt(metric)
        Q, R = np.linalg.qr((X / root).T)
        return cls(np.ascontiguousarray(R.T), Q / root[:, None], metric)

    def lift(self, v: Array) -> Array:
        """Return the coefficients of all columns."""
        return np.asarray(self.basis @ v)

    def project(self, w: Array) -> Array:
        """Return the coordinates of the part of coefficients that changes the predictors of the rows."""
        return np.asarray(self.basis.T @ (self.metric * w.T).T)

    def outside(self, gradient: Array) -> float:
        """Return the squared length, in the metric of the penalty, of the part of a gradient outside the row space."""
        rest = gradient - (self.metric * (self.basis @ (self.basis.T @ gradient)).T).T
        return float(np.square(rest.T / np.sqrt(self.metric)).sum())


def suits(problem: Any) -> bool:
    """Return whether a problem has many columns, fewer rows, and a squared penalty about 0 for every column.

    Parameters
    ----------
    problem : Problem or SoftmaxProblem
        An intercept may be unpenalised.
    """
    observations, (l1, l2, mean) = problem.observations, problem.strengths
    design = observations.design
    # codes and sparse matrices are multiplied faster as they are; tensors and sources are not copied to memory
    if type(observations) is not Observations or not isinstance(design, DenseMatrix) or l1.any() or mean.any():
        return False
    columns, rows = design.n_columns, len(observations)
    if (
        not FEW_HESSIAN_COLUMNS < columns > rows
        or (rows + 1) * problem.n_columns > MAX_ROW_SPACE_COEFFICIENTS * columns
    ):
        return False
    return bool((l2[: _count_penalised(problem)] > 0).all()) and _cached_row_space(problem) is not None


def solve(
    problem: Any,
    start: Array | None = None,
    *,
    tolerance: float,
    most_steps: int,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a problem that `suits`.

    Parameters
    ----------
    problem : Problem or SoftmaxProblem
        Points are vectors of working coefficients.
    start : array, optional
        Initial point.
    tolerance : float
        Upper bound for the length of the gradient, in standard errors.
    most_steps : int
        Maximum number of steps; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.

    Returns
    -------
    solution : Solution
        `coef` is a point of `problem`.
    """
    space = _cached_row_space(problem)
    assert space is not None
    inner = _ReducedProblem(problem, space)

    begin = None if start is None else inner.project(np.asarray(start, dtype=float))
    with blas_for(1):  # with matrices this small, threads wait for each other longer than they work
        found = newton.solve(
            inner,  # type: ignore[arg-type]
            begin,
            tolerance=min(tolerance, LOOSEST_ROW_SPACE_TOLERANCE),
            most_steps=most_steps,
            callback=map_coefficients(callback, inner.lift),
        )
        return inner.certify(found, tolerance)


class _ReducedProblem:
    """A problem in the space of its rows, with the interface of `Problem`."""

    def __init__(self, problem: Any, space: RowSpace) -> None:
        self._outer, self._space = problem, space
        penalised = _count_penalised(problem)
        self._shape = (problem.observations.design.n_columns, -1)
        rank, free = space.rows.shape[1], self._shape[0] - penalised
        design = DenseMatrix(space.rows, Coordinates.plain(rank, intercept=bool(free)))
        self._strength = float(problem.strengths.l2[:penalised].max())
        strengths = Strengths.none(rank + free)
        strengths.l2[:rank] = self._strength
        self._inner = replace(problem, observations=replace(problem.observations, design=design), strengths=strengths)
        self._penalised, self._rank = penalised, rank

    @property
    def observations(self) -> Any:
        return self._inner.observations

    @property
    def n_columns(self) -> int:
        return int(self._inner.n_columns)

    @property
    def exact_hessian(self) -> bool:
        return bool(getattr(self._inner, "exact_hessian", True))

    @property
    def is_convex(self) -> bool:
        return bool(self._inner.is_convex)

    def start(self) -> Array:
        return np.asarray(self._inner.start())

    def hessian_product(self, v: Array) -> Product:
        product: Product = self._inner.hessian_product(v)
        return product

    def row_slopes(self, v: Array) -> RowSlopes:
        slopes: RowSlopes = self._inner.row_slopes(v)
        return slopes

    def unit(self, value: float) -> float:
        return float(self._inner.unit(value))

    def at(self, v: Array, order: int) -> Slope:
        slope: Slope = self._inner.at(v, order)
        return slope

    def lift(self, v: Array) -> Array:
        """Return the point of the problem for one in the space of the rows."""
        v = v.reshape(self._rank + self._shape[0] - self._penalised, -1)
        return np.concatenate([self._space.lift(v[: self._rank]), v[self._rank :]]).ravel()

    def project(self, w: Array) -> Array:
        """Return the closest point in the space of the rows for a point of the problem."""
        w = w.reshape(self._shape)
        return np.concatenate([self._space.project(w[: self._penalised]), w[self._penalised :]]).ravel()

    def certify(self, solution: Solution, tolerance: float) -> Solution:
        """Return the solution for all columns, with the certificate of the gradient there."""
        v, w = solution.coef, self.lift(solution.coef)
        here = evaluate(self._outer, w, GRADIENT)
        if self.exact_hessian or not self.is_convex:
            hessian = evaluate(self._inner, v, HESSIAN).hessian
        else:  # the expected Hessian may be large where the observed one is almost 0
            rows = self.row_slopes(v)
            hessian = rows.hessian(rows.observed)
        gradient = here.gradient.reshape(self._shape)
        of_columns = gradient[: self._penalised]
        inside = np.concatenate([self._space.basis.T @ of_columns, gradient[self._penalised :]]).ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            squared = self._space.outside(of_columns) / self._strength
            finite = np.isfinite(squared) and np.isfinite(inside).all() and np.isfinite(hessian).all()
            squared += abs(float(inside @ Curvature.of(hessian).solve(inside))) if finite else np.inf
        length, steps = float(np.sqrt(squared)) / self._outer.unit(here.value), solution.n_iter
        how = f"√(gᵀH⁻¹g) of all columns, after {format_count(steps, 'Newton step')} in the space of the rows"
        certificate = gradient_certificate(length, tolerance, how, is_convex=self.is_convex)
        if solution.interrupted:
            certificate = certificate.after_interruption()
        return replace(solution, coef=w, certificate=certificate)


def _count_penalised(problem: Any) -> int:
    """Return the number of columns without an unpenalised intercept."""
    design = problem.observations.design
    free = design.coordinates.intercept and problem.strengths.l2[-1] == 0
    return int(design.n_columns - free)


def _cached_row_space(problem: Any) -> RowSpace | None:
    """Return the rows in a basis of their space, cached on the design; None if they are not finite."""
    design, penalised = problem.observations.design, _count_penalised(problem)
    l2 = problem.strengths.l2[:penalised]
    # scales are powers of two, so that one strength for all columns has the same metric whatever it is
    metric = l2 / l2.max()
    kept = design.cache.get("row space")
    if kept is None or not np.array_equal(kept[0], metric):
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            X = design.dense()[:, :penalised]
            scaled = X / np.sqrt(metric)
        space = RowSpace.of(X, metric) if np.isfinite(scaled).all() and (metric > 0).all() else None
        kept = design.cache["row space"] = (metric, space)
    found: RowSpace | None = kept[1]
    return found
