"""What support vector classification and regression share: rows in, kernel rows for the solver, support vectors out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._errors import DataError, EmptyDataError, FitInterrupted, IndefiniteKernelWarning, KernelError
from mercer._threads import thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.kernel_choice import GAMMA_CONSTRAINTS, KERNEL_CONSTRAINTS, chosen_kernel, is_precomputed
from mercer.base.kernel_comparison import ByFunction, ByKernel, Precomputed, refuse_no_kernel_matrix, whole_matrix
from mercer.base.progress import StoppedByCallback, Watch, line
from mercer.base.validation import Plan, checked, is_sparse, refuse_no_target, refuse_not_finite, refuse_spoilt_target
from mercer.kernel_approximation.approximate import APPROXIMATE, Approximation, features_for
from mercer.kernels import FromFunction, Kernel, KernelHolder, Linear, kernel_from
from mercer.kernels.inputs import count, take
from mercer.matrices import Encoded
from mercer.optim.certificate import Certificate, Solution
from mercer.svm import _dual as dual
from mercer.svm import feature_machine
from mercer.svm._approximate import ByFeatures, KnownFeatures, by_features, described
from mercer.svm._box_problem import BoxPoint, BoxProblem, BoxProgress, Margins
from mercer.svm._training import MachineTraining, by_kernel, by_matrix, centre_of
from mercer.svm.feature_machine import FeatureRows

# Solving the machines of a model one after the other, with progress and limits; a fit that is stopped is kept.


@dataclass(eq=False)
class Machines:
    """What a fit has found: a solution for each machine, and the interruption if there was one."""

    solutions: list[Solution] = field(default_factory=list)
    interruption: FitInterrupted | None = None

    @property
    def worst(self) -> Certificate:
        """The certificate of the machine that is furthest from its optimum."""
        return max((solution.certificate for solution in self.solutions), key=lambda certificate: certificate.value)

    @property
    def intercepts(self) -> Array:
        return np.array([solution.value.intercept for solution in self.solutions], dtype=float)

    @property
    def weights(self) -> Array:
        """w of each machine in a column, where rows have features; 0 of those not begun."""
        found = [solution.value.weights for solution in self.solutions]
        size = max(len(weights) for weights in found if weights is not None)
        return np.column_stack([np.zeros(size) if weights is None else weights for weights in found])

    @property
    def iterations(self) -> list[int]:
        return [int(solution.value.steps) for solution in self.solutions]


def solved(
    problems: Iterable[tuple[BoxProblem, Array | None]],
    *,
    name: str,
    verbose: Any,
    callback: Callable[[Any], Any] | None,
    tolerance: float,
    max_iter: int,
    time_limit: float | None,
) -> Machines:
    """The solution of each problem, from its start; once stopped, the remaining ones stay at zero.

    Ctrl-C is kept in `interruption`, to be raised again when the machines are stored; that a callback ended the fit is
    no error.
    """
    machines, started = Machines(), perf_counter()
    with _watched(name, verbose, callback) as watch:
        stopped = False
        for problem, start in problems:
            if stopped:
                machines.solutions.append(_not_begun(len(problem.target), tolerance))
                continue
            left = None if time_limit is None else max(0.0, time_limit - (perf_counter() - started))
            try:
                solve = feature_machine.solve if isinstance(problem.rows, FeatureRows) else dual.solve
                solution = solve(
                    problem,
                    tolerance=tolerance,
                    start=start,
                    max_iter=max_iter,
                    time_limit=left,
                    callback=watch.progress,
                )
            except FitInterrupted as interruption:
                solution, stopped = interruption.solution, True
                machines.interruption = None if watch.stopped else interruption
            _refuse_overflow(solution.value)
            machines.solutions.append(solution)
    return machines


def _refuse_overflow(point: BoxPoint) -> None:
    if not (np.isfinite(point.intercept) and np.isfinite(point.scores).all()):
        raise DataError(
            "The dual coefficients or intercepts are not finite. The input data may contain large values and need to "
            "be preprocessed. The kernel exceeds the range of numbers on these rows; divide the columns by their "
            "scale, e.g. with StandardScaler, or lower gamma or degree."
        )


def _not_begun(n: int, tolerance: float) -> Solution:
    certificate = Margins("KKT", np.inf, tolerance, "the fit was stopped before this machine was begun")
    return Solution(BoxPoint(np.zeros(n), 0.0, np.zeros(n)), certificate, ())


@contextmanager
def _watched(name: str, verbose: Any, callback: Callable[[Any], Any] | None) -> Iterator[Watch]:
    """A line on the terminal, and a function of the user."""
    own: list[Callable[..., Any]] = [] if callback is None else [partial(_ask, callback)]
    with line(name, _of_step) if verbose else nullcontext() as show:
        yield Watch(own if show is None else [show, *own])


def _ask(callback: Callable[[Any], Any], progress: BoxProgress) -> None:
    """Tell the user, who may end the fit by answering True."""
    if isinstance(answer := callback(progress), bool | np.bool_) and answer:
        raise StoppedByCallback


def _of_step(told: BoxProgress) -> str:
    return f"{told.iterations} steps, KKT violation {told.violation:.1e}, gap {told.gap:.1e}, {told.seconds:.1f} s"


CONSTRAINTS: dict[str, Any] = {
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
    """Parameters, checks and attributes of both machines."""

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

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

    # Rows in.

    def _checked(self, X: Any, y: Any, *, numeric: bool) -> tuple[Any, Any]:
        """X as numbers, unless the kernel compares other things, and y as a vector."""
        refuse_no_target(self, y)
        if is_sparse(X) and is_precomputed(self.kernel):
            raise TypeError("Sparse precomputed kernels are not supported. Give K.toarray().")
        self._sparse = (is_sparse(X) or isinstance(X, Encoded)) and not self._calls_back()
        if self._takes_anything():
            _refuse_other_lengths(X, y)
            refuse_spoilt_target(y, numeric=numeric)
            return X, column_or_1d(y, warn=True)
        X, y = checked(self, X, y, reset=True, y_numeric=numeric, **self._form(X))
        refuse_not_finite(self, X)
        return X, y

    def _form(self, X: Any) -> dict[str, Any]:
        """How rows are asked for; encoded ones in the form that the fit had."""
        sparse = "csr" if self._sparse or is_sparse(X) else False
        return {"dtype": np.float64, "order": "C", "accept_sparse": sparse, "accept_large_sparse": False}

    def _calls_back(self) -> bool:
        """Whether the kernel is a function of the user's."""
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)

    def _takes_anything(self) -> bool:
        """Whether rows need not be numbers, so that nobody but the kernel can check them."""
        if self._calls_back() or is_precomputed(self.kernel):
            return self._calls_back()
        kernel = kernel_from(self.kernel)
        # a kernel made of a function of the user's is the one kind whose symmetry is not certain
        return not (kernel.numeric and kernel.symmetric)

    def _bounds(self, weight: Array, factor: Array | float = 1.0) -> Array:
        """C of every row: C times its weight, divided by the sum of weights if the mean loss is meant (lecture 1)."""
        if self.scaling == "mean":
            weight = weight / weight.max()  # the sum of which is a number
            weight = weight / weight.sum()
        share = weight * factor
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite price is one, but not of what does not count
            return np.where(share > 0, float(self.C) * share, 0.0)

    # Rows compared.

    def _training(self, X: Any, kept: Array, groups: Sequence[Array] = (np.zeros(0, dtype=int),)) -> MachineTraining:
        """The `kept` rows ready to be compared, with the numbers of those of each class where pairs of them will be."""
        whole = np.array_equal(kept, np.arange(count(X)))
        self._gamma = 0.0
        if self.approximate is not None:
            return self._approximated(X, X if whole else take(X, kept), groups)
        if is_precomputed(self.kernel):
            refuse_no_kernel_matrix(X, "the kernel matrix")
            return by_matrix(X if whole else X[np.ix_(kept, kept)], Precomputed, groups=groups)
        if self._calls_back():
            if (K := whole_matrix(self.kernel, X)) is not None:
                K = K if whole else K[np.ix_(kept, kept)]
                return by_matrix(K, lambda numbers: ByFunction(self.kernel, X, numbers), groups=groups)
            kernel: Kernel = FromFunction(self.kernel, by_rows=True)
        else:
            kernel = self._chosen(X)
        return self._by_kernel(kernel, X if whole else take(X, kept), X, groups)

    def _by_kernel(self, kernel: Kernel, rows: Any, X: Any, groups: Sequence[Array]) -> MachineTraining:
        return by_kernel(
            kernel,
            rows,
            X,
            groups=groups,
            cache_bytes=int(self.cache_size * 2**20),
            intercept=bool(self.fit_intercept),
        )

    def _approximated(self, X: Any, rows: Any, groups: Sequence[Array]) -> MachineTraining:
        """The rows seen through features that approximate the kernel, unless that is not worth while."""
        if is_precomputed(self.kernel):
            raise KernelError(
                "approximate needs rows to compare, but kernel='precomputed' has all of their kernel matrix already; "
                "give X and a kernel, or approximate=None."
            )
        if self._calls_back():
            kernel: Kernel = FromFunction(self.kernel)
        else:
            kernel = self._chosen(X)
        asked = self.approximate
        centre = centre_of(kernel, rows) if self.fit_intercept else None
        near = rows if centre is None else rows - centre
        map = asked.map if isinstance(asked, KnownFeatures) else features_for(self, kernel, near)
        if map is None:
            return self._by_kernel(kernel, rows, X, groups)
        return by_features(kernel, map, near, X, groups, centre)

    def _chosen(self, X: Any) -> Kernel:
        kernel = chosen_kernel(self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        self._gamma = float(getattr(kernel, "gamma", None) or 0.0)
        return kernel

    def _start(self, n: int, machines: int) -> Array | None:
        """Coefficients to begin with: those of the last fit to as many rows, grown with C, if they are wanted."""
        if not (self.warm_start and hasattr(self, "_dual_coef_")):
            return None
        columns = self._columns()
        if (self.shape_fit_[0], columns.shape[1]) != (n, machines):
            return None
        grown = self.C / self._fitted_price
        start = np.zeros((n, machines))
        start[self.support_] = columns * (grown if np.isfinite(grown) else 1.0)
        return start

    def _columns(self) -> Array:
        """Coefficients of the support vectors, a column for each machine."""
        return dense(self._dual_coef_).T

    # Support vectors out.

    def _store_support(
        self, X: Any, training: MachineTraining, kept: Array, found: Array, dual: Array, machines: Machines
    ) -> None:
        """Support vectors, by their numbers among the rows kept, and their coefficients as libsvm signs them."""
        numbers = kept[found]
        self.support_ = numbers.astype(np.int32)
        self._comparison = training.comparison(numbers)
        has_rows = isinstance(self._comparison, ByKernel | ByFeatures)
        self.support_vectors_ = self._comparison.support if has_rows else np.empty((0, 0))
        self._dual_coef_ = _filled_csr(dual) if self._sparse else dual
        self._fitted_price = self.C
        self.shape_fit_ = np.shape(X) if hasattr(X, "shape") else (count(X),)
        self.diagnosis_ = training.definite
        if training.features is not None:
            self._comparison = replace(self._comparison, weights=machines.weights)
        self.plan_ = _plan(training)

    def _moved(self, intercepts: Array) -> Array:
        """Intercepts for the rows as they are, from those the solver has found for rows without their centre."""
        comparison = self._comparison
        if not isinstance(comparison, ByKernel | ByFeatures) or comparison.centre is None:
            return intercepts
        return np.asarray(intercepts - comparison.times(comparison.centre[None, :], self._columns())[0])

    def _solved(self, problems: Iterable[tuple[BoxProblem, Array | None]]) -> Machines:
        """Each problem solved from its start, as the parameters ask."""
        return solved(
            problems,
            name=type(self).__name__,
            verbose=self.verbose,
            callback=self.callback,
            tolerance=float(self.tol),
            max_iter=int(self.max_iter),
            time_limit=self.time_limit,
        )

    def _describe(self, X: Any, kept: Array, y: Array, weight: Array, machines: Machines) -> None:
        """Set `approximation_` where features stood for the kernel; y and weight are of the rows kept."""
        self.__dict__.pop("approximation_", None)
        known, comparison = isinstance(self.approximate, KnownFeatures), self._comparison
        if isinstance(comparison, ByFeatures) and not known and machines.interruption is None:
            self.approximation_ = described(self, comparison.centred(take(X, kept)), y, weight)

    def _finish(self, machines: Machines) -> None:
        """Say how it went, in scikit-learn's words where it has them; raise what ended the fit, now it is stored."""
        self.certificate_ = machines.worst
        self.fit_status_ = 0 if machines.worst.holds else 1
        if machines.interruption is not None:
            raise machines.interruption
        self._warn(machines.worst)

    def _warn(self, worst: Certificate) -> None:
        if not self.diagnosis_.holds:
            found = (
                "Features leave out what is negative in it"
                if isinstance(self._comparison, ByFeatures)
                else "What was found is a point at which no pair of coefficients helps, not the optimum"
            )
            warn(
                f"{self.diagnosis_.sentence} {found}; use a positive definite kernel, e.g. RBF.",
                IndefiniteKernelWarning,
            )
        if worst.holds:
            return
        warn(f"{self._why_it_ended()} {worst}", ConvergenceWarning)

    def _why_it_ended(self) -> str:
        if self.time_limit is not None or self.callback is not None:
            return "The fit was stopped before its tolerance was reached; raise time_limit or max_iter, or lower C."
        if self.max_iter >= 0:
            return (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with "
                "StandardScaler or MinMaxScaler."
            )
        return "The fit ended before its tolerance was reached; raise tol, lower C, or scale the columns."

    # Predicting.

    def _validated(self, X: Any) -> Any:
        """X as the fit had it: numbers, sparse or dense alike, or things."""
        check_is_fitted(self)
        name = type(self).__name__
        if self._takes_anything():
            return X
        X = checked(self, X, reset=False, **self._form(X))
        if is_sparse(X) and not self._sparse:
            raise DataError(f"cannot use sparse input in {name!r} trained on dense data. Give X.toarray().")
        refuse_not_finite(self, X)
        return sp.csr_matrix(X) if self._sparse else X

    def _scores(self, X: Any, columns: Array) -> Array:
        """Kernel times coefficients, plus intercepts."""
        X = self._validated(X)
        self._refuse_altered_counts()
        if not len(columns):
            return np.tile(self._intercept_, (count(X), 1))
        return np.asarray(self._comparison.times(X, columns) + self._intercept_)

    def _refuse_altered_counts(self) -> None:
        support = self.support_vectors_
        if isinstance(self._comparison, ByKernel) and not self._sparse and self.n_support_.sum() != count(support):
            raise DataError(
                f"The internal representation of {type(self).__name__} was altered: it has {count(support)} support "
                f"vectors, but n_support_ counts {self.n_support_.sum()}. Fit it again."
            )

    @property
    def n_support_(self) -> Array:
        """Number of support vectors, of each class where there are classes."""
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise AttributeError(str(error)) from None
        return self._n_support

    @property
    def coef_(self) -> Any:
        """Weights of the columns, where the kernel is linear; read-only."""
        if not isinstance(self.kernel, Linear) and (callable(self.kernel) or self.kernel != "linear"):
            raise AttributeError("coef_ is only available when using a linear kernel; use decision_function.")
        coef = self._primal()
        (coef.data if is_sparse(coef) else coef).flags.writeable = False
        return coef

    def _primal(self) -> Any:
        if isinstance(self._comparison, ByFeatures):
            return self._comparison.columns().T
        return self._dual_coef_ @ self.support_vectors_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        return tags


def _refuse_other_lengths(X: Any, y: Any) -> None:
    """Things cannot be checked, but counted."""
    try:
        check_consistent_length(X, y)
    except (TypeError, ValueError) as refusal:
        raise DataError(f"{refusal}. Give a sequence of things to compare, and one y for each.") from None
    if not count(X):
        raise EmptyDataError("Found array with 0 sample(s) while a minimum of 1 is required. Look at how X was read.")


def _plan(training: MachineTraining) -> Plan:
    if training.features is not None:
        many = training.features.features.shape[1]
        path = f"support vectors on {many} features of the kernel, by Newton's method"
    else:
        how = "by tiles" if training.matrix is None else "in memory"
        path = f"support vectors by decomposition, kernel rows {how}"
    return Plan(path, training.dtype, 1, thread_count(), exact=training.features is None)


def _filled_csr(dual: Array) -> Any:
    """Every coefficient stored, also those that are 0, as scikit-learn has them."""
    if not dual.size:
        return sp.csr_matrix(dual)
    rows, columns = dual.shape
    return sp.csr_matrix((dual.ravel(), np.tile(np.arange(columns), rows), np.arange(rows + 1) * columns), dual.shape)


def dense(coefficients: Any) -> Array:
    """Coefficients written out."""
    return np.asarray(coefficients.toarray() if is_sparse(coefficients) else coefficients)
