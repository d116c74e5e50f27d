"""The common base of support vector classification and regression.

`solve_machines` solves the dual problems of a model one after the other, with progress and limits, and keeps a fit that
is stopped. `SupportVectorMachine` prepares rows, stores support vectors and computes scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, column_or_1d

from mercer._errors import DataError, EmptyDataError, FitInterrupted, IndefiniteKernelWarning, KernelError
from mercer._stored import part_of
from mercer._threads import thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.kernel_choice import GAMMA_CONSTRAINTS, KERNEL_CONSTRAINTS, choose_kernel, is_precomputed
from mercer.base.kernel_comparison import ByFunction, ByKernel, Precomputed, check_kernel_matrix, whole_matrix
from mercer.base.progress import StoppedByCallback, Watch, show_line
from mercer.base.validation import (
    STOPPED,
    Plan,
    check_finite,
    check_has_target,
    check_is_fitted,
    check_rows,
    check_target,
    is_sparse,
)
from mercer.kernel_approximation.approximate import APPROXIMATE, Approximation, fit_feature_map
from mercer.kernels import FromFunction, Kernel, KernelHolder, Linear, kernel_from
from mercer.kernels.inputs import count, take
from mercer.matrices import Encoded
from mercer.optim.certificate import Certificate, Solution
from mercer.svm import _dual as dual
from mercer.svm import feature_machine
from mercer.svm._approximate import FeatureComparison, FittedFeatures, assess_features, prepare_by_features
from mercer.svm._box_problem import BoxPoint, BoxProblem, BoxProgress, Margins
from mercer.svm._training import TrainingRows, find_centre, prepare_by_kernel, prepare_by_matrix
from mercer.svm.feature_machine import FeatureRows


@dataclass(eq=False)
class Machines:
    """The solution of each machine of a fit, and whether Ctrl-C has interrupted it."""

    solutions: list[Solution] = field(default_factory=list)
    interrupted: bool = False

    @property
    def worst(self) -> Certificate:
        """Return the certificate of the machine that is farthest from its optimum."""
        return max((solution.certificate for solution in self.solutions), key=lambda certificate: certificate.value)

    @property
    def intercepts(self) -> Array:
        return np.array([solution.coef.intercept for solution in self.solutions], dtype=float)

    @property
    def weights(self) -> Array:
        """Return w of each machine in a column, where rows have features; 0 for machines not begun."""
        weights_of_machines = [solution.coef.weights for solution in self.solutions]
        size = max(len(weights) for weights in weights_of_machines if weights is not None)
        return np.column_stack([np.zeros(size) if weights is None else weights for weights in weights_of_machines])

    @property
    def iterations(self) -> list[int]:
        return [int(solution.coef.steps) for solution in self.solutions]


def solve_machines(
    problems: Iterable[tuple[BoxProblem, Array | None]],
    *,
    name: str,
    verbose: Any,
    callback: Callable[[Any], Any] | None,
    tolerance: float,
    max_iter: int,
    time_limit: float | None,
) -> Machines:
    """Solve each problem from its start; once stopped, the remaining ones stay at zero.

    Ctrl-C leaves the machines `interrupted`; a fit that is ended by a callback is not.
    """
    machines, started = Machines(), perf_counter()
    with _watch_progress(name, verbose, callback) as watch:
        stopped = False
        for problem, start in problems:
            if stopped:
                machines.solutions.append(_unsolved(len(problem.target), tolerance))
                continue
            left = None if time_limit is None else max(0.0, time_limit - (perf_counter() - started))
            solve = feature_machine.solve if isinstance(problem.rows, FeatureRows) else dual.solve
            solution = solve(
                problem,
                tolerance=tolerance,
                start=start,
                max_iter=max_iter,
                time_limit=left,
                callback=watch.callback,
            )
            stopped = solution.interrupted
            machines.interrupted = stopped and not watch.stopped
            _check_overflow(solution.coef)
            machines.solutions.append(solution)
    return machines


def _check_overflow(point: BoxPoint) -> None:
    if not (np.isfinite(point.intercept) and np.isfinite(point.scores).all()):
        raise DataError(
            "The dual coefficients or intercepts are not finite. The input data may contain large values and need to "
            "be preprocessed. The kernel exceeds the range of numbers on these rows; divide the columns by their "
            "scale, e.g. with StandardScaler, or lower gamma or degree."
        )


def _unsolved(n: int, tolerance: float) -> Solution:
    certificate = Margins("KKT", np.inf, tolerance, "the fit was stopped before this machine was begun")
    return Solution(BoxPoint(np.zeros(n), 0.0, np.zeros(n)), certificate)


@contextmanager
def _watch_progress(name: str, verbose: Any, callback: Callable[[Any], Any] | None) -> Iterator[Watch]:
    """Show a line on the terminal if `verbose`, and call the user's function."""
    own: list[Callable[[Any], Any]] = [] if callback is None else [partial(_call_user, callback)]
    with show_line(name, _describe_step) if verbose else nullcontext() as show:
        yield Watch(own if show is None else [show, *own])


def _call_user(callback: Callable[[Any], Any], progress: BoxProgress) -> None:
    """Call the user's function, which ends the fit by returning True."""
    if isinstance(answer := callback(progress), bool | np.bool_) and answer:
        raise StoppedByCallback


def _describe_step(progress: BoxProgress) -> str:
    steps, violation = f"{progress.iterations} steps", f"KKT violation {progress.violation:.1e}"
    return f"{steps}, {violation}, gap {progress.gap:.1e}, {progress.seconds:.1f} s"


#: the declaration of the comparison of rows with support vectors; a comparison by a function is not stored
COMPARISON = part_of(ByKernel, Precomputed, FeatureComparison, n="n", d="d")
MACHINE_CONSTRAINTS: dict[str, Any] = {
    "kernel": KERNEL_CONSTRAINTS,
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": GAMMA_CONSTRAINTS,
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "C": [Interval(Real, 0.0, None, closed="right")],
    "shrinking": ["boolean"],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "scaling": [StrOptions({"sum", "mean"})],
    "fit_intercept": ["boolean"],
    "time_limit": [Interval(Real, 0.0, None, closed="left"), None],
    "warm_start": ["boolean"],
    "callback": [callable, None],
    "approximate": APPROXIMATE,
}


class SupportVectorMachine(KernelHolder, BaseEstimator):
    """Parameters, checks and attributes that SVC and SVR have in common."""

    _parameter_constraints: ClassVar[dict[str, Any]] = MACHINE_CONSTRAINTS

    kernel: Any
    degree: int
    gamma: Any
    coef0: float
    tol: float
    C: float
    shrinking: bool
    cache_size: float
    verbose: Any
    max_iter: int
    scaling: str
    fit_intercept: bool
    time_limit: float | None
    warm_start: bool
    callback: Any
    approximate: Any

    approximation_: Approximation
    support_: Array
    support_vectors_: Any
    dual_coef_: Any
    intercept_: Array
    shape_fit_: tuple[int, ...]
    fit_status_: int
    _dual_coef_: Any
    _intercept_: Array
    _n_support: Array
    _comparison: Any
    _sparse: bool
    _gamma: float
    _fitted_price: float

    # Validation.

    def _validate(self, X: Any, y: Any, *, numeric: bool) -> tuple[Any, Any]:
        """Return X as numbers, unless the kernel compares other objects, and y as a vector."""
        check_has_target(self, y)
        if is_sparse(X) and is_precomputed(self.kernel):
            raise TypeError("Sparse precomputed kernels are not supported. Give K.toarray().")
        self._sparse = (is_sparse(X) or isinstance(X, Encoded)) and not self._has_function_kernel()
        if self._accepts_objects():
            _check_lengths(X, y)
            check_target(y, numeric=numeric)
            return X, column_or_1d(y, warn=True)
        X, y = check_rows(self, X, y, reset=True, y_numeric=numeric, **self._validation_options(X))
        check_finite(self, X)
        return X, y

    def _validation_options(self, X: Any) -> dict[str, Any]:
        """Return options of the validation: encoded rows become the form that the fit had."""
        sparse = "csr" if self._sparse or is_sparse(X) else False
        return {"dtype": np.float64, "order": "C", "accept_sparse": sparse, "accept_large_sparse": False}

    def _has_function_kernel(self) -> bool:
        """Return whether the kernel is a function of the user."""
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)

    def _accepts_objects(self) -> bool:
        """Return whether rows may be objects other than numbers, which only the kernel can check."""
        if self._has_function_kernel() or is_precomputed(self.kernel):
            return self._has_function_kernel()
        if isinstance(self.kernel, str):
            return _named_accepts_objects(self.kernel)
        # only a kernel made of a user's function may be asymmetric
        return not (self.kernel.numeric and self.kernel.symmetric)

    def _compute_bounds(self, weight: Array, factor: Array | float = 1.0) -> Array:
        """Return C of every row: C times its weight, over the sum of weights for the mean loss (lecture 1)."""
        if self.scaling == "mean":
            weight = weight / weight.max()  # so that the sum is finite
            weight = weight / weight.sum()
        share = weight * factor
        with np.errstate(over="ignore", invalid="ignore"):  # C may be infinite, but 0 · ∞ is 0 here
            return np.where(share > 0, float(self.C) * share, 0.0)

    # Preparing rows for the solver.

    def _prepare(self, X: Any, kept: Array, groups: Sequence[Array] = (np.zeros(0, dtype=int),)) -> TrainingRows:
        """Prepare the `kept` rows for the solver.

        `groups` has the positions of the rows of each class among them, where pairs of classes have machines.
        """
        whole = np.array_equal(kept, np.arange(count(X)))
        self._gamma = 0.0
        if self.approximate is not None:
            return self._prepare_by_features(X, X if whole else take(X, kept), groups)
        if is_precomputed(self.kernel):
            check_kernel_matrix(X, "the kernel matrix")
            return prepare_by_matrix(X if whole else X[np.ix_(kept, kept)], Precomputed, groups=groups)
        if self._has_function_kernel():
            if (K := whole_matrix(self.kernel, X)) is not None:
                K = K if whole else K[np.ix_(kept, kept)]
                return prepare_by_matrix(K, lambda numbers: ByFunction(self.kernel, X, numbers), groups=groups)
            kernel: Kernel = FromFunction(self.kernel, by_rows=True)
        else:
            kernel = self._choose_kernel(X)
        return self._prepare_by_kernel(kernel, X if whole else take(X, kept), X, groups)

    def _prepare_by_kernel(self, kernel: Kernel, rows: Any, X: Any, groups: Sequence[Array]) -> TrainingRows:
        return prepare_by_kernel(
            kernel,
            rows,
            X,
            groups=groups,
            cache_bytes=int(self.cache_size * 2**20),
            intercept=bool(self.fit_intercept),
        )

    def _prepare_by_features(self, X: Any, rows: Any, groups: Sequence[Array]) -> TrainingRows:
        """Prepare rows by features that approximate the kernel, or by the kernel where that is not worthwhile."""
        if is_precomputed(self.kernel):
            raise KernelError(
                "approximate needs rows to compare, but kernel='precomputed' has all of their kernel matrix already; "
                "give X and a kernel, or approximate=None."
            )
        if self._has_function_kernel():
            kernel: Kernel = FromFunction(self.kernel)
        else:
            kernel = self._choose_kernel(X)
        centre = find_centre(kernel, rows) if self.fit_intercept else None
        centred = rows if centre is None else rows - centre
        map = (
            self.approximate.map
            if isinstance(self.approximate, FittedFeatures)
            else fit_feature_map(self, kernel, centred)
        )
        if map is None:
            return self._prepare_by_kernel(kernel, rows, X, groups)
        return prepare_by_features(kernel, map, centred, X, groups, centre)

    def _choose_kernel(self, X: Any) -> Kernel:
        kernel = choose_kernel(self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        self._gamma = float(getattr(kernel, "gamma", None) or 0.0)
        return kernel

    def _warm_start(self, n: int, machines: int) -> Array | None:
        """Return the coefficients of the last fit, scaled with C, if `warm_start` and the fit had as many rows."""
        if not (self.warm_start and hasattr(self, "_dual_coef_")):
            return None
        columns = self._columns()
        if (self.shape_fit_[0], columns.shape[1]) != (n, machines):
            return None
        growth = self.C / self._fitted_price
        start = np.zeros((n, machines))
        start[self.support_] = columns * (growth if np.isfinite(growth) else 1.0)
        return start

    def _columns(self) -> Array:
        """Return the coefficients of the support vectors, a column for each machine."""
        return to_dense(self._dual_coef_).T

    # Storing.

    def _store_support(
        self, X: Any, training: TrainingRows, kept: Array, found: Array, dual: Array, machines: Machines
    ) -> None:
        """Store the support vectors, by their positions `found` among the rows kept, and their coefficients with
        libsvm's signs.
        """
        numbers = kept[found]
        self.support_ = numbers.astype(np.int32)
        self._comparison = training.comparison(numbers)
        has_rows = isinstance(self._comparison, ByKernel | FeatureComparison)
        self.support_vectors_ = self._comparison.support if has_rows else np.empty((0, 0))
        self._dual_coef_ = _store_all_as_csr(dual) if self._sparse else dual
        self._fitted_price = self.C
        self.shape_fit_ = np.shape(X) if hasattr(X, "shape") else (count(X),)
        self.diagnosis_ = training.definite
        if training.features is not None:
            self._comparison = replace(self._comparison, weights=machines.weights)
        self.plan_ = _make_plan(training)

    def _shift_to_data(self, intercepts: Array) -> Array:
        """Return intercepts for the rows as given, from those for rows less their centre."""
        comparison = self._comparison
        if not isinstance(comparison, ByKernel | FeatureComparison) or comparison.centre is None:
            return intercepts
        return np.asarray(intercepts - comparison.matvec(comparison.centre[None, :], self._columns())[0])

    def _solve(self, problems: Iterable[tuple[BoxProblem, Array | None]]) -> Machines:
        """Solve each problem from its start with the limits that the parameters set."""
        return solve_machines(
            problems,
            name=type(self).__name__,
            verbose=self.verbose,
            callback=self.callback,
            tolerance=float(self.tol),
            max_iter=int(self.max_iter),
            time_limit=self.time_limit,
        )

    def _store_approximation(self, X: Any, kept: Array, y: Array, weight: Array, machines: Machines) -> None:
        """Store `approximation_` where features stand for the kernel; y and weight belong to the rows kept."""
        self.__dict__.pop("approximation_", None)
        is_fitted, comparison = isinstance(self.approximate, FittedFeatures), self._comparison
        if isinstance(comparison, FeatureComparison) and not is_fitted and not machines.interrupted:
            try:
                self.approximation_ = assess_features(self, comparison.centre_rows(take(X, kept)), y, weight)
            except KeyboardInterrupt:  # of a fit to a sample, too: the fit to all rows is complete
                machines.interrupted = True

    def _finish(self, machines: Machines) -> None:
        """Store the certificate, then raise the interruption or warn, in scikit-learn's words where it has them."""
        self.certificate_ = machines.worst
        self.fit_status_ = 0 if machines.worst.holds else 1
        if machines.interrupted:
            raise FitInterrupted(STOPPED, machines.solutions)
        self._warn(machines.worst)

    def _warn(self, worst: Certificate) -> None:
        if not self.diagnosis_.holds:
            found = (
                "The features leave out its negative part"
                if isinstance(self._comparison, FeatureComparison)
                else "The result is a point at which no pair of coefficients can improve, not the optimum"
            )
            warn(
                f"{self.diagnosis_.sentence} {found}; use a positive definite kernel, e.g. RBF.",
                IndefiniteKernelWarning,
            )
        if worst.holds:
            return
        warn(f"{self._explain_end()} {worst}", ConvergenceWarning)

    def _explain_end(self) -> str:
        if self.time_limit is not None or self.callback is not None:
            return "The fit was stopped before its tolerance was reached; raise time_limit or max_iter, or lower C."
        if self.max_iter >= 0:
            return (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with "
                "StandardScaler or MinMaxScaler."
            )
        return "The fit ended before its tolerance was reached; raise tol, lower C, or scale the columns."

    # Predicting.

    def _validate_new(self, X: Any) -> Any:
        """Return X in the form that the fit had: numbers, sparse or dense, or objects."""
        check_is_fitted(self)
        name = type(self).__name__
        if self._accepts_objects():
            return X
        X = check_rows(self, X, reset=False, **self._validation_options(X))
        if is_sparse(X) and not self._sparse:
            raise DataError(f"cannot use sparse input in {name!r} trained on dense data. Give X.toarray().")
        check_finite(self, X)
        return sp.csr_matrix(X) if self._sparse else X

    def _scores(self, X: Any, columns: Array) -> Array:
        """Return the kernel matrix times coefficients, plus intercepts."""
        X = self._validate_new(X)
        self._check_counts()
        if not len(columns):
            return np.tile(self._intercept_, (count(X), 1))
        return np.asarray(self._comparison.matvec(X, columns) + self._intercept_)

    def _check_counts(self) -> None:
        support = self.support_vectors_
        if isinstance(self._comparison, ByKernel) and not self._sparse and self.n_support_.sum() != count(support):
            raise DataError(
                f"The internal representation of {type(self).__name__} was altered: it has {count(support)} support "
                f"vectors, but n_support_ counts {self.n_support_.sum()}. Fit it again."
            )

    @property
    def n_support_(self) -> Array:
        """Number of support vectors, for each class where there are classes."""
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise AttributeError(str(error)) from None
        return self._n_support

    @property
    def coef_(self) -> Any:
        """Weights of the columns for a linear kernel; read-only."""
        if not isinstance(self.kernel, Linear) and (callable(self.kernel) or self.kernel != "linear"):
            raise AttributeError("coef_ is only available when using a linear kernel; use decision_function.")
        coef = self._compute_coef()
        (coef.data if is_sparse(coef) else coef).flags.writeable = False
        return coef

    def _compute_coef(self) -> Any:
        if isinstance(self._comparison, FeatureComparison):
            return self._comparison.columns().T
        return self._dual_coef_ @ self.support_vectors_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        return tags


@cache
def _named_accepts_objects(name: str) -> bool:
    """Return whether a kernel that is called by its name compares objects other than rows of numbers."""
    return not kernel_from(name).numeric


def _check_lengths(X: Any, y: Any) -> None:
    """Raise if X and y have different lengths or none: objects cannot be validated further."""
    try:
        check_consistent_length(X, y)
    except (TypeError, ValueError) as error:
        raise DataError(f"{error}. Give a sequence of objects to compare, and one y for each.") from None
    if not count(X):
        raise EmptyDataError("Found array with 0 sample(s) while a minimum of 1 is required. Check how X was read.")


def _make_plan(training: TrainingRows) -> Plan:
    if training.features is not None:
        n_features = training.features.features.shape[1]
        path = f"support vectors on {n_features} features of the kernel, by Newton's method"
    else:
        how = "by tiles" if training.matrix is None else "in memory"
        path = f"support vectors by decomposition, kernel rows {how}"
    return Plan(path, training.dtype, 1, thread_count(), exact=training.features is None)


def _store_all_as_csr(dual: Array) -> Any:
    """Return a CSR matrix that stores every coefficient, also zeros, as scikit-learn does."""
    if not dual.size:
        return sp.csr_matrix(dual)
    rows, columns = dual.shape
    return sp.csr_matrix((dual.ravel(), np.tile(np.arange(columns), rows), np.arange(rows + 1) * columns), dual.shape)


def to_dense(coefficients: Any) -> Array:
    """Return coefficients as an array."""
    return np.asarray(coefficients.toarray() if is_sparse(coefficients) else coefficients)
