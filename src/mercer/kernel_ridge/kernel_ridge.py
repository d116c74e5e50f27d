"""Kernel ridge regression: least squares with an L2 penalty on a function of a kernel.

Kernel, penalty and width may be chosen by leave-one-out or generalised cross-validation errors in closed form, and
features may approximate the kernel (`approximate=…`, lecture 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError, KernelError, PenaltyError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._stored import either, floats, optional, part_of, real, reals, stored
from mercer._threads import row_blocks, thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Question, kernel_choice, traits
from mercer.base.fitted_fields import FITTED, FITTED_KERNEL_ROWS
from mercer.base.kernel_choice import (
    KERNEL_CONSTRAINTS,
    is_precomputed,
    kernel_of_function,
    named_kernel,
    plain_kernel,
    width_of,
)
from mercer.base.kernel_comparison import check_kernel_matrix
from mercer.base.kernel_rows import check_kernel_rows, check_row_weight, fetch_row_values, kernel_plan, rows_for_gamma
from mercer.base.linear import r_squared
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    Plan,
    check_finite_targets,
    check_has_target,
    check_is_fitted,
    fetch_tensor,
    forget_fit,
    is_sparse,
    raise_if_interrupted,
    restore_on_failure,
    tensor_plan,
    validate_params,
)
from mercer.families import IDENTITY, Gaussian
from mercer.families.response import Response
from mercer.kernel_approximation.approximate import APPROXIMATE, Map, choose_transformer, fit_map_of
from mercer.kernel_approximation.function import Function, KernelFunction
from mercer.kernel_approximation.nystroem_map import LandmarkMap
from mercer.kernel_ridge.objectives import KERNEL_FIT_STEPS, KERNEL_FIT_TOLERANCE
from mercer.kernels import Kernel, KernelHolder
from mercer.kernels.gram import GRAM_TILE_SIDE
from mercer.kernels.inputs import take
from mercer.linear_model.glm_response import MeanResponse
from mercer.linear_model.glm_solve import SolverLimits
from mercer.linear_model.kernel_fit import (
    KernelData,
    KernelFit,
    KernelProblemSpec,
    fit_kernel,
    kernel_convergence_warnings,
)
from mercer.linear_model.least_squares import checked_penalties
from mercer.linear_model.ridge import squared_errors
from mercer.matrices.mapped import MappedMatrix
from mercer.optim.certificate import Solution
from mercer.optim.leave_one_out import TallSpectrum, WideSpectrum, candidate_penalties, index_of_least
from mercer.optim.span.mapped_newton import MappedFit
from mercer.optim.span.mapped_ridge import MappedEigenvalues, MappedRidge
from mercer.optim.span.ridge import DualFit, kernel_ridge, solve_by_eigenvalues
from mercer.optim.span.spectrum import Eigenvalues, decompose_kernel
from mercer.optim.span.system import RidgeSystem
from mercer.optim.span.tensor_ridge import kernel_ridge as on_device

#: number of widths to try, with the one of the median distance in the middle
N_WIDTHS = 7
#: ratio of each width to the one before
WIDTH_FACTOR = 4.0


def make_kernel(model: Any, X: Any, gamma: Any) -> Kernel:
    """Return the kernel of a model with another gamma: a number, None, or a rule that uses X."""
    kernel = model.kernel
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return kernel_of_function(kernel, model.kernel_params)
    width = gamma if gamma is None else width_of(gamma, X)
    return named_kernel(kernel, X, gamma=width, degree=model.degree, coef0=model.coef0)


def is_choice_of_gamma(gamma: Any) -> bool:
    """Return whether gamma is to be chosen: "loo", or several values."""
    return gamma == "loo" if isinstance(gamma, str) else gamma is not None and np.ndim(gamma) > 0


def candidate_widths(model: Any, X: Any) -> Array:
    """Return the widths to try."""
    if isinstance(model.gamma, str):
        middle = width_of("median", X)
        return np.asarray(middle * WIDTH_FACTOR ** np.arange(-(N_WIDTHS // 2), N_WIDTHS // 2 + 1))
    tried = np.asarray(model.gamma)
    if (
        tried.ndim != 1
        or not len(tried)
        or tried.dtype.kind not in "uif"
        or not (np.isfinite(tried) & (tried >= 0)).all()
    ):
        raise DataError(f"gamma must be a number, or several in one dimension, none negative; got {model.gamma!r}.")
    return np.asarray(tried, dtype=float)


def kernel_with_width(model: Any, X: Any, gamma: float) -> Kernel:
    """Return the kernel with one of the widths."""
    kernel = None if model.kernel_ is None else make_kernel(model, X, gamma)
    if kernel is None or "gamma" not in kernel.get_params(deep=False):
        name = "a precomputed matrix" if kernel is None else repr(kernel)
        raise KernelError(
            f"{name} has no gamma that could be chosen by leaving rows out; leave gamma out, or search over kernels "
            "with GridSearchCV."
        )
    return kernel.replaced(gamma=gamma)


@dataclass(frozen=True, eq=False)
class RidgeData:
    """Rows, or their kernel matrix; targets of shape (n, targets); and weights."""

    X: Any
    Y: Array
    weight: Array | None

    @cached_property
    def weighted_rows(self) -> Array:
        """Return the rows with a weight; others have the coefficient 0."""
        return np.arange(len(self.Y)) if self.weight is None else np.flatnonzero(self.weight)

    @cached_property
    def unit(self) -> float:
        """Return a power of 2 about as large as the targets, whose squares may overflow."""
        largest = float(np.abs(self.Y).max(initial=0.0))
        return 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0

    def squared(self, errors: Array) -> Array:
        """Return squared errors in the units of the targets; inf where these overflow."""
        with np.errstate(over="ignore"):
            return np.asarray(errors * self.unit * self.unit)

    @cached_property
    def rows(self) -> Any:
        """Return the rows with a weight."""
        return self.X if len(self.weighted_rows) == len(self.Y) else take(self.X, self.weighted_rows)

    @cached_property
    def data(self) -> KernelData:
        """Return the targets of these rows, scaled to about 1, and their weights."""
        return KernelData(self.Y / self.unit, self.weight).take(self.weighted_rows)

    def system(self, kernel: Kernel | None) -> RidgeSystem:
        """Return the linear system for a kernel; without one, X is its matrix."""
        Y, weight, weighted_rows = self.data.y, self.data.weight, self.weighted_rows
        if kernel is None:
            return RidgeSystem.of_matrix(
                self.X if len(weighted_rows) == len(self.Y) else self.X[np.ix_(weighted_rows, weighted_rows)], Y, weight
            )
        return RidgeSystem.of(kernel, self.rows, Y, weight)

    def complete(self, solution: Solution) -> Solution:
        """Return a solution with coefficients for all rows, in the units of the targets."""
        coefficients = np.zeros(self.Y.shape)
        coefficients[self.weighted_rows] = self.unit * solution.coef.coefficients
        return replace(solution, coef=replace(solution.coef, coefficients=coefficients))


@stored(alpha=reals(), alphas=reals("a"), errors=reals("a"))
@dataclass(frozen=True, eq=False)
class TunedKernel:
    """A kernel with its best penalty, for each target, and the errors of all penalties tried."""

    kernel: Any
    eigenvalues: Eigenvalues | MappedEigenvalues
    alpha: Array  # (targets,)
    error: float
    alphas: Array
    errors: Array

    def left_out(self) -> Array:
        """Return the predictions of the rows, each from all others, of shape (n, targets)."""
        each = np.unique(self.alpha)
        errors = np.concatenate(list(self.eigenvalues.leave_one_out().errors(each, lambda found: found.values)))
        own = np.searchsorted(each, self.alpha)
        return np.asarray(self.eigenvalues.system.Y - errors[:, np.arange(len(own)), own])


def choose_kernel(
    systems: Iterable[tuple[Any, RidgeSystem | MappedRidge]], alpha: Any, method: str
) -> tuple[TunedKernel, Array]:
    """Return the kernel with the smallest error, and the errors of all; `alpha` is None where it is chosen too.

    Each kernel takes one decomposition, of which only the best one is kept.
    """
    best, errors = None, []
    for kernel, system in systems:
        tuned = _tune_penalty(kernel, system, alpha, method)
        errors.append(tuned.error)
        if best is None or tuned.error < best.error:
            best = tuned
        del tuned
    assert best is not None
    return best, np.array(errors)


def _tune_penalty(kernel: Any, system: RidgeSystem | MappedRidge, alpha: Any, method: str) -> TunedKernel:
    if len(system) < 2:
        raise DataError(
            f"Found array with {len(system)} sample(s) while a minimum of 2 is required to leave one out: n_samples = "
            "1. Give more rows, or a fixed alpha and gamma."
        )
    if alpha is not None and (alpha == 0).any():
        raise PenaltyError(
            "gamma is chosen by predicting each row from the others, for which alpha has to be above 0, but alpha is "
            "0. Give a small one such as 1e-6, or a single gamma."
        )
    decomposed = decompose_kernel(system) if isinstance(system, RidgeSystem) else system.decompose()
    spectrum = decomposed.leave_one_out()
    if alpha is None:
        alphas = candidate_penalties(spectrum)
        errors = _compute_errors(spectrum, alphas, method).mean(axis=1)
        best = index_of_least(spectrum, alphas, errors)
        return TunedKernel(
            kernel, decomposed, np.full(system.Y.shape[1], alphas[best]), float(errors[best]), alphas, errors
        )
    alphas, place = np.unique(alpha, return_inverse=True)
    errors = _compute_errors(spectrum, alphas, method)[place, np.arange(len(place))]
    return TunedKernel(kernel, decomposed, alpha, float(errors.mean()), alphas, np.array([errors.mean()]))


def _compute_errors(spectrum: WideSpectrum | TallSpectrum, alphas: Array, method: str) -> Array:
    """Return the errors of shape (penalties, targets)."""
    return spectrum.generalised_errors(alphas) if method == "gcv" else squared_errors(spectrum, spectrum.rows, alphas)


#: limits of a fit on features
FEATURE_LIMITS = SolverLimits(KERNEL_FIT_TOLERANCE, KERNEL_FIT_STEPS)


class RidgeFeatures(NamedTuple):
    """A kernel, and the features that approximate it."""

    kernel: Kernel
    map: Map


@dataclass(frozen=True, eq=False)
class ApproximateRidge:
    """The data of a fit on features, and the unfitted transformer, whatever the kernel will be."""

    task: RidgeData
    transformer: Any

    @classmethod
    def of(cls, model: Any, task: RidgeData) -> ApproximateRidge | None:
        """Return None where the model is exact."""
        if model.approximate is None:
            return None
        if is_precomputed(model.kernel):
            raise KernelError(
                "approximate needs rows to compare, but kernel='precomputed' has all of their kernel matrix already; "
                "give X and a kernel, or approximate=None."
            )
        transformer = choose_transformer(model, task.X)
        return None if transformer is None else cls(task, transformer)

    def features(self, kernel: Kernel) -> RidgeFeatures:
        return RidgeFeatures(kernel, fit_map_of(self.transformer, kernel, self.task.rows))

    def system(self, kernel: Kernel) -> tuple[RidgeFeatures, MappedRidge]:
        """Return the features of a kernel, and the problem by which penalties are chosen."""
        chosen = self.features(kernel)
        assert not isinstance(chosen.map, LandmarkMap)  # it is for tensors, for which nothing is chosen
        design = MappedMatrix(chosen.map.tiles(self.task.rows), chosen.map.back, intercept=False)
        return chosen, MappedRidge(design, self.task.data.y, self.task.data.weight)

    def fit(self, features: RidgeFeatures, alpha: Array, start: Array | None = None) -> KernelFit:
        """Solve, from coefficients of the features if there are any; targets are in units of the data."""
        kind = MeanResponse(Response(Gaussian(), IDENTITY))
        machine = KernelProblemSpec(features.kernel, kind, alpha, False, FEATURE_LIMITS, map=features.map)
        begin = None if start is None else MappedFit(start, np.zeros(0))
        return fit_kernel(machine, self.task.rows, self.task.data, start=begin)


#: formats of sparse rows that are not converted
SPARSE_FORMATS = ("csr", "csc")
#: penalties that a comparison tries where folds are needed, the usual one first
CANDIDATE_ALPHAS = (0.1, 0.001, 0.01, 1.0, 10.0, 100.0)


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of a target in standard units: there is no intercept.

    Leave-one-out errors have a closed form, but are too small if rows of the same group remain in the fit.
    """
    if question.has_texts:
        return
    searches = question.rows <= kernel_choice.MOST_ROWS_OF_EIGENVALUES
    alpha = "loo" if searches and question.inner is None else 0.1
    yield Candidate(
        KernelRidge(alpha=alpha, kernel="rbf", gamma="median"),
        72,
        "array",
        search=("alpha", CANDIDATE_ALPHAS) if searches and question.inner is not None else None,
        scale=question.is_sparse,
        standardize_target=True,
        most_rows=kernel_choice.MOST_ROWS_OF_FACTOR,
    )


@traits(
    "regression",
    kind="kernel",
    columns="points",
    candidates=_candidates,
    export="mercer.export.kernels.kernel_ridge",
    cost="mercer.cost.work.kernel_ridge",
    objective="mercer.kernel_ridge.objectives.raise_for_second_kernel",
)
@stored(
    **FITTED | FITTED_KERNEL_ROWS,
    kernel_=optional(part_of(Kernel)),
    _function=optional(part_of(n="n", d="d")),
    alpha_=either(real(), reals(".")),
    alphas_=reals("a"),
    alpha_errors_=reals("a"),
    gamma_=real(),
    gammas_=reals("g"),
    gamma_errors_=reals("g"),
    loo_predictions_=either(floats("n"), floats("n.")),
)
class KernelRidge(KernelHolder, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Kernel ridge regression, ‖y − f(X)‖² + alpha ‖f‖² for f(x) = Σ aᵢ k(x, xᵢ); scikit-learn's, with a certificate.

    There is no intercept: centre y, or add a constant to the kernel. Few rows are solved by Cholesky, many by conjugate
    gradients where these are faster; either way the residual of the linear system is at most 1e-8 of y.

    Parameters
    ----------
    alpha : float, array-like of shape (n_targets,), "loo" or "gcv", default=1
        Strength of the penalty, not negative; one for all targets or one for each. "loo" chooses the one with the
        smallest leave-one-out error, "gcv" the one with the smallest generalised cross-validation error, among up to 31
        that the data suggest; if several errors differ only by rounding, the largest of these penalties is taken. All
        are known from one eigendecomposition of the kernel matrix.
    kernel : str, Kernel or callable, default="linear"
        A name, which `gamma`, `degree` and `coef0` go with; a kernel of `mercer.kernels`, which has parameters of its
        own; a function of two rows or of two matrices; or "precomputed", where X is the kernel matrix.
    gamma : float, {"scale", "auto", "median", "loo"}, array-like or None, default=None
        γ of the kernel; None means its own default. "median" is that of the median distance. Of several numbers the
        one with the smallest error is chosen, together with `alpha`, at one decomposition for each; "loo" means
        seven around "median". An `alpha` that is given has to be above 0 then.
    degree : float, default=3
        Degree of a polynomial kernel.
    coef0 : float, default=1
        The constant of a polynomial or sigmoid.
    kernel_params : dict, default=None
        Additional arguments of a function that is the kernel.
    approximate : {"nystroem", "fourier", "auto"}, Nystroem, RandomFourierFeatures or None, default=None
        Features that approximate the kernel, for up to millions of rows. A transformer brings its own parameters; a
        name means about 2√n features. "auto" is exact where that takes only seconds. `approximation_` reports the
        loss of accuracy; `alpha` has to be above 0.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The a of every row; with Nyström features of every landmark, with Fourier features of every feature.
    X_fit_ : ndarray, sparse matrix or list
        Rows of the fit; the kernel matrix if `kernel` is "precomputed". With Nyström features the landmarks, with
        Fourier features None.
    kernel_ : Kernel or None
        The kernel used; None if `kernel` is "precomputed".
    alpha_ : float or ndarray of shape (n_targets,)
        The penalty used.
    gamma_ : float
        The γ chosen, if there were several.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties tried, if `alpha` is "loo" or "gcv".
    alpha_errors_ : ndarray of shape (n_alphas,)
        Their weighted mean squared errors, with the kernel used.
    gammas_, gamma_errors_ : ndarray of shape (n_gammas,)
        The γ tried, and the error of each with its best alpha, if there were several.
    loo_predictions_ : ndarray of the shape of y
        Prediction of each row from all others, if anything was chosen.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    approximation_ : Approximation
        Distance of the features from the kernel, if they approximate it.
    certificate_ : Certificate
        The residual of the linear system relative to y; with features that approximate the kernel, the distance from
        the optimum.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = KernelRidge(alpha="loo", kernel="rbf", gamma="loo").fit(X, np.sin(X[:, 0]))
    >>> abs(model.predict([[2.5]]) - np.sin(2.5)).round(4)
    array([0.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"loo", "gcv"})],
        "kernel": KERNEL_CONSTRAINTS,
        "gamma": [
            Interval(Real, 0, None, closed="left"),
            "array-like",
            StrOptions({"scale", "auto", "median", "loo"}),
            None,
        ],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "approximate": APPROXIMATE,
    }
    #: function of an approximate fit
    _function: Function | None = None

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        approximate: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.approximate = approximate

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or sequence
            Training rows; the kernel matrix if `kernel` is "precomputed"; a sequence of objects if it compares these.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            forget_fit(self)
            X, y, weight = self._validate(X, y, sample_weight)
            task = RidgeData(X, y.reshape(len(y), -1), weight)
            features = ApproximateRidge.of(self, task)
            if features is None:
                self._fit_exactly(task, y)
            else:
                self._fit_on_features(features, y)
            if self._is_tuned:
                self._complete_left_out(task, y)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the targets.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or sequence
            Rows to predict for; if `kernel` is "precomputed", the kernel matrix of them with the rows of the fit.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted values.
        """
        check_is_fitted(self)
        return self._values(
            check_kernel_rows(self, plain_kernel(self.kernel), X, reset=False, accept_sparse=SPARSE_FORMATS)
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or sequence
            Rows to predict for, as in `predict`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        score : float
            1 at best, and below 0 for a model that is worse than a constant.
        """
        return r_squared(self, X, y, sample_weight)

    def _values(self, X: Any) -> Array:
        if self.kernel_ is None:
            return like(to_numpy(X) @ self.dual_coef_, X)  # type: ignore[no-any-return]
        function = self._function
        if function is None:
            alpha = self.dual_coef_.reshape(len(self.dual_coef_), -1)
            function = KernelFunction(self.kernel_, self.X_fit_, alpha, np.zeros(alpha.shape[1]))
        values: Array = function.values(X)
        return values.reshape(-1, *self.dual_coef_.shape[1:])

    # Fitting.

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array | None]:
        check_has_target(self, y)
        options: dict[str, Any] = {"accept_sparse": SPARSE_FORMATS, "y_numeric": True, "multi_output": True}
        sample_weight = fetch_row_values(sample_weight, X, "sample_weight")
        if is_tensor(X) and (self._is_tuned or is_precomputed(self.kernel) or np.any(np.equal(self.alpha, 0))):
            # these are fitted on the CPU, by decompositions that take no time for few rows
            X, y = fetch_tensor(X), fetch_row_values(y, X, "y")
        X, y = check_kernel_rows(self, plain_kernel(self.kernel), X, y, reset=True, **options)
        if is_precomputed(self.kernel):
            X = X.toarray() if is_sparse(X) else X
            check_kernel_matrix(X, "the kernel matrix")
            self.kernel_: Kernel | None = None
        else:
            gamma = None if is_choice_of_gamma(self.gamma) else self.gamma
            self.kernel_ = make_kernel(self, rows_for_gamma(X, gamma) if is_tensor(X) else X, gamma)
        y = check_finite_targets(y)
        return X, y, check_row_weight(sample_weight, y)

    @property
    def _is_tuned(self) -> bool:
        return isinstance(self.alpha, str) or is_choice_of_gamma(self.gamma)

    def _fit_exactly(self, task: RidgeData, y: Array) -> None:
        solution = task.complete(self._solve(task))
        self._store(solution, task.X, y)
        raise_if_interrupted(solution)
        self._warn(solution)

    def _alpha(self, task: RidgeData) -> Array | None:
        """Return the penalty of each target; None if it is to be chosen."""
        return None if isinstance(self.alpha, str) else checked_penalties(self.alpha, task.Y.shape[1])

    def _solve(self, task: RidgeData) -> Solution:
        alpha = self._alpha(task)
        if alpha is None or self._is_tuned:
            best = self._best(task, alpha, lambda kernel: (kernel, task.system(kernel)))
            self.kernel_, spectrum = best.kernel, best.eigenvalues
            assert isinstance(spectrum, Eigenvalues)
            return solve_by_eigenvalues(spectrum.system, best.alpha, spectrum)
        self._keep_alpha(alpha)
        if is_tensor(task.X):
            assert self.kernel_ is not None
            return on_device(self.kernel_, task.rows, task.data.y, task.data.weight, alpha)
        return kernel_ridge(task.system(self.kernel_), alpha)

    def _best(self, task: RidgeData, alpha: Array | None, system: Callable[[Any], tuple[Any, Any]]) -> TunedKernel:
        """Choose among all penalties and widths, and store what was tried."""
        method = "gcv" if isinstance(self.alpha, str) and self.alpha == "gcv" else "loo"
        kernels = [self.kernel_]
        if is_choice_of_gamma(self.gamma):
            self.gammas_ = candidate_widths(self, task.X)
            kernels = [kernel_with_width(self, task.X, float(gamma)) for gamma in self.gammas_]
        best, errors = choose_kernel(map(system, kernels), alpha, method)
        if is_choice_of_gamma(self.gamma):
            self.gamma_errors_ = task.squared(errors)
            self.gamma_ = float(self.gammas_[np.argmin(errors)])
        if alpha is None:
            self.alphas_, self.alpha_errors_ = best.alphas, task.squared(best.errors)
        self._keep_alpha(best.alpha)
        self.loo_predictions_ = np.full(task.Y.shape, np.nan)
        self.loo_predictions_[task.weighted_rows] = task.unit * best.left_out()
        return best

    def _fit_on_features(self, features: ApproximateRidge, y: Array) -> None:
        task, start = features.task, None
        alpha = self._alpha(task)
        assert self.kernel_ is not None  # features approximate one
        if alpha is None or self._is_tuned:
            best = self._best(task, alpha, features.system)
            assert isinstance(best.eigenvalues, MappedEigenvalues)
            chosen, alpha, start = best.kernel, best.alpha, best.eigenvalues.coefficients(best.alpha)
            self.kernel_ = chosen.kernel
        else:
            self._keep_alpha(alpha)
            chosen = features.features(self.kernel_)
        fit = features.fit(chosen, alpha, start)
        self._store_features(fit, task, y)
        raise_if_interrupted(fit.solution)
        for caution in kernel_convergence_warnings(fit, FEATURE_LIMITS):
            warn(caution)

    def _store_features(self, fit: KernelFit, task: RidgeData, y: Array) -> None:
        function, X = replace(fit.function, alpha=task.unit * fit.function.alpha), task.X
        self._function, self.X_fit_ = function, function.rows
        self.dual_coef_ = function.alpha[:, 0] if y.ndim == 1 else function.alpha
        self.certificate_ = fit.solution.certificate
        if fit.approximation is not None:
            self.approximation_ = fit.approximation
        self.plan_ = kernel_plan(fit.path, X, exact=False)

    def _keep_alpha(self, alpha: Array) -> None:
        self.alpha_ = float(alpha[0]) if isinstance(self.alpha, str | Real) else np.array(alpha)

    def _store(self, solution: Solution, X: Any, y: Array) -> None:
        fit: DualFit = solution.coef
        self.X_fit_ = to_numpy(X) if is_tensor(X) else X
        self.dual_coef_, self._function = fit.coefficients.reshape(y.shape), None
        self.certificate_ = solution.certificate
        blocks = len(row_blocks(len(y), GRAM_TILE_SIDE))
        if is_tensor(X):
            self.plan_ = tensor_plan(fit.path, X)
        else:
            self.plan_ = Plan(fit.path, "float64", blocks * (blocks + 1) // 2, thread_count())

    def _warn(self, solution: Solution) -> None:
        if solution.coef.singular:
            warn(
                "Singular matrix in solving dual problem. Using least-squares solution instead. The kernel matrix plus "
                f"alpha has eigenvalues of 0 or less: raise alpha, or change the kernel. {solution.certificate}.",
                UserWarning,
            )
        elif not solution.certificate.holds:
            more = ", or give float64 tensors, X.double()" if "tiles of float32" in solution.coef.path else ""
            warn(
                f"Ill-conditioned matrix in solving dual problem: {solution.certificate}. Raise alpha, or centre and "
                f"scale the columns{more}.",
                LinAlgWarning,
            )

    def _complete_left_out(self, task: RidgeData, y: Array) -> None:
        """Predict rows without a weight by the model itself, since they are left out of every fit."""
        rest = np.setdiff1d(np.arange(len(task.Y)), task.weighted_rows)
        if len(rest):
            self.loo_predictions_[rest] = self._values(take(task.X, rest)).reshape(len(rest), -1)
        self.loo_predictions_ = self.loo_predictions_.reshape(y.shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
