"""Logistic regression of one data set at one penalty after another, for `LogisticRegression` and its CV.

scikit-learn's objective, C Σ w · loss + l1_ratio ‖β‖₁ + (1 − l1_ratio)/2 ‖β‖², is that of `Problem` times C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Hidden, Interval, StrOptions

from mercer._errors import DataError
from mercer._gpu import like, to_numpy
from mercer._stored import stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.diagnosis import Diagnosis, Finding
from mercer.base.progress import CallbackSupportMixin
from mercer.base.validation import (
    check_finite,
    check_has_target,
    check_rows,
    check_same_device,
    check_two_classes_of_solver,
    check_weight,
    complete_unless_interrupted,
    warn_of_many_classes,
)
from mercer.data.labels import encode_labels
from mercer.data.sources.base import Chunk
from mercer.families import LOGIT, Bernoulli
from mercer.families.penalties import ElasticNet, Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.linear_model._dependence import find_dependence
from mercer.linear_model.glm_solve import SolverLimits, certificate_as_published, curvature_along, describe_dependence
from mercer.linear_model.separation import examine, examine_classes
from mercer.matrices import (
    Coordinates,
    Observations,
    standardize,
)
from mercer.matrices.streamed import SurveySample
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.descent import Callback, Step
from mercer.optim.minimize import choose_solver, minimize
from mercer.optim.newton import ALWAYS_HESSIAN
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem
from mercer.report.wording import format_count

#: gradient in standard errors, for a weight of one, that rounding alone may leave
LOGISTIC_ROUNDING = 1e-11
#: largest tolerance of Newton's method in standard errors, since its last steps gain much at little cost
LARGEST_NEWTON_TOLERANCE = 1e-2
#: the same for rows so few that every step has a full Hessian
LARGEST_FULL_HESSIAN_TOLERANCE = 1e-6
#: names of the solvers in `plan_`
SOLVER_PATHS = {
    "newton": "Newton's method",
    "row-space": "Newton's method in the space of the rows",
    "lbfgs": "L-BFGS",
    "proximal": "proximal Newton",
}
#: values of `solver`
LOGISTIC_SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
#: scikit-learn's solvers whose sparse matrices have 32-bit indices
SMALL_INDICES = ("liblinear", "sag", "saga")
#: largest value that scikit-learn allows for liblinear
LIBLINEAR_LARGEST = 1e30
#: remedy for columns that depend on each other and for separated classes
REMEDY_WITHOUT_PENALTY = "Leave the columns out, or give C a finite value, under which the optimum is unique."

#: constraints of the parameters of `LogisticRegression`
LOGISTIC_CONSTRAINTS: dict[str, Any] = {
    "penalty": [StrOptions({"l1", "l2", "elasticnet"}), None, Hidden(StrOptions({"deprecated"}))],
    "C": [Interval(Real, 0, None, closed="right")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
    "dual": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "random_state": ["random_state"],
    "solver": [StrOptions(set(LOGISTIC_SOLVERS))],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "n_jobs": [None, Integral],
}


# The fit at one penalty.


class Coefficients(NamedTuple):
    """Coefficients of each class, or of the second of two, in the units of the data."""

    coef: Array  # (classes, columns)
    intercept: Array  # (classes,)

    def joined(self, *, intercept: bool) -> Array:
        """Return coefficients and intercept side by side, as in scikit-learn's paths."""
        return np.hstack([self.coef, self.intercept[:, None]]) if intercept else self.coef


@dataclass(frozen=True)
class LogisticPoint:
    """Fit at one penalty."""

    coefficients: Coefficients
    solution: Solution  # in working coordinates
    path: str
    problem: Any

    @property
    def is_penalised(self) -> bool:
        return bool(self.problem.strengths.any)

    @property
    def n_iter(self) -> int:
        return self.solution.n_iter

    @property
    def certificate(self) -> Certificate:
        return self.solution.certificate

    def certificate_as_published(self, coef: Array, intercept: Array) -> Certificate:
        """Return the certificate of the coefficients as they were published, which float32 rows have rounded."""
        problem = self.problem
        change = problem.observations.design.coordinates.from_user(
            (coef.astype(np.float64) - self.coefficients.coef).T,
            intercept.astype(np.float64) - self.coefficients.intercept,
        )
        if not change.any():
            return self.certificate
        value = np.asarray(self.solution.coef)
        squares = curvature_along(
            problem, _point_of(problem, value) if value.ndim == 2 else value, _point_of(problem, change)
        )
        if len(coef) > 1:  # a change that all classes share affects the penalty alone
            squares += len(coef) * float(problem.strengths.l2 @ np.square(change.mean(axis=1)))
        return certificate_as_published(problem, self.solution, squares, coef.dtype)


@stored()
class PathPenalty(NamedTuple):
    """Inverse strength of the penalty, and the share of L1."""

    C: float
    l1_ratio: float


@dataclass(frozen=True, eq=False)
class LogisticPath:
    """Rows with their classes, and the objective apart from the strength of the penalty."""

    observations: Observations  # y are codes
    n_classes: int
    #: penalty of the intercept relative to a coefficient, for liblinear; None if it is not penalised
    intercept_scaling: float | None
    limits: SolverLimits

    @classmethod
    def of(cls, model: Any, X: Any, codes: Array, weight: Array | None) -> Self:
        """Return the path for rows in memory or on a device; the model has its `classes_`."""
        design = standardize(X, intercept=model.fit_intercept, shifted=model.solver != "liblinear", weight=weight)
        return cls.of_observations(model, design.observe(codes, weight))

    @classmethod
    def of_observations(cls, model: Any, observations: Observations) -> Self:
        """Return the path for observations, with the parameters of the model."""
        scaling = model.intercept_scaling if model.solver == "liblinear" else None
        return cls(observations, len(model.classes_), scaling, SolverLimits(model.tol, model.max_iter))

    def weighted(self, weight: Array) -> Self:
        """Return the path for the same rows with other weights."""
        return replace(self, observations=replace(self.observations, weight=weight))

    @property
    def _coordinates(self) -> Coordinates:
        return self.observations.design.coordinates

    @property
    def _total(self) -> float:
        return self.observations.total_weight

    def at(
        self,
        C: float,
        l1_ratio: float,
        start: Coefficients | None = None,
        *,
        callback: Callback | None = None,
    ) -> LogisticPoint:
        """Return the fit at one penalty, begun at `start`; `callback` gets working coefficients."""
        problem = self.problem(C, l1_ratio)
        tolerance = self._tolerance(problem)
        choice = choose_solver(problem, tol=tolerance)
        if choice.solver == "newton":
            few = len(self.observations) < ALWAYS_HESSIAN
            tolerance = min(tolerance, LARGEST_FULL_HESSIAN_TOLERANCE if few else LARGEST_NEWTON_TOLERANCE)
        solution = minimize(
            problem,
            solver=choice,
            start=self._begin(problem, start),
            tol=tolerance,
            max_iter=self.limits.most_steps,
            callback=callback,
            explore=False,
        )
        path = SOLVER_PATHS[choice.solver]
        if choice.solver == "proximal" and self.n_classes > 2 and not self.observations.streamed:
            path = "L-BFGS-B"
        return LogisticPoint(self.coefficients(solution.coef), solution, path, problem)

    def problem(self, C: float, l1_ratio: float) -> Any:
        """Return the problem at one penalty."""
        strengths = self._strengths(C, l1_ratio)
        if self.n_classes == 2:
            return Problem(self._second, Response(Bernoulli(), LOGIT), strengths)
        return SoftmaxProblem(self.observations, SoftmaxResponse(self.n_classes), strengths)

    def _strengths(self, C: float, l1_ratio: float) -> Strengths:
        columns = len(self._coordinates.shift)
        strengths = self._coordinates.strengths(ElasticNet(1 / C, l1_ratio=l1_ratio).strengths(columns))
        if self.intercept_scaling is not None and self._coordinates.intercept:
            strengths.l1[-1] = l1_ratio / C / self.intercept_scaling
            strengths.l2[-1] = (1 - l1_ratio) / C / self.intercept_scaling**2
        return strengths

    @cached_property
    def _second(self) -> Observations:
        """The observations with 1 for the second of two classes and 0 for the first."""
        return self.observations.responses_as(np.float64)

    def _begin(self, problem: Any, start: Coefficients | None) -> Array | None:
        if start is None:
            if self.limits.most_steps > 0:
                return None
            # without a step, the start is the result, and scikit-learn begins at zero
            coef = np.zeros((1 if self.n_classes == 2 else self.n_classes, len(self._coordinates.shift)))
            start = Coefficients(coef, np.zeros(len(coef)))
        with np.errstate(over="ignore", invalid="ignore"):
            working = self._coordinates.from_user(start.coef.T, start.intercept)
        if not np.isfinite(working).all():  # e.g. for columns of 1e308
            return None
        return working if self.n_classes > 2 else np.asarray(working[:, 0])

    def _tolerance(self, problem: Any) -> float:
        """Convert the tolerance of gradients per row to one of distances in standard errors."""
        root = np.sqrt(self._total) / problem.unit(0.0)
        return float(max(self.limits.tolerance, LOGISTIC_ROUNDING) * root)

    def coefficients(self, working: Array) -> Coefficients:
        """Return working coefficients in the units of the data."""
        with np.errstate(over="ignore", invalid="ignore"):  # the coefficient of a column of 1e-310 overflows
            coef, intercept = self._coordinates.to_user(working)
        if self.n_classes > 2:  # a constant for all classes has no effect; centred intercepts are easier to read
            intercept = intercept - intercept.mean()
        return Coefficients(np.atleast_2d(coef.T), np.atleast_1d(intercept))


def _point_of(problem: Problem | SoftmaxProblem, working: Array) -> Array:
    """Return the point of a problem for working coefficients with a column for each class, or for the second of two."""
    return problem.vector(working) if isinstance(problem, SoftmaxProblem) else np.asarray(working[:, 0])


# Parameters and data, by scikit-learn's rules.


def check_solver(solver: str, penalty: str | None, dual: bool) -> None:
    """Raise scikit-learn's errors for a solver that it cannot combine with a penalty."""
    if solver not in ("liblinear", "saga") and penalty not in ("l2", None):
        raise DataError(
            f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty. Use solver='saga'."
        )
    if solver != "liblinear" and dual:
        raise DataError(f"Solver {solver} supports only dual=False, got dual={dual}. Leave dual out.")
    if penalty == "elasticnet" and solver != "saga":
        raise DataError(f"Only 'saga' solver supports elasticnet penalty, got solver={solver}. Use solver='saga'.")
    if solver == "liblinear" and penalty is None:
        raise DataError(
            "C=np.inf as well as penalty=None is not supported for the liblinear solver. Use another solver."
        )


def encode_classes(y: Any, solver: str) -> tuple[Array, Array]:
    """Return the labels and their codes, after a check that the solver takes this number of classes."""
    classes, codes = encode_labels(y)
    check_enough_classes(classes, solver)
    warn_of_many_classes(classes, len(codes))
    return classes, codes


def check_enough_classes(classes: Array, solver: str) -> None:
    """Raise an error unless there are two classes, or more if the solver takes them."""
    check_two_classes_of_solver(classes)
    if solver == "liblinear" and len(classes) > 2:
        raise DataError(
            "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). Either use another "
            "solver or wrap the estimator in a OneVsRestClassifier to keep applying a one-versus-rest scheme."
        )


def checked_rows(estimator: Any, X: Any, y: Any, solver: str, dtype: Any, *, reset: bool = True) -> tuple[Any, Any]:
    """Return X as floats, in any memory order, and y; values that are not finite are detected by the fit."""
    check_has_target(estimator, y, "class")
    X, y = check_rows(
        estimator,
        X,
        y,
        reset=reset,
        codes=solver != "liblinear",  # a penalised intercept allows no shift of columns
        dtype=dtype,
        accept_large_sparse=solver not in SMALL_INDICES,
    )
    if solver == "liblinear":
        _check_magnitude(X, estimator)
    return X, y


def read_labelled_chunk(reader: Any, chunk: Chunk) -> SurveySample:
    """Return the rows of a chunk of a source, checked as rows in memory are."""
    X, y = checked_rows(reader, chunk.X, chunk.y, reader.solver, [np.float64, np.float32], reset=False)
    return SurveySample(X, y, check_weight(chunk.weight, X, part=True), None)


def read_labelled_numbers(reader: Any, chunk: Chunk) -> Any:
    """Return X of a chunk, to be searched for values that are not finite."""
    sample = read_labelled_chunk(reader, chunk)
    encode_labels(sample.y)  # raises an error for labels that are missing
    return sample.X


def _check_magnitude(X: Any, estimator: Any) -> None:
    largest = X.max() if X.shape[0] else 0.0
    if not np.isfinite(largest):
        check_finite(estimator, X)
    if largest > LIBLINEAR_LARGEST:
        raise DataError(
            "Using the 'liblinear' solver while X contains a maximum value > 1e30 results in a frozen fit. Please "
            "choose another solver or rescale the input X. Here the other solvers can handle such values."
        )


def row_weights(sample_weight: Any, X: Any, class_weight: Any, classes: Array, codes: Array) -> Array | None:
    """Return weights of rows times those of their classes; None if all are 1."""
    return _times_class_weights(check_weight(sample_weight, X), class_weight, classes, codes)


def tensor_row_weights(sample_weight: Any, X: Any, class_weight: Any, classes: Array, codes: Any) -> Any:
    """Return `row_weights` for a tensor X, on its device; they are computed in main memory."""
    import torch

    if sample_weight is None and class_weight is None:
        return None
    check_same_device(sample_weight, X, "sample_weight")
    given = None if sample_weight is None else to_numpy(sample_weight)
    weight = row_weights(given, range(len(X)), class_weight, classes, to_numpy(codes))
    return None if weight is None else like(weight, X, dtype=torch.float64)


def _times_class_weights(weight: Array | None, class_weight: Any, classes: Array, codes: Array) -> Array | None:
    of_class = class_weights(class_weight, classes, np.bincount(codes, weight, minlength=len(classes)))
    if of_class is not None:
        weight = of_class[codes] if weight is None else weight * of_class[codes]
    return weight


def class_weights(class_weight: Any, classes: Array, counts: Array) -> Array | None:
    """Return a weight for each class, given the total weight of its rows as `counts`; None if all are 1."""
    if class_weight is None or len(class_weight) == 0:
        return None
    if class_weight == "balanced":
        with np.errstate(divide="ignore"):
            of_class = np.where(counts > 0, counts.sum() / (len(classes) * counts), 0.0)
    else:
        try:
            of_class = np.asarray(compute_class_weight(class_weight, classes=classes, y=classes), dtype=float)
        except ValueError as wrong:
            raise DataError(f"{wrong}. Give the classes of y as keys; those without a weight have 1.") from None
    if not (of_class @ counts) > 0:
        raise DataError("the weights of the classes leave no row a weight, so that there is nothing to learn from.")
    return of_class


def warn_if_unfinished(point: LogisticPoint, solver: str, max_iter: int) -> None:
    """Warn with scikit-learn's sentence for the given solver, the evidence, and one remedy."""
    if point.certificate.holds or point.n_iter < max_iter:
        return
    n = point.n_iter
    counted = format_count(n, "iteration")
    sentence = {
        "lbfgs": f"lbfgs failed to converge after {n} iteration(s)",  # as the tests of scikit-learn require
        "newton-cg": f"newton-cg failed to converge after {counted}. Increase the number of iterations",
        "newton-cholesky": f"Newton solver did not converge after {n} iterations",  # likewise
        "liblinear": "Liblinear failed to converge, increase the number of iterations",
    }.get(solver, "The max_iter was reached which means the coef_ did not converge")
    warn(
        f"{sentence}. {point.certificate}. Increase the number of iterations (max_iter={max_iter}); scaling the data "
        "is not needed.",
        ConvergenceWarning,
    )


# Scikit-learn's callbacks: a task per step, which has the coefficients.


class LogisticCallbacks(CallbackSupportMixin):
    """Support of callbacks, with scikit-learn's warning if its solver would ignore them."""

    solver: str

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn's callbacks of a fit.

        Parameters
        ----------
        *callbacks : callback instances
            They receive the coefficients of `LogisticRegression` after every step. `LogisticRegressionCV` takes them
            and calls none, as in scikit-learn 1.9.

        Returns
        -------
        self : object
            The model itself.
        """
        if self.solver != "lbfgs":
            warn(
                f"Callbacks are only supported in {type(self).__name__} for solver='lbfgs'. This estimator has "
                f"solver='{self.solver}', callbacks will be ignored during the solving of the regression.",
                UserWarning,
            )
        super().set_callbacks(*callbacks)
        return self


@contextmanager
def report_steps(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Callback | None]:
    """Report the fit as a task, with a subtask for each step; as in scikit-learn, only "lbfgs" reports steps.

    The yielded callback takes steps with `Coefficients`.

    As there, each step begins where the last one ended: one more is begun than is made, and at least one is made.
    """
    root = estimator._init_callback_context(max_subtasks=max(estimator.max_iter, 1) + 1)
    about: dict[str, Any] = {"estimator": estimator, "X": X, "y": y}
    about["metadata"] = None if sample_weight is None else {"sample_weight": sample_weight}
    root.call_on_fit_task_begin(**about)
    if estimator.solver != "lbfgs":
        yield None
    else:
        steps = _CallbackSteps(root, about)
        yield steps.report
        steps.close()
    root.call_on_fit_task_end(**about, reconstruction_attributes={})


class _CallbackSteps:
    """Subtasks of a fit for callbacks, one for each step."""

    def __init__(self, root: Any, about: dict[str, Any]) -> None:
        self._root, self._about, self._made = root, about, 0
        self._task: Any = None

    def _begin_task(self) -> None:
        self._task = self._root.subcontext(task_name="lbfgs-iter")
        self._task.call_on_fit_task_begin(**self._about, reconstruction_attributes=self._attributes())

    def _attributes(self) -> dict[str, Any]:
        return {"coef_": self._last.coef, "intercept_": self._last.intercept}

    def report(self, step: Step) -> None:
        """End the present task, which has led to the coefficients of this step, and begin the next."""
        self._last: Coefficients = step.coef
        if step.iteration > 0:
            self._end_task()
        self._begin_task()

    def _end_task(self) -> None:
        self._made += 1
        self._task.call_on_fit_task_end(**self._about, reconstruction_attributes=self._attributes())

    def close(self) -> None:
        if self._task is None:  # Ctrl-C before the start was reported
            return
        if not self._made:
            self._end_task()
            self._begin_task()
        self._task.call_on_fit_task_end(estimator=self._about["estimator"])


# Diagnosis of a fit without a penalty.


def diagnose_point(
    path: LogisticPath, point: LogisticPoint, names: Sequence[str], classes: Sequence[str]
) -> tuple[LogisticPoint, Diagnosis]:
    """Return the fit and findings about collinear columns and separated classes.

    If columns are collinear, the coefficients are the smallest of those that fit equally well, as scikit-learn's lbfgs
    has them. After Ctrl-C the fit is as it was, and `interrupted`.
    """
    if path.intercept_scaling is not None or point.is_penalised:
        return point, Diagnosis()
    found = complete_unless_interrupted(point.solution, lambda: _diagnose(path, point, names, classes))
    if found is None:
        return replace(point, solution=replace(point.solution, interrupted=True)), Diagnosis()
    return found


def _diagnose(
    path: LogisticPath, point: LogisticPoint, names: Sequence[str], classes: Sequence[str]
) -> tuple[LogisticPoint, Diagnosis]:
    terms = [*names, "the intercept"] if path.observations.design.coordinates.intercept else list(names)
    dependence = find_dependence(path.observations, Strengths.none(len(terms)))
    if len(classes) == 2:
        separation = examine(path.problem(np.inf, 0.0), point.solution, terms)
    else:
        response = SoftmaxResponse(len(classes))
        separation = examine_classes(path.observations, response, point.solution, terms, classes)
    findings: list[Finding] = [] if separation is None else [replace(separation, remedy=REMEDY_WITHOUT_PENALTY)]
    if dependence is not None:
        found, _ = describe_dependence(terms, dependence.columns(), dependence.constant)
        findings += [replace(finding, remedy=REMEDY_WITHOUT_PENALTY) for finding in found]
        value = dependence.smallest(point.solution.coef, path.observations.design.coordinates)
        point = replace(point, solution=replace(point.solution, coef=value), coefficients=path.coefficients(value))
    return point, Diagnosis(tuple(findings))
