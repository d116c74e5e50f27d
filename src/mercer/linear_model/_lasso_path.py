"""The lasso and the elastic net at one penalty or along a path of them, in scikit-learn's units.

The objective is the mean of (y − X w − b)² / 2 plus alpha (l1_ratio ‖w‖₁ + (1 − l1_ratio) ‖w‖² / 2). `fit_path` solves
it for one target at several alphas, and `fit_targets` for several targets at one alpha. `lasso_path` and `enet_path`
are scikit-learn's functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Hidden, Interval, StrOptions, validate_parameter_constraints

from mercer._errors import DataError, FitInterrupted, NonFiniteError, PenaltyError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.validation import STOPPED, check_finite_entries, check_start
from mercer.families.penalties import Strengths
from mercer.matrices import Matrix, Observations, as_matrix
from mercer.matrices.columns import CONSTANT_SPREAD
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.duality import least_squares_gap
from mercer.optim.krylov import RESIDUAL_TOLERANCE
from mercer.optim.lasso import MAX_LASSO_SWEEPS, LassoFit, WorkingRegression, solve_path
from mercer.optim.least_squares import (
    is_direct_cheap,
    least_squares,
    normal_equations,
    solve_by_conjugate_gradients,
)
from mercer.optim.linear_fit import NOT_FINITE, LinearFit
from mercer.report.wording import format_count
from mercer.stats.normal_equations import CrossProducts, NormalEquations

#: name of the algorithm in `plan_`
WORKING_SETS = "coordinate descent on working sets"
#: its name with selection="random"
RANDOM_WORKING_SETS = f"{WORKING_SETS} (in cyclic order: selection='random' has the same optimum)"
#: estimators aim at this part of their tolerance: scikit-learn's also come closer than theirs, by its other criterion,
#: that coefficients no longer change
CLOSER_AIM = 1e-4
#: smallest relative gap at which they aim, because of rounding
AIM_ROUNDING = 1e-12
#: an alpha below this counts as no penalty
SMALLEST_ALPHA_OF_GRID = float(np.finfo(np.float64).resolution)
#: eigenvalues of a Gram matrix of columns of unit length below this portion, per column, are rounding
EIGENVALUE_ROUNDING = float(np.finfo(float).eps)

#: scikit-learn's warning of a fit that did not converge
LASSO_NOT_CONVERGED = (
    "Objective did not converge. You might want to increase the number of iterations, check the scale of the features "
    "or consider increasing regularisation. Duality gap: {gap:.6e}, tolerance: {tolerance:.3e}"
)
#: scikit-learn's addition to it for a penalty of 0
NO_L1 = (
    "\nLinear regression models with a zero l1 penalization strength are more efficiently fitted using one of the "
    "solvers implemented in sklearn.linear_model.Ridge/RidgeCV instead."
)
#: scikit-learn's error about values that overflow, with the column that has the largest
VALUES_TOO_LARGE_FOR_LASSO = (
    "Coordinate descent iterations resulted in non-finite parameter values. The input data may contain large values "
    "and need to be preprocessed. Squares of some are too large for float64: the largest are in column {column} (up to "
    "{largest:.2g}); divide it, or y, by a number."
)


class PathPoint(NamedTuple):
    """Model at one alpha."""

    coefficients: Array
    intercept: float
    gap: float  # of the mean of losses, as scikit-learn gives it
    sweeps: int
    certificate: Certificate
    path: str
    interrupted: bool = False


@dataclass(frozen=True, eq=False)
class PathTerms:
    """Objective and tolerance."""

    l1_ratio: float
    intercept: bool
    positive: bool
    tolerance: float
    most_sweeps: int | None
    gram: Array | None = None
    screening: bool = True
    closely: bool = False

    @property
    def aim(self) -> float:
        """Gap that the solver has to reach."""
        return min(self.tolerance, max(CLOSER_AIM * self.tolerance, AIM_ROUNDING)) if self.closely else self.tolerance

    def strengths(self, columns: int) -> Strengths:
        l1, l2, mean = np.zeros((3, columns))
        l1[:], l2[:] = self.l1_ratio, 1 - self.l1_ratio
        return Strengths(l1, l2, mean)


@dataclass(frozen=True, eq=False)
class PathTask:
    """Rows and one target; the losses are divided by `total`, which is the sum of the weights by default."""

    X: Matrix
    y: Array
    weight: Array | None
    total: float

    @classmethod
    def of(cls, X: Matrix, y: Array, weight: Array | None) -> PathTask:
        total = float(len(y) if weight is None else weight.sum())
        return cls(X, np.asarray(y, dtype=np.float64), weight, total)

    def regression(self, *, intercept: bool) -> WorkingRegression:
        return WorkingRegression.of(self.X, self.y, self.weight, np.zeros(self.X.n_columns), intercept=intercept)


def fit_path(task: PathTask, alphas: Array, terms: PathTerms, start: Array | None = None) -> list[PathPoint]:
    """Return the models at the alphas, in their order; Ctrl-C leaves those found so far, the last `interrupted`."""
    alphas = np.asarray(alphas, dtype=np.float64)
    if start is not None:
        check_start(start)
    with name_largest_column(task.X):
        if not terms.positive and (terms.l1_ratio == 0 or not alphas.any()):
            return [_without_l1(task, float(alpha), terms) for alpha in alphas]
        return _with_l1(task, alphas, terms, start)


@contextmanager
def name_largest_column(X: Matrix) -> Iterator[None]:
    """Add the column with the largest values to an error about values that overflow, in scikit-learn's words."""
    try:
        yield
    except NonFiniteError:
        largest = np.abs(X.ranges()).max(axis=0)
        column = int(np.argmax(largest))
        raise NonFiniteError(VALUES_TOO_LARGE_FOR_LASSO.format(column=column, largest=largest[column])) from None


def _with_l1(task: PathTask, alphas: Array, terms: PathTerms, start: Array | None) -> list[PathPoint]:
    def point(solution: Solution) -> PathPoint:
        fit: LassoFit = solution.coef
        tolerance = solution.certificate.tolerance * (terms.tolerance / terms.aim if terms.aim else 1.0)
        # rounding may make the gap negative; in this order of arguments NaN stays NaN
        certificate = replace(solution.certificate, value=max(solution.certificate.value, 0.0), tolerance=tolerance)
        gap = certificate.value / task.total
        return PathPoint(
            fit.coefficients, fit.intercept, gap, fit.sweeps, certificate, WORKING_SETS, solution.interrupted
        )

    solutions = solve_path(
        task.X,
        task.y,
        terms.strengths(task.X.n_columns),
        alphas * task.total,
        weight=task.weight,
        fit_intercept=terms.intercept,
        positive=terms.positive,
        start=start,
        tolerance=terms.aim,
        most_sweeps=MAX_LASSO_SWEEPS if terms.most_sweeps is None else terms.most_sweeps,
        screening=terms.screening,
        gram=terms.gram,
    )
    return [point(solution) for solution in solutions]


def _without_l1(task: PathTask, alpha: float, terms: PathTerms) -> PathPoint:
    """Solve without absolute values in the penalty, by a closed form or conjugate gradients."""
    rows = Observations(task.X, task.y[:, None], task.weight)
    penalty = np.array([alpha * task.total])
    if is_direct_cheap(rows):
        solution = least_squares(rows, penalty, intercept=terms.intercept)
    else:
        solution = solve_by_conjugate_gradients(rows, penalty, intercept=terms.intercept, tolerance=RESIDUAL_TOLERANCE)
    w, b = solution.coef.coefficients[:, 0], float(solution.coef.intercept[0])
    gap = _duality_gap(task, w, alpha, terms) / task.total
    return PathPoint(w, b, gap, 1, solution.certificate, solution.coef.path, solution.interrupted)


def _duality_gap(task: PathTask, coefficients: Array, alpha: float, terms: PathTerms) -> float:
    regression = task.regression(intercept=terms.intercept)
    w = regression.to_working(coefficients)
    residual = regression.residuals(regression.columns.combination(regression.columns.all_ids(), w[None]))
    c, squares = regression.slopes(residual)[0], float(regression.squares(residual)[0])
    penalty = regression.penalty(terms.strengths(len(w))).times(alpha * task.total)
    return max(least_squares_gap(penalty, w, c, squares), 0.0) * regression.unit**2


def warn_if_unconverged(found: list[PathPoint], alphas: Array, total: float) -> None:
    """Warn in scikit-learn's words if a model has not reached its tolerance."""
    failed = [(point, alpha) for point, alpha in zip(found, alphas, strict=True) if not point.certificate.holds]
    if not failed:
        return
    worst, alpha = max(failed, key=lambda pair: pair[0].gap)
    message = LASSO_NOT_CONVERGED.format(gap=worst.gap * total, tolerance=worst.certificate.tolerance)
    if alpha * total < np.finfo(np.float64).eps:
        message += NO_L1
    several = f"\nThis is the worst of {len(failed)} of {len(found)} penalties." if len(found) > 1 else ""
    remedy = f"\nIt made {worst.sweeps} iterations: raise max_iter, or tol if such a gap is small enough."
    warn(message + several + remedy, ConvergenceWarning)


def largest_slope(task: PathTask, *, intercept: bool, positive: bool) -> float:
    """Return the largest slope of the mean loss at zero coefficients: the smallest L1 penalty that keeps them there."""
    with name_largest_column(task.X):
        regression = task.regression(intercept=intercept)
    slopes = regression.slopes(regression.target[None])[0] * regression.columns.scale * regression.unit
    slopes = slopes[regression.lengths > 0]
    pulls = np.maximum(slopes, 0.0) if positive else np.abs(slopes)
    return float(pulls.max(initial=0.0) / task.total)


def alpha_grid(largest: float, l1_ratio: float, eps: float, count: int) -> Array:
    """Return `count` penalties, evenly spaced on a logarithmic scale, down from the smallest with zero coefficients."""
    if l1_ratio == 0:
        raise PenaltyError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing your "
            "estimator with the appropriate `alphas=` argument."
        )
    largest /= l1_ratio
    if largest <= SMALLEST_ALPHA_OF_GRID:
        return np.full(count, SMALLEST_ALPHA_OF_GRID)
    return np.asarray(np.geomspace(largest, largest * eps, num=count))


def sort_alphas(alphas: Any) -> Array:
    """Return given penalties, the largest first."""
    values = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if len(values) and not values[-1] >= 0:
        raise PenaltyError(f"alphas must not be negative, but one is {values[-1]:g}; 0 penalises nothing.")
    return values


def usable_gram(precompute: Any, task: PathTask, *, intercept: bool) -> Array | None:
    """Return the Gram matrix given as `precompute`, after a check, or None if the solver has to compute products.

    True, False and "auto" have no effect: the solver keeps the products that it needs. A matrix in single precision is
    not used, as it has fewer digits than the fit.
    """
    if isinstance(precompute, bool | np.bool_ | str) or task.X.is_sparse:
        return None
    gram = np.asarray(precompute)
    columns = task.X.n_columns
    if gram.shape != (columns, columns):
        raise DataError(
            f"The Gram matrix given as `precompute` has shape {gram.shape}, but X has {columns} columns; give X.T @ X, "
            "or precompute=False."
        )
    centre = np.average(task.X.data, axis=0, weights=task.weight)
    if intercept and not np.allclose(centre, 0.0):
        warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix.",
            UserWarning,
        )
        return None
    _check_gram(gram, task, centre if intercept else np.zeros(columns))
    return gram if gram.dtype == np.float64 else None


def _check_gram(gram: Array, task: PathTask, centre: Array) -> None:
    """Raise an error if one element of the Gram matrix, computed anew, differs."""
    first = task.X.n_columns // 2
    second = min(first + 1, task.X.n_columns - 1)
    left, right = (task.X.data[:, j].astype(np.float64) - centre[j] for j in (first, second))
    expected = left @ right if task.weight is None else (task.weight * left) @ right
    precise = gram.dtype == task.X.data.dtype == np.float64
    if not np.isclose(expected, gram[first, second], rtol=1e-7 if precise else 1e-4, atol=1e-5):
        raise DataError(
            "Gram matrix passed in via 'precompute' parameter did not pass validation when a single element was "
            f"checked - please check that it was computed properly. For element ({first},{second}) we computed "
            f"{expected} but the user-supplied value was {gram[first, second]}. It has to be the sum over rows of "
            "weight times x times x, where the weights sum to the number of rows."
        )


@dataclass(frozen=True, eq=False)
class CoordinateFit:
    """Solution for all targets, and the model of each target."""

    solution: Solution  # of a `LinearFit`
    each: list[PathPoint]


def fit_targets(
    rows: Observations, alpha: float, terms: PathTerms, *, precompute: Any = False, start: Any = None
) -> CoordinateFit:
    """Fit every target at one alpha; observations that can only be summed are reduced to a small problem first.

    After Ctrl-C there are zeros for targets that were not fitted.
    """
    terms, starts = replace(terms, closely=True), _split_start(start, rows)
    if not rows.has_rows:
        return _fit_sums(normal_equations(rows), alpha, terms, starts)
    X, weight = rows.design, normalise_weights(rows.weight)
    tasks = [PathTask.of(X, y, weight) for y in rows.y.T]
    terms = replace(terms, gram=usable_gram(precompute, tasks[0], intercept=terms.intercept))
    constant = tuple(X.constant_columns(weight).tolist()) if terms.intercept else ()
    return fit_each_target(tasks, alpha, terms, starts, partial(combine_targets, constant=constant))


def fit_each_target(
    tasks: Sequence[PathTask],
    alpha: float,
    terms: PathTerms,
    starts: Sequence[Array | None],
    combine: Callable[[list[PathPoint]], CoordinateFit],
) -> CoordinateFit:
    """Fit every target and `combine` the models; after an interruption, those found so far."""
    found: list[PathPoint] = []
    for task, begin in zip(tasks, starts, strict=True):
        found.append(fit_path(task, np.array([alpha]), terms, begin)[-1])
        if found[-1].interrupted:
            found.extend(_unfitted_point(task) for task in tasks[len(found) :])
            return combine(found)
    warn_if_unconverged(found, np.full(len(found), alpha), tasks[0].total)
    return combine(found)


def normalise_weights(weight: Array | None) -> Array | None:
    """Return weights that sum to the number of rows, as in scikit-learn's Gram matrices."""
    return None if weight is None else np.asarray(weight * (len(weight) / weight.sum()))


def _split_start(start: Any, rows: Observations) -> list[Array | None]:
    """Return the coefficients to begin with for each target, or None for each."""
    if start is None:
        return [None] * rows.targets
    begin = np.atleast_2d(np.asarray(start, dtype=np.float64))
    if begin.shape != (rows.targets, rows.shape[1]):
        raise DataError(
            f"warm_start=True, but coef_ has shape {np.shape(start)} and the new data have "
            f"{format_count(rows.targets, 'target')} and {rows.shape[1]} columns; set warm_start=False."
        )
    return list(begin)


def _unfitted_point(task: PathTask) -> PathPoint:
    """Return a model of zeros for a target that was not fitted."""
    certificate = Certificate("duality gap", np.inf, 0.0, "stopped by the user before this target")
    return PathPoint(np.zeros(task.X.n_columns), float(task.y.mean()), np.inf, 0, certificate, WORKING_SETS)


def combine_targets(found: list[PathPoint], constant: tuple[int, ...]) -> CoordinateFit:
    """Combine the models of all targets; the certificate is the worst of theirs."""
    coefficients = np.column_stack([point.coefficients for point in found])
    intercept = np.array([point.intercept for point in found])
    linear = LinearFit(coefficients, intercept, found[0].path, constant=constant)
    worst = max(found, key=lambda point: point.certificate.value - point.certificate.tolerance)
    interrupted = any(point.interrupted for point in found)
    return CoordinateFit(Solution(linear, worst.certificate, interrupted=interrupted), found)


def _fit_sums(sums: NormalEquations, alpha: float, terms: PathTerms, starts: Sequence[Array | None]) -> CoordinateFit:
    """Fit every target at one alpha, given the sums of all rows; see `fit_targets`.

    With the Gram matrix G = V Λ Vᵀ of columns about their means, A = Λ^½ Vᵀ and z = Λ^−½ Vᵀ Xᵀy,
    ‖y − X w‖² = ‖z − A w‖² + rest for every w. So the small problem of A and z has the same optimum and duality gap.
    """
    if not sums.finite:
        raise NonFiniteError(NOT_FINITE)
    products = sums.products(centred=terms.intercept)
    squares = np.diagonal(products.gram)
    constant = np.flatnonzero(squares <= sums.weight * np.square(CONSTANT_SPREAD * sums.mean[0]))
    A, Z = _small_equivalent(products)
    if terms.intercept:
        A[:, constant] = 0.0  # exactly, without rounding
    tasks = [PathTask(as_matrix(A), z, None, sums.weight) for z in Z.T]
    plain = replace(terms, intercept=False)
    known = tuple(constant.tolist()) if terms.intercept else ()
    combine = partial(_add_intercepts, sums=sums, constant=known, terms=terms)
    return fit_each_target(tasks, alpha, plain, starts, combine)


def _add_intercepts(
    found: list[PathPoint], sums: NormalEquations, constant: tuple[int, ...], terms: PathTerms
) -> CoordinateFit:
    """Add the intercepts, which a problem of columns about their means does not have."""
    x, y = sums.mean if terms.intercept else map(np.zeros_like, sums.mean)
    moved = [
        point._replace(intercept=float(level - x @ point.coefficients)) for point, level in zip(found, y, strict=True)
    ]
    return combine_targets(moved, constant)


def _small_equivalent(products: CrossProducts) -> tuple[Array, Array]:
    """Return A and z, with one more row for the part of y that no column explains."""
    gram, moment, squares = products
    unit = np.sqrt(np.diagonal(gram))
    unit[unit == 0] = 1.0
    with blas_for(len(unit)):
        values, axes = np.linalg.eigh(gram / unit / unit[:, None])
    root = np.sqrt(np.maximum(values, 0.0))
    is_positive = values > len(values) * EIGENVALUE_ROUNDING * values.max(initial=0.0)
    along = axes.T @ (moment / unit[:, None])
    z = np.divide(along, root[:, None], out=np.zeros_like(along), where=is_positive[:, None])
    A = np.where(is_positive, root, 0.0)[:, None] * axes.T * unit
    rest = np.sqrt(np.maximum(squares - np.square(z).sum(axis=0), 0.0))
    return np.vstack([A, np.zeros(len(unit))]), np.vstack([z, rest])


#: constraints of the parameters of `lasso_path` and `enet_path`
PATH_CONSTRAINTS: dict[str, Any] = {
    "X": ["array-like", "sparse matrix"],
    "y": ["array-like", "sparse matrix"],
    "l1_ratio": [Interval(Real, 0.0, 1.0, closed="both")],
    "eps": [Interval(Real, 0.0, None, closed="neither")],
    "n_alphas": [Interval(Integral, 1, None, closed="left"), Hidden(StrOptions({"deprecated"}))],
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like", None, Hidden(StrOptions({"warn"}))],
    "precompute": [StrOptions({"auto"}), "boolean", "array-like"],
    "Xy": ["array-like", None],
    "copy_X": ["boolean"],
    "coef_init": ["array-like", None],
    "verbose": ["verbose"],
    "return_n_iter": ["boolean"],
    "positive": ["boolean"],
    "check_input": ["boolean"],
}
#: further parameters of scikit-learn's functions
FURTHER_PATH_OPTIONS = (
    "tol",
    "max_iter",
    "selection",
    "random_state",
    "do_screening",
    "sample_weight",
    "X_offset",
    "X_scale",
)


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    **params: Any,
) -> tuple[Any, ...]:
    """Compute lasso coefficients along a path of penalties; scikit-learn's function, with a duality gap for each.

    Minimises ‖y − X w‖² / 2n + alpha ‖w‖₁ for each alpha. There is no intercept.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows; a dense array is not copied, neither in C nor in Fortran order.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets. Several are fitted together, by scikit-learn: a column is used for all of them or for none.
    eps : float, default=1e-3
        The smallest alpha, as a portion of the largest.
    n_alphas : int, default=100
        Deprecated: give the number as `alphas`.
    alphas : int or array-like, default=100
        Penalties, or their number.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        The Gram matrix of X, if it is known. True and False have no effect: products are computed where needed.
    Xy : array-like of shape (n_features,), default=None
        Has no effect: it is computed anew at little cost.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    coef_init : array-like of shape (n_features,), default=None
        Coefficients to begin with.
    verbose : bool or int, default=False
        Whether to write a dot, or above 1 a line, for each penalty.
    return_n_iter : bool, default=False
        Whether to return the numbers of iterations as well.
    positive : bool, default=False
        Whether to forbid negative coefficients. Only for one target.
    **params : dict
        `tol` (1e-4), `max_iter` (1000), `selection` and `random_state` as for `Lasso`; `sample_weight`.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        Penalties, the largest first.
    coefs : ndarray of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        Coefficients.
    dual_gaps : ndarray of shape (n_alphas,)
        Upper bounds of how much lower the objective can be.
    n_iters : list of int
        Numbers of iterations, if `return_n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import lasso_path
    >>> X = np.array([[1, 2, 3.1], [2.3, 5.4, 4.3]]).T
    >>> alphas, coefs, gaps = lasso_path(X, np.array([1, 2, 3.1]), alphas=[5.0, 1.0, 0.5], tol=1e-10)
    >>> coefs.round(4)
    array([[0.    , 0.    , 0.4692],
           [0.2159, 0.4426, 0.2367]])
    """
    given = {name: value for name, value in locals().items() if name in PATH_CONSTRAINTS}
    validate_parameter_constraints(PATH_CONSTRAINTS, given, caller_name="lasso_path")
    return enet_path(
        X,
        y,
        l1_ratio=1.0,
        eps=eps,
        n_alphas=n_alphas,
        alphas=alphas,
        precompute=precompute,
        Xy=Xy,
        copy_X=copy_X,
        coef_init=coef_init,
        verbose=verbose,
        return_n_iter=return_n_iter,
        positive=positive,
        **params,
    )


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    **params: Any,
) -> tuple[Any, ...]:
    """Compute elastic net coefficients along a path of penalties; scikit-learn's, with a duality gap for each.

    Minimises ‖y − X w‖² / 2n + alpha (l1_ratio ‖w‖₁ + (1 − l1_ratio) ‖w‖² / 2) for each alpha. There is no intercept.

    Parameters
    ----------
    X, y, eps, n_alphas, alphas, precompute, Xy, copy_X, coef_init, verbose, return_n_iter, positive, **params
        As for `lasso_path`.
    l1_ratio : float, default=0.5
        Share of the absolute values in the penalty, from 0 to 1.
    check_input : bool, default=True
        Whether to check and convert X and y.

    Returns
    -------
    alphas, coefs, dual_gaps, n_iters
        As for `lasso_path`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import enet_path
    >>> alphas, coefs, gaps = enet_path(np.eye(3), np.arange(3.0), alphas=[0.1, 0.2], l1_ratio=0.5)
    >>> alphas
    array([0.2, 0.1])
    >>> coefs.round(3)
    array([[0.   , 0.   ],
           [0.538, 0.739],
           [1.308, 1.609]])
    """
    given = {name: value for name, value in locals().items() if name in PATH_CONSTRAINTS}
    validate_parameter_constraints(PATH_CONSTRAINTS, given, caller_name="enet_path")
    if unknown := params.keys() - set(FURTHER_PATH_OPTIONS):
        raise DataError(
            f"Unexpected parameters in params: {sorted(unknown)}. Known are {', '.join(FURTHER_PATH_OPTIONS)}."
        )
    if np.ndim(y) != 1:
        from sklearn.linear_model import enet_path as enet_path_of_scikit_learn

        return enet_path_of_scikit_learn(**given, **params)  # type: ignore[no-any-return]
    if check_input:
        X, y = _checked(X, y)
    task = PathTask.of(as_matrix(X), y, None)
    if (weight := params.get("sample_weight")) is not None:
        task = PathTask(task.X, task.y, np.asarray(weight, dtype=np.float64), task.total)
    centred = params.get("X_offset") is not None and task.X.is_sparse
    try:
        gram = usable_gram(precompute, task, intercept=False)
        terms = _terms(params, l1_ratio=l1_ratio, intercept=centred, positive=positive, gram=gram)
        chosen = _alphas(task, terms, n_alphas, alphas, eps)
        found = fit_path(task, chosen, terms, None if coef_init is None else np.asarray(coef_init, dtype=np.float64))
    except NonFiniteError:
        check_finite_entries(X, [f"x{j}" for j in range(X.shape[1])], "enet_path")
        raise
    if found[-1].interrupted:
        raise FitInterrupted(STOPPED, found)
    warn_if_unconverged(found, chosen, task.total)
    _print_progress(found, verbose)
    coefs = np.column_stack([point.coefficients for point in found]).astype(X.dtype, copy=False)
    result = (chosen, coefs, np.array([point.gap for point in found]))
    return (*result, [point.sweeps for point in found]) if return_n_iter else result


def _checked(X: Any, y: Any) -> tuple[Any, Any]:
    X = check_array(X, accept_sparse="csc", dtype=[np.float64, np.float32], ensure_all_finite=False)
    y = check_array(y, dtype=X.dtype.type, ensure_2d=False, input_name="y")
    if len(y) != X.shape[0]:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(y)]}. Give one target for "
            "each row of X."
        )
    return X, y


def _terms(params: dict[str, Any], **options: Any) -> PathTerms:
    if params.get("selection", "cyclic") not in ("random", "cyclic"):
        raise DataError("selection should be either random or cyclic. Either leads to the same optimum.")
    return PathTerms(
        tolerance=params.get("tol", 1e-4),
        most_sweeps=params.get("max_iter", 1000),
        screening=params.get("do_screening", True),
        **options,
    )


def _alphas(task: PathTask, terms: PathTerms, n_alphas: Any, alphas: Any, eps: float) -> Array:
    """Return the penalties, the largest first, from both of scikit-learn's parameters."""
    count = 100
    if n_alphas != "deprecated":
        warn(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11. 'alphas' now accepts an integer value which "
            "removes the need to pass 'n_alphas'. The default value of 'alphas' will change from None to 100 in 1.11. "
            "Pass an explicit value to 'alphas' and leave 'n_alphas' to its default value to silence this warning.",
            FutureWarning,
        )
        count = n_alphas
    if alphas is None:
        warn(
            "'alphas=None' is deprecated and will be removed in 1.11, at which point the default value will be set to "
            "100. Set 'alphas=100' to silence this warning.",
            FutureWarning,
        )
    elif isinstance(alphas, Integral):
        count = int(alphas)
    elif not isinstance(alphas, str):
        return sort_alphas(alphas)
    largest = largest_slope(task, intercept=terms.intercept, positive=terms.positive)
    return alpha_grid(largest, terms.l1_ratio, eps, count)


def _print_progress(found: list[PathPoint], verbose: Any) -> None:
    """Print progress for each penalty, at the end, since the penalties are not solved one after the other."""
    for i, point in enumerate(found if verbose else ()):
        if verbose > 2:
            sys.stdout.write(f"{point.certificate}\n")
        elif verbose > 1:
            sys.stdout.write(f"Path: {i:03d} out of {len(found):03d}\n")
        else:
            sys.stderr.write(".")
