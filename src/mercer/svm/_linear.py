"""The common part of linear support vector machines: liblinear's rules about parameters, and the solver's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._errors import DataError, NonFiniteError
from mercer._threads import thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.validation import (
    Plan,
    check_finite,
    check_has_target,
    check_rows,
    check_weight,
    column_names,
    is_sparse,
)
from mercer.families.penalties import Strengths
from mercer.matrices import Observations
from mercer.optim import proximal_newton
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.descent import Callback
from mercer.optim.proximal_newton import FULL_MODEL_COLUMNS
from mercer.optim.squared_hinge import SquaredHinge, SquaredHingeProblem
from mercer.svm._crammer_singer import ClassLosses, ClassProblem, CrammerSingerDescent, CrammerSingerNewton
from mercer.svm._dual_descent import DualDescent
from mercer.svm._hinge_lasso import HingeColumns, HingeLasso
from mercer.svm._margin_newton import MAX_FACTORIZED, MarginNewton
from mercer.svm._margins import MarginDescent, MarginLosses, MarginProblem, MarginRows, run_descents

#: required gap, as a portion of the objective, for a `tol` of 1; liblinear with 1e-4 leaves a gap of about 1e-6
GAP_PER_TOL = 1e-2
#: rows up to which Newton's method is worthwhile, however many columns there are
NEWTON_ROWS = 300
#: mean of a column, in its standard deviations, whose square leaves few digits to the variation
FAR_MEAN = 1e5
#: an overflow leaves a certificate that is not finite, for which `store_fit` raises
ignore_overflow = np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
#: penalties that liblinear has for a loss, and the values of `dual` that it supports
LIBLINEAR_PENALTIES: dict[str, dict[str, tuple[bool, ...]]] = {
    "hinge": {"l2": (True,)},
    "squared_hinge": {"l1": (False,), "l2": (False, True)},
    "epsilon_insensitive": {"l2": (True,)},
    "squared_epsilon_insensitive": {"l2": (False, True)},
}


def check_supported(penalty: str, loss: str, dual: Any) -> None:
    """Raise scikit-learn's errors for combinations that liblinear lacks; only L1 with a hinge is unsupported here."""
    if penalty not in LIBLINEAR_PENALTIES[loss]:
        found = f"The combination of penalty='{penalty}' and loss='{loss}' is not supported"
    elif dual != "auto" and dual not in LIBLINEAR_PENALTIES[loss][penalty]:
        found = f"The combination of penalty='{penalty}' and loss='{loss}' are not supported when dual={dual}"
    else:
        return
    raise DataError(
        f"Unsupported set of arguments: {found}, Parameters: penalty={penalty!r}, loss={loss!r}, dual={dual!r}. Leave "
        "dual='auto', and use penalty='l1' with loss='squared_hinge' only."
    )


def validate_rows(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[Any, Array]:
    """Return X in float64 and C order, or CSR, and y; `check_squares` finds values that are not finite."""
    check_has_target(estimator, y)
    options = {"dtype": np.float64, "order": "C", **options}
    X, y = check_rows(estimator, X, y, reset=True, **options)
    return X, y


def check_squares(estimator: Any, rows: MarginRows) -> None:
    """Raise if a value is not finite, or too large to be squared."""
    if np.isfinite(rows.squares).all():
        return
    check_finite(estimator, rows.X)
    with np.errstate(over="ignore"):
        sizes = abs(rows.X).max(axis=0)
    sizes = np.ravel(sizes.toarray() if is_sparse(sizes) else sizes)
    column = int(np.argmax(sizes))
    raise NonFiniteError(
        f"the squares of column {column_names(estimator)[column]!r} are too large for float64 (its values reach "
        f"{sizes[column]:.2g}); divide the column by 1e100, say."
    )


def fill_row_weights(sample_weight: Any, X: Any) -> Array:
    """Return a weight for each row, not all of them zero."""
    weight = check_weight(sample_weight, X)
    return np.ones(X.shape[0]) if weight is None else weight


def intercept_constant(estimator: Any) -> float:
    """Return the constant that liblinear appends to every row; its coefficient times it is the intercept."""
    return float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0


@dataclass(frozen=True, eq=False)
class LinearMachineFit:
    """Coefficients of each class, or of the one target, with that of the constant last, and their solutions."""

    solutions: tuple[Solution, ...]
    W: Array  # (classes, columns + 1)
    n_iter: int
    path: str
    interrupted: bool = False

    @property
    def worst(self) -> Solution:
        """Return the solution of the class that is farthest from its optimum."""
        worst = max(self.solutions, key=lambda solution: solution.certificate.value)
        if not self.interrupted:
            return worst
        return replace(worst, certificate=worst.certificate.after_interruption(), interrupted=True)


@dataclass(frozen=True)
class LinearMachineLimits:
    """Tolerance, limit of steps, and the seed of the order of rows."""

    tol: float
    max_iter: int
    seed: int

    @property
    def gap(self) -> float:
        return GAP_PER_TOL * self.tol


@ignore_overflow
def fit_ridge(
    rows: MarginRows, losses: Sequence[MarginLosses], limits: LinearMachineLimits, callback: Callback | None
) -> LinearMachineFit:
    """Fit a machine with a squared penalty for each of the losses."""
    problems = [MarginProblem(rows, each) for each in losses]
    newton = _is_suited_to_newton(rows, smooth=problems[0].losses.smooth)
    descents: list[MarginDescent] = [
        MarginNewton(problem, limits.gap, limits.max_iter)
        if newton
        else DualDescent(problem, limits.gap, limits.max_iter, limits.seed + number)
        for number, problem in enumerate(problems)
    ]
    path = "Newton's method" if newton else "dual coordinate descent"
    return _run_to_end(descents, rows, callback, path)


def _is_suited_to_newton(rows: MarginRows, *, smooth: bool) -> bool:
    """Return whether Newton's method is preferable: rows fewer than columns are nearly orthogonal and suit descent by
    rows.
    """
    few = rows.n_columns <= MAX_FACTORIZED or rows.n_rows <= NEWTON_ROWS
    return few or (smooth and rows.n_rows >= rows.n_columns)


@ignore_overflow
def fit_crammer_singer(
    rows: MarginRows,
    codes: Array,
    penalty: Array,
    n_classes: int,
    limits: LinearMachineLimits,
    callback: Callback | None,
) -> LinearMachineFit:
    """Fit all classes at once."""
    if rows.n_columns * n_classes <= MAX_FACTORIZED:
        problem = ClassProblem(rows, ClassLosses(codes, penalty, n_classes))
        newton = CrammerSingerNewton(problem, limits.gap, limits.max_iter)
        return _run_to_end([newton], rows, callback, "Newton's method, all classes at once")
    descent = CrammerSingerDescent(rows, codes, penalty, n_classes, limits.gap, limits.max_iter, limits.seed)
    return _run_to_end([descent], rows, callback, "dual coordinate descent, all classes at once")


@ignore_overflow
def fit_lasso(
    rows: MarginRows, losses: Sequence[tuple[Array, Array]], limits: LinearMachineLimits, callback: Callback | None
) -> LinearMachineFit:
    """Fit squared hinge losses with an L1 penalty: for each problem the classes as ±1, and C of each row."""
    if rows.n_columns <= FULL_MODEL_COLUMNS and not _is_far_from_zero(rows):
        return _fit_by_proximal_newton(rows, losses, limits, callback)
    columns = HingeColumns(rows)
    descents = [
        HingeLasso(columns, y, penalty, limits.gap, limits.max_iter, limits.seed + number)
        for number, (y, penalty) in enumerate(losses)
    ]
    return _run_to_end(descents, rows, callback, "coordinate descent")


def _is_far_from_zero(rows: MarginRows) -> bool:
    """Return whether several columns vary so little around their means that their products agree in float64."""
    if not isinstance(rows.X, np.ndarray):
        return False
    return int(np.count_nonzero(np.abs(rows.X.mean(axis=0)) > FAR_MEAN * rows.X.std(axis=0))) > 1


def _fit_by_proximal_newton(
    rows: MarginRows, losses: Sequence[tuple[Array, Array]], limits: LinearMachineLimits, callback: Callback | None
) -> LinearMachineFit:
    design = rows.design if rows.constant else rows.plain_design
    strengths = Strengths.none(design.n_columns)
    strengths.l1[:] = 1.0
    if rows.constant:  # the design has a column of ones instead
        strengths.l1[-1] = 1 / rows.constant
    solutions: list[Solution] = []
    for y, penalty in losses:
        problem = SquaredHingeProblem(Observations(design, y, penalty), SquaredHinge(), strengths)  # type: ignore[arg-type]
        tolerance = limits.gap * float(np.sqrt(penalty.sum()))
        found = proximal_newton.solve(problem, tolerance=tolerance, most_steps=limits.max_iter, callback=callback)
        solutions.append(found)
        if found.interrupted:
            untouched = Certificate("duality gap", 1.0, limits.gap, "the fit of this class has not begun")
            unsolved = Solution(np.zeros(design.n_columns), untouched)
            solutions += [unsolved] * (len(losses) - len(solutions))
            break
    return _collect_coefficients(solutions, rows)


def _collect_coefficients(solutions: Sequence[Solution], rows: MarginRows) -> LinearMachineFit:
    W = np.stack([solution.coef for solution in solutions])
    W = W / np.append(np.ones(W.shape[1] - 1), rows.constant) if rows.constant else np.pad(W, ((0, 0), (0, 1)))
    n_iter = max(solution.n_iter for solution in solutions)
    interrupted = any(solution.interrupted for solution in solutions)
    return LinearMachineFit(tuple(solutions), W, n_iter, "proximal Newton", interrupted)


def _run_to_end(
    descents: Sequence[MarginDescent], rows: MarginRows, callback: Callback | None, path: str
) -> LinearMachineFit:
    def collect() -> LinearMachineFit:
        solutions = tuple(descent.solution() for descent in descents)
        W = np.vstack([solution.coef.w.T for solution in solutions])
        if W.shape[1] < rows.n_columns:  # without a constant
            W = np.pad(W, ((0, 0), (0, 1)))
        return LinearMachineFit(solutions, W, max(descent.n_iter for descent in descents), path)

    try:
        run_descents(descents, rows.stored, callback)
    except KeyboardInterrupt:
        return replace(collect(), interrupted=True)
    return collect()


def store_fit(estimator: Any, fitted: LinearMachineFit) -> tuple[Array, Any]:
    """Store certificate, plan and iterations, and return coefficients and intercepts, 0.0 if there are none."""
    worst = fitted.worst
    if not (np.isfinite(fitted.W).all() and (worst.interrupted or np.isfinite(worst.certificate.value))):
        raise NonFiniteError(
            f"the objective is too large for float64 with C={estimator.C:g} and such values of X; give a smaller C, or "
            "divide the columns by their sizes."
        )
    estimator.plan_ = Plan(fitted.path, "float64", 1, thread_count())
    estimator.certificate_ = worst.certificate
    estimator.n_iter_ = int(fitted.n_iter)
    c = intercept_constant(estimator)
    return np.ascontiguousarray(fitted.W[:, :-1]), c * fitted.W[:, -1] if c else 0.0


def warn_if_unfinished(estimator: Any) -> None:
    """Warn with scikit-learn's sentence, the certificate, and a remedy."""
    if estimator.certificate_.holds:
        return
    if estimator.n_iter_ < estimator.max_iter:  # only rounding is left
        remedy = "Rounding prevents more digits: give columns that are centred and of about the same size"
    else:
        remedy = (
            f"Set max_iter to more than {estimator.max_iter}, or tol to more than {estimator.tol:g} if that is near "
            "enough; columns that are centred and of about the same size need fewer"
        )
    warn(
        f"Liblinear failed to converge, increase the number of iterations. {estimator.certificate_}. {remedy}.",
        ConvergenceWarning,
    )
