"""Generalised linear models: any response family, link and penalty in one estimator (lectures 1 and 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._errors import (
    DataError,
    DeviceError,
    LinkError,
    MercerWarning,
    NonFiniteError,
    SeparationWarning,
    UnsuitableSolverError,
)
from mercer._gpu import is_tensor, like, namespace
from mercer._stored import either, floats, optional, part_of, real, sequence, stored
from mercer._threads import thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Half, ModelKind, Question, traits
from mercer.base.diagnosis import INTERCEPT, Diagnosis
from mercer.base.fitted_fields import FITTED, FITTED_KERNEL_ROWS
from mercer.base.kernel_rows import (
    check_kernel_rows,
    check_responses,
    check_semidefinite,
    fetch_row_values,
    kernel_plan,
)
from mercer.base.progress import CallbackSupportMixin, watch_fit, with_callbacks
from mercer.base.sources import fits_sources, locate_bad_values, observe, reader_of, streamed_plan
from mercer.base.validation import (
    Plan,
    best_class,
    check_coefficients,
    check_finite,
    check_finite_entries,
    check_has_target,
    check_same_device,
    check_table,
    check_tensor,
    check_weight,
    column_names,
    complete_unless_interrupted,
    fetch_tensor,
    move_to_main_memory,
    raise_if_interrupted,
    restore_on_failure,
    tensor_plan,
    validate_params,
)
from mercer.data.kinds import Kind
from mercer.data.sources.base import Chunk, Source
from mercer.data.table import Table
from mercer.families import (
    L2,
    LOG,
    Categorical,
    Distribution,
    Family,
    Link,
    Penalty,
    Tweedie,
    family_from,
    link_from,
    penalty_from,
    response_family_from,
)
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.kernel_approximation.approximate import APPROXIMATE, fit_feature_map
from mercer.kernel_approximation.function import FourierFunction, Function, KernelFunction
from mercer.kernels import Kernel, KernelHolder, kernel_from
from mercer.linear_model.glm_figures import (
    UNKNOWN_FIGURES,
    Figures,
    deviance_explained,
    find_absent_overdispersion,
    find_overdispersion,
)
from mercer.linear_model.glm_response import ClassResponse, MeanResponse, ResponseKind
from mercer.linear_model.glm_solve import (
    DiagnosedFit,
    Solved,
    SolverLimits,
    convergence_warnings,
    estimates_r,
)
from mercer.linear_model.glm_target import (
    ResponseTrials,
    check_equal_trials,
    check_number_of_classes,
    family_of_shares,
    is_grouped,
    is_label_family,
    read_target,
    read_trials,
)
from mercer.linear_model.kernel_fit import (
    KERNEL_SOLVERS,
    KernelData,
    KernelFit,
    KernelProblemSpec,
    fit_kernel,
    kernel_convergence_warnings,
    norm_strength,
)
from mercer.matrices import (
    DenseMatrix,
    Encoded,
    Matrix,
    Observations,
    TensorMatrix,
    TensorObservations,
    Terms,
    matrix_of,
)
from mercer.matrices.streamed import Responses, Survey, SurveyParts, SurveySample
from mercer.optim import streamed_proximal
from mercer.optim.minimize import SOLVER_PURPOSES, SolverChoice
from mercer.optim.span.freedom import used_degrees_of_freedom
from mercer.optim.span.losses import observe_constant

#: solvers that are implemented for tensors
TENSOR_SOLVERS = ("auto", "direct", "newton", "lbfgs")
#: solvers that are implemented for sources, which are read chunk by chunk
STREAMING_SOLVERS = ("auto", "newton", "lbfgs", "proximal")
#: attributes that only a fit with a kernel has
KERNEL_ATTRIBUTES = ("dual_coef_", "X_fit_", "kernel_", "approximation_", "_function")
#: attributes that only a fit without a kernel has
LINEAR_ATTRIBUTES = ("coef_", "coefficient_names_", "_terms", "_w")


def _has_labels(model: GLM) -> bool:
    """Return True for a classifier, and raise AttributeError for a regressor, as `available_if` needs."""
    try:
        labels = is_label_family(response_family_from(model.family))
    except ValueError as unknown:  # `hasattr` returns False, and `fit` raises the error
        raise AttributeError(str(unknown)) from None
    if not labels:
        raise AttributeError(f"family={model.family!r} has no classes; bernoulli and categorical have.")
    return True


def _model_kind(model: GLM) -> ModelKind:
    return "discriminative" if model.kernel is None else "kernel"


def _half_of(model: GLM) -> Half:
    """Return which half of a generative/discriminative pair a classifier is; empty for a regressor."""
    if family_from(model.family).name not in ("bernoulli", "categorical"):
        return ""
    return "linear" if model.kernel is None else "kernelized"


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield models with a log link for counts and for amounts, linear and with a kernel.

    Amounts that include 0 have a Tweedie model.
    """
    if question.task == "counts":
        models = [GLM(family, penalty=L2()) for family in ("poisson", "negative_binomial")]
    elif question.task == "amounts":
        models = [GLM("gamma" if question.positive else Tweedie(1.5), link="log", penalty=L2())]
    else:
        return
    yield from (Candidate(model, 30) for model in models)
    if question.has_texts or not question.positive:
        return
    from mercer.base.kernel_choice import default_kernel, most_rows_of_factors

    shared: dict[str, Any] = {"penalty": L2(0.1), "kernel": default_kernel(question)}
    with_kernel = GLM("poisson", **shared) if question.task == "counts" else GLM("gamma", link="log", **shared)
    most = most_rows_of_factors(question)
    yield Candidate(with_kernel, 70, "array", scale=question.is_sparse, most_rows=most)


def _levels(model: GLM) -> dict[str, tuple[Any, ...]]:
    """Return the levels of the columns of categories."""
    names, terms = column_names(model), getattr(model, "_terms", None)
    return {names[position]: tuple(each.levels) for position, each in getattr(terms, "categories", {}).items()}


def _has_predictor_for_each_class(model: GLM) -> bool:
    """Return whether the coefficients are those of the columns, and of each class if there are classes."""
    if not hasattr(model, "_kind"):
        return True
    w, coefficients = getattr(model, "_w", None), getattr(model, "coef_", None)
    if w is not None and len(w) != model._terms.coordinates.n_columns:
        return False
    axes = 2 if isinstance(model._kind, ClassResponse) else 1
    if any(each is not None and each.ndim != axes for each in (w, coefficients)):
        return False
    return axes == 2 or not hasattr(model, "classes_") or len(model.classes_) == 2


@traits(
    "regression",
    "classification",
    "counts",
    "amounts",
    kind=_model_kind,
    half=_half_of,
    set_by_task="family",
    levels=_levels,
    candidates=_candidates,
    export="mercer.export.linear.glm",
    summary="mercer.inference.reading.read_glm",
    kernelize=lambda model, kernel, approximate: model.set_params(kernel=kernel, approximate=approximate),
)
@stored(
    _has_predictor_for_each_class,
    **FITTED | FITTED_KERNEL_ROWS,
    _w=optional(either(floats("."), floats(".u"))),
    _terms=part_of(Terms, d="d"),
    _kind=part_of(ResponseKind),
    family_=part_of(Family),
    link_=part_of(Link),
    _function=part_of(KernelFunction, FourierFunction, n="n", d="d"),
    coef_=optional(either(floats("w"), floats("kw"))),
    intercept_=either(real(), floats("k")),
    coefficient_names_=sequence(".", part_of(str)),
    deviance_=optional(real()),
    null_deviance_=optional(real()),
    df_residual_=optional(real()),
    dispersion_=optional(real()),
    log_likelihood_=optional(real()),
    kernel_=optional(part_of()),
)
class GLM(CallbackSupportMixin, KernelHolder, BaseEstimator):
    """Generalised linear model: E y = g⁻¹(Xβ + b + offset), with the distribution of y from a family.

    The coefficients minimise Σ weight · ½ deviance + penalty: they are the maximum likelihood estimate or, with a
    penalty, the mode of the posterior under the corresponding prior. With a kernel, Xβ is replaced by the function
    Σ αᵢ k(x, xᵢ) of the rows, and ‖β‖² in the L2 penalty by αᵀKα.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        Distribution of the response:

        - "gaussian", "poisson", "gamma", "inverse_gaussian", or `Tweedie(power)`: numbers;
        - "negative_binomial": counts, with r estimated, or `NegativeBinomial(r)` with a known r;
        - "binomial": two columns of y, successes and failures, or `Binomial(trials)` with y counting successes, where
          `trials` is one number or an array with one for each row; if trials differ, `predict` returns shares;
        - "bernoulli", "categorical": labels of any type; the model is a classifier.
    link : str or Link, default="canonical"
        "identity", "log", "logit", "probit", "cloglog", "cauchit", "inverse", "inverse_squared" or "sqrt".
    penalty : None, str or Penalty, default=None
        A negative log prior of the coefficients: "l2" or `L2(strength, mean)` is normal, "l1" Laplace, "elasticnet" a
        mixture; strength and mean are one number or one per coefficient. The intercept is not penalised. A kernel needs
        "l2" with a single strength above 0.
    kernel : None, str, Kernel or callable, default=None
        Kernel that compares two rows, used in place of their columns: "rbf", `RBF(gamma=0.1)`, a function k(x, z). Rows
        are then numbers, or any objects that the kernel compares.
    approximate : {"nystroem", "fourier", "auto"}, Nystroem, RandomFourierFeatures or None, default=None
        With a kernel: features that approximate it, for up to millions of rows. A transformer is used with its
        parameters; a name means about 2√n features. "auto" is exact where that takes only seconds. `approximation_`
        has the loss of accuracy.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    solver : {"auto", "direct", "newton", "newton-cg", "lbfgs", "gradient", "online", "proximal"}, default="auto"
        Algorithm; `plan_` has the choice of "auto" and its reason. "gradient" and "online" are the batch and stochastic
        gradient descent of the lectures, which need many steps and a larger `tol`. With a kernel, "newton" keeps the
        kernel matrix in memory, and "newton-cg" computes products with it tile by tile.
    tol : float, default=1e-8
        Distance to the optimum, in standard errors, at which the fit has converged.
    max_iter : int, default=100
        Maximum number of steps.
    weight_kind : {"frequency", "precision"}, default="frequency"
        Meaning of a `sample_weight` w: w equal rows, or one row that is w times as precise. It changes degrees of
        freedom, the dispersion and the log likelihood, never the coefficients.
    on_separation : {"warn", "firth", "ridge", "error"}, default="warn"
        Action if a hyperplane separates the responses, so that some coefficients are infinite.
    reference : label, default=None
        For "categorical": the class whose coefficients are 0. None is symmetric: coefficients of each feature sum to 0.
    warm_start : bool, default=False
        Whether a fit begins at the coefficients of the last one.
    verbose : int, default=0
        Whether to show the progress of the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (n_coefficients,), for "categorical" (n_classes, n_coefficients)
        Coefficients, one for each of `coefficient_names_`.
    intercept_ : float, for "categorical" ndarray of shape (n_classes,)
        Intercept; 0 if there is none.
    dual_coef_ : ndarray of shape (n_samples,) or, with `approximate`, (n_features,)
        With a kernel, α, for "categorical" with a column for each predictor. Then there are no `coef_` and
        `coefficient_names_`.
    X_fit_, kernel_ : rows, Kernel
        With a kernel, the rows that new rows are compared with, and the kernel. With Nyström features the rows are the
        landmarks; with Fourier features they are None, and `dual_coef_` has the coefficients of the features.
    approximation_ : Approximation
        Distance of the features from the kernel, if `approximate` is used.
    coefficient_names_ : list of str
        Names of the coefficients: of a column, or of a level of a category. Without a penalty the first level of a
        category is the reference level, and has no coefficient.
    classes_ : ndarray of shape (n_classes,)
        Class labels, where the family has them.
    family_, link_ : Family, Link
        Family with its estimated parameters, and link.
    dispersion_ : float
        φ in Var y = φ V(μ): Pearson's χ² over `df_residual_`, or 1 where the family fixes it.
    deviance_, null_deviance_ : float
        Twice the loss, of the model and of one with only an intercept (and the offset).
    df_residual_ : float
        Degrees of freedom: number of observations minus the effective number of coefficients. Under an L2 penalty each
        coefficient counts by the degree to which the data, not the prior, determine it, under L1 if it is not 0.
        With a kernel the effective number is the trace of the smoother, estimated beyond 1000 rows; NaN for
        "categorical".
    log_likelihood_ : float
        Log likelihood at the estimates; NaN if the family has no density in closed form.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.
    diagnosis_ : Diagnosis
        Findings that affect the meaning of the coefficients: collinear columns, separation, overdispersion.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they had any.

    Notes
    -----
    The objective is convex, so that the certificate is about the global minimum, for these links:

    - gaussian: identity
    - bernoulli: identity, log, logit, probit, cloglog, sqrt
    - binomial: identity, log, logit, probit, cloglog, sqrt
    - categorical: softmax
    - poisson: identity, log, sqrt
    - gamma: log, inverse
    - inverse_gaussian: inverse, inverse_squared
    - negative_binomial: log, and its canonical link
    - Tweedie(p) with 1 ≤ p ≤ 2: log; with any p: μᵏ for 1 − p ≤ k ≤ 2 − p (k = 1 − p for p ≤ 0)

    With other links, and where r is estimated, several minima may exist. The fit then begins at up to 30 starts, fewer
    for larger data (one with a kernel), and keeps the lowest minimum. The kind of the certificate is then "stationary
    point", it is about neighbouring points only, and `certificate_.is_global` is False.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GLM
    >>> hours, visitors = np.array([[1.0], [2.0], [3.0], [4.0]]), [2, 5, 7, 16]
    >>> model = GLM("poisson").fit(hours, visitors)
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([0.655]), 0.123)
    >>> model.predict_distribution([[2.0]]).quantile(0.9)
    array([7.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "family": [str, Family],
        "link": [str, Link],
        "penalty": [str, Penalty, None],
        "kernel": [str, Kernel, callable, None],
        "approximate": APPROXIMATE,
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"auto", *SOLVER_PURPOSES})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "weight_kind": [StrOptions({"frequency", "precision"})],
        "on_separation": [StrOptions({"warn", "firth", "ridge", "error"})],
        "reference": "no_validation",
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    coef_: Array
    dual_coef_: Array
    intercept_: Any
    classes_: Array
    family_: Family
    link_: Link
    dispersion_: float
    plan_: Plan
    _kind: ResponseKind
    _terms: Terms
    _w: Array
    _function: Function

    def __init__(
        self,
        family: Any = "gaussian",
        link: Any = "canonical",
        penalty: Any = None,
        *,
        kernel: Any = None,
        approximate: Any = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        weight_kind: str = "frequency",
        on_separation: str = "warn",
        reference: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.family = family
        self.link = link
        self.penalty = penalty
        self.kernel = kernel
        self.approximate = approximate
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.weight_kind = weight_kind
        self.on_separation = on_separation
        self.reference = reference
        self.warm_start = warm_start
        self.verbose = verbose

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, exposure: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, tensor of shape (n_samples, n_features), or Source
            Training rows; columns of text or categories have a coefficient for each level. A tensor of torch stays on
            its device. A source is read piece by piece, and has its target, weights and offsets with it.
        y : array-like of shape (n_samples,), for "binomial" (n_samples, 2)
            Responses; labels of any type for "bernoulli" and "categorical"; for "binomial" successes and failures.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.
        offset : array-like of shape (n_samples,), default=None
            Added to the linear predictor, with the coefficient 1.
        exposure : array-like of shape (n_samples,), default=None
            Multiplies the mean: its logarithm is an offset. For link="log" only.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            cautions = self._learn(X, y, sample_weight, offset, exposure)
        for caution in cautions:
            warn(caution)
        return self

    @with_callbacks
    def _learn(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any) -> tuple[MercerWarning, ...]:
        family = response_family_from(self.family)
        if self.kernel is not None:
            check_equal_trials(family, "GLM(kernel=…)")
            return self._learn_function(family, X, y, sample_weight, offset, exposure)
        before = dict(vars(self)) if self.warm_start else {}
        if is_tensor(X) and (is_grouped(family) or not _fits_tensors(self, family, X.shape[-1] if X.ndim else 0)):
            given = {"X": X, "y": y, "sample_weight": sample_weight, "offset": offset, "exposure": exposure}
            X, y, sample_weight, offset, exposure = move_to_main_memory("GLM", **given)
        trials = read_trials(family, y)
        y = trials.y
        table: Any
        if is_tensor(X) and y is not None:
            table, y, sample_weight, offset, exposure = self._read_tensors(X, y, sample_weight, offset, exposure)
        else:
            table, y = self._checked(X, y)
        weight = trials.weighted(check_weight(sample_weight, y))
        problem = self._make_problem(trials, table, y, weight, offset, exposure)
        try:
            return self._minimise(problem, before, X, y)
        except NonFiniteError:
            if is_tensor(table):
                check_finite(self, table)
            else:
                check_finite_table(table, column_names(self), estimator="GLM")
            raise

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        check_has_target(self, y, "response")
        return check_table(self, X, y, reset=True, codes=True)

    def _read_tensors(self, X: Any, y: Any, *others: Any) -> tuple[Any, ...]:
        """Return X on its device, and y, sample_weight, offset and exposure in main memory."""
        X = check_tensor(self, X, reset=True)
        for values, name in zip((y, *others), ("y", "sample_weight", "offset", "exposure"), strict=True):
            check_same_device(values, X, name)
        stand_in = np.broadcast_to(0.0, X.shape)  # replaces X where only y is checked
        return X, check_table(self, stand_in, fetch_tensor(y), reset=False)[1], *map(fetch_tensor, others)

    def _make_problem(
        self, trials: ResponseTrials, table: Any, y: Any, weight: Array | None, offset: Any, exposure: Any
    ) -> Any:
        """Return the problem to minimise, and set `_kind`, `_terms` and `plan_`."""
        penalty, link = penalty_from(self.penalty), link_from(self.link, trials.family)
        target = read_target(trials.family, y, weight)
        self._kind = self._make_kind(trials.family, link, target.classes, trials.number)
        design: Any
        if is_tensor(table):
            design = TensorMatrix.of(table, intercept=self.fit_intercept, weight=weight)
            self._terms = Terms(table.shape[1], None, {}, design.coordinates)
            self.plan_ = tensor_plan("", table)
        else:
            # without a penalty, one coefficient for each level and an intercept would be collinear
            drop_first = penalty is None and self.fit_intercept
            design, self._terms = matrix_of(table, intercept=self.fit_intercept, drop_first=drop_first, weight=weight)
            self.plan_ = Plan("", _dtype_of(design), len(design.blocks()), thread_count())
        make = TensorObservations.of if isinstance(design, TensorMatrix) else Observations
        observations = make(design, target.values, weight, read_offset(offset, exposure, link, len(y)))
        return self._penalised(observations, penalty)

    def _make_kind(
        self, family: Family, link: Link, classes: Array | None, trials: Array | None = None
    ) -> ResponseKind:
        """Return the kind of response, and set `link_` and `classes_`."""
        self.link_ = link
        self.__dict__.pop("classes_", None)  # of an earlier fit with another family
        if classes is not None:
            self.classes_ = classes
        if not isinstance(family, Categorical):
            return MeanResponse(Response(family, link), trials)
        if link != family.response_link:
            raise LinkError(f"a categorical response has the softmax for a link, not {link!r}; leave `link` out.")
        return ClassResponse.of(self.classes_, self.reference)

    def _penalised(self, observations: Any, penalty: Penalty | None) -> Any:
        columns = len(self._terms.names)
        given = Strengths.none(columns) if penalty is None else penalty.strengths(columns)
        return self._kind.problem(observations, observations.design.coordinates.strengths(given))

    def _minimise(
        self, problem: Any, before: dict[str, Any], X: Any = None, y: Any = None
    ) -> tuple[MercerWarning, ...]:
        """Solve, diagnose and store; after an interruption the best coefficients so far are stored."""
        with watch_fit(self, verbose=self.verbose, X=X, y=y) as watch:
            solved = self._kind.solve(problem, self.solver, self._limits, self._start(before), watch.callback)

            def diagnose() -> DiagnosedFit:
                fit = self._kind.diagnose(solved, self._names, self.on_separation, self._limits, watch.callback)
                if not fit.solved.solution.interrupted:
                    self._store(fit)
                return fit

            fit = complete_unless_interrupted(solved.solution, diagnose)
            solved = solved.after_interruption() if fit is None else fit.solved
            if fit is None or solved.solution.interrupted:
                # the figures of a source would take another pass, which is too long after Ctrl-C
                figures = UNKNOWN_FIGURES if problem.observations.streamed else None
                self._store(DiagnosedFit(solved, len(self._names) * self._kind.n_free_predictors), figures)
                if not watch.stopped:
                    raise_if_interrupted(solved.solution)
                return ()
        is_separated = any(isinstance(caution, SeparationWarning) for caution in fit.cautions)
        return fit.cautions if is_separated else (*fit.cautions, *convergence_warnings(fit.solved, self._limits))

    @property
    def _limits(self) -> SolverLimits:
        return SolverLimits(self.tol, self.max_iter)

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the working coefficients."""
        return (*self._terms.names, INTERCEPT) if self.fit_intercept else self._terms.names

    def _start(self, before: dict[str, Any]) -> Array | None:
        """Return the coefficients of the last fit, if it had the same columns and classes."""
        is_same = before.get("coefficient_names_") == list(self._terms.names) and before["_kind"].is_like(self._kind)
        if not is_same:
            return None
        return self._kind.from_user(before["coef_"], before["intercept_"], self._terms.coordinates)

    def _store(self, fit: DiagnosedFit, figures: Figures | None = None) -> None:
        solved = fit.solved
        for name in KERNEL_ATTRIBUTES:
            self.__dict__.pop(name, None)
        figures = figures or self._kind.figures(solved, fit.effective_parameters, self.weight_kind)
        overdispersion = self._kind.overdispersion(figures)
        self._kind, self._w = self._kind.fitted(solved), solved.solution.coef
        self.coefficient_names_ = list(self._terms.names)
        with np.errstate(over="ignore", invalid="ignore"):
            self.coef_, self.intercept_ = self._kind.to_user(self._w, self._terms.coordinates)
        check_coefficients(np.atleast_2d(self.coef_), self.coefficient_names_)
        self._store_figures(figures)
        self.n_iter_ = max(1, solved.solution.n_iter)
        self.certificate_ = solved.solution.certificate
        self.plan_ = replace(self.plan_, path=str(solved.choice))
        absent = find_absent_overdispersion(self.family_)
        self.diagnosis_ = Diagnosis((*fit.findings, *overdispersion, *absent))

    def _store_figures(self, figures: Figures) -> None:
        self.family_ = self._kind.family
        self.deviance_, self.null_deviance_ = figures.deviance, figures.null_deviance
        self.dispersion_, self.df_residual_ = figures.dispersion, figures.df_residual
        self.log_likelihood_ = figures.log_likelihood

    # With a kernel: functions in the span of the rows, with the same families, links and L2 penalty.

    def _learn_function(
        self, family: Family, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any
    ) -> tuple[MercerWarning, ...]:
        before = getattr(self, "_function", None) if self.warm_start else None
        kernel = kernel_from(self.kernel)
        check_has_target(self, y, "response")
        X = check_kernel_rows(self, kernel, X, reset=True)
        y = check_responses(y, X)
        check_semidefinite(kernel, X)
        given = {"sample_weight": sample_weight, "offset": offset, "exposure": exposure}
        sample_weight, offset, exposure = (fetch_row_values(values, X, name) for name, values in given.items())
        spec, data = self._specify_kernel_problem(family, kernel, y, check_weight(sample_weight, y), offset, exposure)
        spec = replace(spec, map=fit_feature_map(self, kernel, data.counted(X)))
        outputs = getattr(spec.kind.response, "columns", 1)  # type: ignore[attr-defined]
        is_start = before is not None and before.alpha.shape == (len(y), outputs)
        with watch_fit(self, verbose=self.verbose, X=X, y=y) as watch:
            fit = fit_kernel(spec, X, data, start=before if is_start else None, callback=watch.callback)
        self._store_function(fit, kernel, X)
        if watch.stopped:
            return ()
        raise_if_interrupted(fit.solution)
        return kernel_convergence_warnings(fit, self._limits)

    def _specify_kernel_problem(
        self, family: Family, kernel: Kernel, y: Any, weight: Array | None, offset: Any, exposure: Any
    ) -> tuple[KernelProblemSpec, KernelData]:
        if self.solver not in KERNEL_SOLVERS:
            raise UnsuitableSolverError(
                f"solver={self.solver!r} has no kernel form; use 'newton' (K in memory), 'newton-cg' (K by tiles), or "
                "'auto'."
            )
        link = link_from(self.link, family)
        target = read_target(family, y, weight)
        kind = self._make_kind(family, link, target.classes)
        data = KernelData(target.values, weight, read_offset(offset, exposure, link, len(y)))
        kind.problem(
            observe_constant(data.y, weight, data.offset), Strengths.none(1)
        )  # raises for an offset of classes
        strength = norm_strength(penalty_from(self.penalty))
        return KernelProblemSpec(kernel, kind, strength, self.fit_intercept, self._limits, self.solver), data

    def _store_function(self, fit: KernelFit, kernel: Kernel, X: Any) -> None:
        for name in LINEAR_ATTRIBUTES:
            self.__dict__.pop(name, None)
        has_one_output = isinstance(fit.kind, MeanResponse)
        self._kind, self._function, function = fit.kind, fit.function, fit.function
        self.kernel_, self.X_fit_ = kernel, function.rows
        if has_one_output:
            self.dual_coef_, self.intercept_ = function.alpha[:, 0], float(function.intercept[0])
        else:
            self.dual_coef_, self.intercept_ = function.alpha, self._kind.linear(function.intercept[None])[0]
        problem, w = fit.as_column()
        solved = Solved(problem, replace(fit.solution, coef=w), SolverChoice("newton", "a kernel"))
        used = used_degrees_of_freedom(fit.problem(), fit.solution.coef.values) if has_one_output else np.nan
        figures = fit.kind.figures(solved, used, self.weight_kind)
        self._store_figures(figures)
        self.n_iter_ = max(1, fit.solution.n_iter)
        self.certificate_ = fit.solution.certificate
        self.__dict__.pop("approximation_", None)
        if fit.approximation is not None:
            self.approximation_ = fit.approximation
        self.plan_ = kernel_plan(fit.path, X, exact=fit.is_exact)
        self.diagnosis_ = Diagnosis(
            (*find_overdispersion(self.family_, figures), *find_absent_overdispersion(self.family_))
        )

    # From a source, which is read piece by piece.

    def _fit_source(self, source: Source) -> Any:
        family = response_family_from(self.family)
        check_equal_trials(family, "fits to a source")
        if estimates_r(family) or self.kernel is not None or self.solver not in STREAMING_SOLVERS:
            return NotImplemented  # all rows are needed together
        cautions = self._learn_from(source, family)
        if cautions is None:
            return NotImplemented
        for caution in cautions:
            warn(caution)
        return self

    @with_callbacks
    def _learn_from(self, source: Source, family: Family) -> tuple[MercerWarning, ...] | None:
        """Fit to a source; return None if there are too many columns for the penalty."""
        before = dict(vars(self)) if self.warm_start else {}
        penalty, link, first = penalty_from(self.penalty), link_from(self.link, family), source.head()
        table, _ = self._checked(first.X, first.y)
        reader = reader_of(self)
        with locate_bad_values(source, reader, partial(_read_numbers, family, link)):
            observations: Any = observe(
                source,
                partial(_read_chunk, reader, family, link),
                partial(_responses_of, family),
                labels=is_label_family(family),
                intercept=self.fit_intercept,
                names=_names_of(table),
                drop_first=penalty is None and self.fit_intercept,
            )
            self._terms = observations.terms
            self._kind = self._make_kind(family, link, observations.responses.classes)
            problem = self._penalised(observations, penalty)
            if not (problem.strengths.smooth or streamed_proximal.suits(problem)):
                return None
            self.plan_ = streamed_plan("", _dtype_of(observations.sample.design))
            cautions = self._minimise(problem, before)
        self.plan_ = streamed_plan(self.plan_.path, self.plan_.dtype)
        return cautions

    # Predictions.

    def _predictors(self, X: Any, offset: Any, exposure: Any) -> Array:
        check_is_fitted(self)
        eta: Any
        if not hasattr(self, "_terms"):
            eta = self._function.values(check_kernel_rows(self, self._function.kernel, X, reset=False))
            eta = eta if self.dual_coef_.ndim == 2 else eta[:, 0]
        elif is_tensor(X):
            eta = self._predictors_of_tensor(X)
        else:
            eta = self._predictors_of_table(X)
        added = read_offset(fetch_tensor(offset), fetch_tensor(exposure), self.link_, len(eta))
        return eta if added is None else eta + like(added, eta)  # type: ignore[no-any-return]

    def _predictors_of_table(self, X: Any) -> Array:
        table, _ = check_table(self, X, reset=False, codes=True)
        with np.errstate(over="ignore", invalid="ignore"):
            eta = self._terms.design(table).matvec(self._w)
        if not np.isfinite(eta).all():
            check_finite_table(table, column_names(self), estimator="GLM")
            row = int(np.argmin(np.isfinite(eta) if eta.ndim == 1 else np.isfinite(eta).all(axis=1)))
            raise NonFiniteError(f"the linear predictor of row {row} is beyond float64; divide the largest columns.")
        return eta

    def _predictors_of_tensor(self, X: Any) -> Any:
        if self._terms.categories:
            raise DeviceError(
                "GLM was fitted to columns of categories, which no tensor holds; give a data frame with the columns of "
                "the fit."
            )
        eta: Any = TensorMatrix(check_tensor(self, X, reset=False), self._terms.coordinates).matvec(self._w)
        if not bool(eta.isfinite().all()):
            check_finite(self, X)
        return eta

    def _mean(self, X: Any, offset: Any, exposure: Any) -> Array:
        eta = self._predictors(X, offset, exposure)  # first, as it raises NotFittedError
        return self._kind.mean(eta)

    def predict_linear(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """Return the linear predictor Xβ + b + offset of every row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        eta : ndarray of shape (n_samples,), for "categorical" (n_samples, n_classes)
            Linear predictors.
        """
        eta = self._predictors(X, offset, exposure)
        return self._kind.linear(eta)

    def predict(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """Return the mean response of every row, or its most probable class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Means, or class labels.
        """
        mean = self._mean(X, offset, exposure)
        if not hasattr(self, "classes_"):
            return mean
        return best_class(mean if mean.ndim == 2 else mean - 0.5, self.classes_)  # type: ignore[no-any-return]

    @available_if(_has_labels)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """Return p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        mean = self._mean(X, offset, exposure)
        return mean if mean.ndim == 2 else namespace(mean).column_stack([1 - mean, mean])

    @available_if(_has_labels)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """Return log p(y|x) for every row and class, also where p itself underflows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        eta = self._predictors(X, offset, exposure)
        return self._kind.log_probabilities(eta)

    def predict_distribution(self, X: Any, offset: Any = None, exposure: Any = None) -> Distribution:
        """Return the fitted p(y|x) as an object with density, distribution function, quantiles and samples.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        distribution : families.Distribution
            Distribution of every row; for labels, of their codes 0, 1, … in `classes_`.
        """
        eta = self._predictors(X, offset, exposure)
        return self._kind.distribution(eta, self.dispersion_)

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, exposure: Any = None) -> float:
        """Return D², the explained share of the deviance of a constant mean; for labels, the accuracy.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Their responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        score : float
            The best value is 1.
        """
        if is_label_family(response_family_from(self.family)):
            predicted = fetch_tensor(self.predict(X, offset, exposure))
            return float(accuracy_score(fetch_tensor(y), predicted, sample_weight=fetch_tensor(sample_weight)))
        eta = fetch_tensor(self._predictors(X, offset, exposure))
        trials = read_trials(response_family_from(self.family), fetch_tensor(y))
        values = read_target(self.family_, column_or_1d(trials.y)).values
        check_consistent_length(eta, values)
        weight = trials.weighted(check_weight(fetch_tensor(sample_weight), values))
        return deviance_explained(Response(self.family_, self.link_), values, eta, weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = self.kernel is None
        tags.target_tags.required = True
        try:
            family = family_of_shares(response_family_from(self.family))
        except ValueError:  # an unknown family, for which `fit` raises an error
            return tags
        if is_label_family(family):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=isinstance(family, Categorical))
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
            tags.target_tags.positive_only = bool(family.outside(np.array([-1.0])).any())
        return tags


def read_offset(offset: Any, exposure: Any, link: Link, n_rows: int) -> Array | None:
    """Return what is added to η: the offset plus, with a log link, the logarithm of the exposure."""
    added = None if offset is None else _one_per_row(offset, "offset", n_rows)
    if exposure is None:
        return added
    if link != LOG:
        raise DataError(
            f"exposure multiplies the mean, which with {link!r} is not an offset of the linear predictor; use "
            "link='log', or give the values to add as `offset`."
        )
    exposure = _one_per_row(exposure, "exposure", n_rows)
    if not (positive := exposure > 0).all():
        row = int(np.argmin(positive))
        raise DataError(f"exposure must be above 0, but is {exposure[row]:g} in row {row}; drop rows without exposure.")
    return np.asarray(np.log(exposure) if added is None else added + np.log(exposure))


def _one_per_row(given: Any, name: str, n_rows: int) -> Array:
    values = np.array(np.broadcast_to(np.asarray(given, dtype=np.float64), (n_rows,)) if np.ndim(given) == 0 else given)
    values = values.astype(np.float64, copy=False)
    if values.shape != (n_rows,):
        raise DataError(
            f"{name} has shape {values.shape}, but X has {n_rows} rows; give one number for each row, or one for all."
        )
    if not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        raise NonFiniteError(f"{name} is {values[row]} in row {row}; give a finite number, or drop the row.")
    return values


def check_finite_table(table: Table | Encoded, names: list[str], *, estimator: str) -> None:
    """Raise an error that names the first number of a table that is missing or infinite, if there is one."""
    if isinstance(table, Encoded):
        check_finite_entries(table, names, estimator)
        return
    numeric = [column for column, kind in enumerate(table.kinds) if kind.numeric]
    X = table.matrix() if len(numeric) == table.n_columns else table.numbers(numeric)
    check_finite_entries(X, [names[column] for column in numeric], estimator)


def _fits_tensors(model: GLM, family: Family, columns: int) -> bool:
    """Return whether a fit can run on a device: smooth penalty, known parameters of the family, suitable solver."""
    penalty = penalty_from(model.penalty)
    is_smooth = penalty is None or penalty.strengths(columns).smooth
    return is_smooth and not estimates_r(family) and model.solver in TENSOR_SOLVERS


def _dtype_of(design: Matrix) -> str:
    """Return the type of the numbers that a design reads."""
    return str(design.X.dtype) if isinstance(design, DenseMatrix) else "float64"


# Chunks of a source. `reader` is the model without its fitted attributes, which can be pickled.


def _read_chunk(reader: Any, family: Family, link: Link, chunk: Chunk) -> SurveySample:
    """Return the rows of a chunk, checked as rows in memory are."""
    table, y = check_table(reader, chunk.X, chunk.y, reset=False, codes=True)
    weight = check_weight(chunk.weight, y, part=True)
    values = np.asarray(y) if is_label_family(family) else read_target(family, y, weight).values
    offset = read_offset(chunk.offset, None, link, len(values))
    if not isinstance(table, Encoded):
        if table.library == "scipy":
            table = table.native.tocsr()
        elif all(kind is not Kind.CATEGORY for kind in table.kinds):
            table = table.numbers()  # products with one matrix are faster than column by column
    return SurveySample(table, values, weight, offset)


def _read_numbers(family: Family, link: Link, reader: Any, chunk: Chunk) -> Any:
    """Return the numbers of a chunk, with zeros for categories, for the search for values that are not finite."""
    X = _read_chunk(reader, family, link, chunk).X
    if not isinstance(X, Table):
        return X
    SurveyParts.of(X)  # raises for categories that cannot be read
    zeros = np.zeros(X.n_rows)
    numbers = (zeros if kind is Kind.CATEGORY else X.numbers([j])[:, 0] for j, kind in enumerate(X.kinds))
    return np.column_stack(list(numbers))


def _names_of(table: Any) -> tuple[str, ...] | None:
    """Return the names of the columns, or None if they have no names."""
    if isinstance(table, Encoded):
        return None if table.given_names is None else tuple(table.given_names)
    return None if table.library == "scipy" else table.column_names


def _responses_of(family: Family, survey: Survey) -> Responses:
    """Return how responses are read: as numbers, or as codes of the labels that have positive weight."""
    if not is_label_family(family):
        return Responses()
    labels = survey.labels
    if survey.weighted and len(labels) > 1:
        labels = labels[survey.label_weights > 0]
    check_number_of_classes(family, labels)
    return Responses(labels)
