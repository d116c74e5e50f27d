"""Generalised linear models: any response family, any link, any penalty, one estimator (lectures 1 and 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import LinkError, MercerWarning, NonFiniteError, SeparationWarning
from mercer._gpu import is_tensor
from mercer._stored import either, floats, optional, part_of, real, stored
from mercer._threads import thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Half, ModelKind, Question, traits
from mercer.designs import Observations, TensorDesign, TensorObservations, Terms, design_of
from mercer.families import (
    L2,
    Categorical,
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
from mercer.kernels import Kernel, KernelHolder
from mercer.models._finite import refuse_not_finite, refuse_unrepresentable
from mercer.models._progress import CallbackSupportMixin, watched, with_callbacks
from mercer.models._refusal import refuse_no_target
from mercer.models._tensors import tensor_plan
from mercer.models.base import Plan, checked_table, checked_weight, column_names, in_main_memory, old_state_on_failure
from mercer.models.diagnosis import INTERCEPT, Diagnosis
from mercer.models.fitted_fields import FITTED, FITTED_ROWS
from mercer.models.glm._kernel_form import OWN, KernelForm
from mercer.models.glm._overdispersion import no_overdispersion
from mercer.models.glm._predictions import Predictions
from mercer.models.glm._source_form import SourceForm, dtype_of
from mercer.models.glm._tensors import fits_tensors, read_tensors, tensor_terms
from mercer.models.glm.classes import Classes
from mercer.models.glm.figures import UNKNOWN, Figures
from mercer.models.glm.inputs import read_offset, refuse_spoilt_table
from mercer.models.glm.kind import Kind
from mercer.models.glm.one_mean import OneMean
from mercer.models.glm.settle import Settled
from mercer.models.glm.solve import Limits, SolveInterrupted, keeping_solved, unfinished
from mercer.models.glm.target import is_label_family, read_target
from mercer.models.glm.trials import ResponseTrials, family_of_shares, is_grouped, read_trials, refuse_grouped
from mercer.models.kernel_features.named_features import APPROXIMATE
from mercer.models.kernel_models.feature_function import FourierFunction
from mercer.models.kernel_models.function import KernelFunction
from mercer.models.streaming.from_source import fits_sources
from mercer.solvers.choose import SOLVERS


def _kind_of(model: GLM) -> ModelKind:
    return "discriminative" if model.kernel is None else "kernel"


def _half_of(model: GLM) -> Half:
    """Return the half of a pair that a model of classes is; a model of numbers is none."""
    if family_from(model.family).name not in ("bernoulli", "categorical"):
        return ""
    return "linear" if model.kernel is None else "kernelized"


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield models with a log link for counts and for positive amounts, also of a kernel.

    Amounts some of which are 0 have a Tweedie model.
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
    from mercer.models.kernel_models.compared import default_kernel, most_rows_of_factors

    shared: dict[str, Any] = {"penalty": L2(0.1), "kernel": default_kernel(question)}
    machine = GLM("poisson", **shared) if question.task == "counts" else GLM("gamma", link="log", **shared)
    most = most_rows_of_factors(question)
    yield Candidate(machine, 70, "array", scale=question.is_sparse, most_rows=most)


def _levels(model: GLM) -> dict[str, tuple[Any, ...]]:
    """Return the levels of the columns of categories."""
    names, terms = column_names(model), getattr(model, "_terms", None)
    return {names[position]: tuple(each.levels) for position, each in getattr(terms, "categories", {}).items()}


@traits(
    "regression",
    "classification",
    "counts",
    "amounts",
    kind=_kind_of,
    half=_half_of,
    set_by_task="family",
    levels=_levels,
    candidates=_candidates,
    export="mercer.export.linear.glm",
    summary="mercer.models.inference.read_glm.read_glm",
    kernelize=lambda model, kernel, approximate: model.set_params(kernel=kernel, approximate=approximate),
)
@stored(
    lambda model: (
        not hasattr(model, "_terms") or model._w is None or len(model._w) == model._terms.coordinates.n_columns
    ),
    **FITTED | FITTED_ROWS,
    _w=optional(either(floats("."), floats(".u"))),
    _terms=part_of(Terms, d="d"),
    _kind=part_of(Kind),
    family_=part_of(Family),
    link_=part_of(Link),
    _function=part_of(KernelFunction, FourierFunction, n="n", d="d"),
    coef_=optional(either(floats("w"), floats("kw"))),
    intercept_=either(real(), floats("k")),
)
class GLM(CallbackSupportMixin, KernelHolder, KernelForm, SourceForm, Predictions, BaseEstimator):
    """A generalised linear model: E y = g⁻¹(Xβ + b + offset), y distributed as the family says.

    The coefficients minimise Σ weight · ½ deviance + penalty: they are the maximum likelihood estimate, or with a
    penalty the mode of the posterior under the prior that it stands for. With a kernel, Xβ is a function Σ αᵢ k(x, xᵢ)
    of the rows, and αᵀKα is what an L2 penalty has for ‖β‖².

    Parameters
    ----------
    family : str or Family, default="gaussian"
        Distribution of the response: "gaussian", "bernoulli", "categorical", "poisson", "gamma", "inverse_gaussian",
        "negative_binomial" (with r estimated; give `NegativeBinomial(r)` where it is known), "binomial" with y of two
        columns, successes and failures, `Binomial(trials)` with y counting successes among as many trials, one number
        or an array of one for each row, or `Tweedie(power)`. With "bernoulli" and "categorical" the model is a
        classifier of labels of any type. Where trials differ from row to row, `predict` gives shares.
    link : str or Link, default="canonical"
        "identity", "log", "logit", "probit", "cloglog", "cauchit", "inverse", "inverse_squared" or "sqrt".
    penalty : None, str or Penalty, default=None
        A negative log prior of the coefficients: "l2" or `L2(strength, mean)` is normal, "l1" Laplace, "elasticnet" a
        mixture; strength and mean are one number or one per coefficient. The intercept is free. A kernel needs "l2", of
        one strength above 0.
    kernel : None, str, Kernel or callable, default=None
        What compares two rows, in the place of their columns: "rbf", `RBF(gamma=0.1)`, a function k(x, z). Rows are
        then numbers, or whatever the kernel compares.
    approximate : {"nystroem", "fourier", "auto"}, Nystroem, RandomFourierFeatures or None, default=None
        With a kernel: features that stand in for it, for up to millions of rows. A transformer brings its own
        parameters; a name means about 2√n features. "auto" is exact where that takes only seconds. `approximation_`
        says how much accuracy is lost.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    solver : {"auto", "direct", "newton", "newton-cg", "lbfgs", "gradient", "online", "proximal"}, default="auto"
        How the optimum is found; `plan_` says what "auto" chose, and why. "gradient" and "online" are the lectures'
        batch and stochastic gradient descent, which need many steps and a larger `tol`. With a kernel, "newton" has
        the kernel matrix in memory, "newton-cg" makes its products tile by tile.
    tol : float, default=1e-8
        Distance to the optimum, in standard errors, at which the fit has converged.
    max_iter : int, default=100
        Steps after which to give up.
    weight_kind : {"frequency", "precision"}, default="frequency"
        What `sample_weight` means: so many equal rows, or one row that is so many times as precise. It changes degrees
        of freedom, the dispersion and the log likelihood, never the coefficients.
    on_separation : {"warn", "firth", "ridge", "error"}, default="warn"
        What to do where a hyperplane separates the responses, so that some coefficients are infinite.
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
    dual_coef_ : ndarray of shape (n_samples,), for "categorical" (n_samples, n_predictors)
        With a kernel, α; then there are no `coef_` and `coefficient_names_`.
    X_fit_, kernel_ : rows, Kernel
        With a kernel, what new rows are compared with, and how: with Nyström features the landmarks, with Fourier
        features nothing (None, and `dual_coef_` has the coefficients of the features).
    approximation_ : Approximation
        How far features that stand for the kernel are from it, if they do.
    coefficient_names_ : list of str
        What each coefficient belongs to: a column, or a level of one. Without a penalty the first level of a category
        is the reference level, and has no coefficient.
    classes_ : ndarray of shape (n_classes,)
        Class labels, where the family has them.
    family_, link_ : Family, Link
        As used, with parameters of the family that were estimated.
    dispersion_ : float
        φ in Var y = φ V(μ): Pearson's χ² over `df_residual_`, or 1 where the family knows it.
    deviance_, null_deviance_ : float
        Twice the loss, of the model and of one with nothing but an intercept (and the offset).
    df_residual_ : float
        Degrees of freedom: number of observations less the effective number of coefficients. Under an L2 penalty each
        coefficient counts as far as it is determined by the data rather than by the prior, under L1 if it is not 0.
        With a kernel the effective number is the trace of the smoother, estimated beyond 1000 rows; NaN for
        "categorical".
    log_likelihood_ : float
        At the estimates; NaN where the family has no density in closed form.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.
    diagnosis_ : Diagnosis
        What a reader of the coefficients should know: collinear columns, separation, over-dispersion.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

    Notes
    -----
    The objective is convex, so that the certificate is about the minimum of all coefficients, for these links:

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
    the larger the data are (one with a kernel), and keeps the lowest end; the kind of the certificate is "stationary
    point", it is about points nearby, and `certificate_.is_global` is False.

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
        "solver": [StrOptions({"auto", *SOLVERS})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "weight_kind": [StrOptions({"frequency", "precision"})],
        "on_separation": [StrOptions({"warn", "firth", "ridge", "error"})],
        "reference": "no_validation",
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

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

    _kind: Kind
    _terms: Terms

    # Learning.

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
        with old_state_on_failure(self):
            self._validate_params()
            cautions = self._learn(X, y, sample_weight, offset, exposure)
        for caution in cautions:
            warn(caution)
        return self

    @with_callbacks
    def _learn(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any) -> tuple[MercerWarning, ...]:
        family = response_family_from(self.family)
        if self.kernel is not None:
            refuse_grouped(family, "GLM(kernel=…)")
            return self._learn_function(family, X, y, sample_weight, offset, exposure)
        before = dict(vars(self)) if self.warm_start else {}
        if is_tensor(X) and (is_grouped(family) or not fits_tensors(self, family, X.shape[-1] if X.ndim else 0)):
            given = {"X": X, "y": y, "sample_weight": sample_weight, "offset": offset, "exposure": exposure}
            X, y, sample_weight, offset, exposure = in_main_memory("GLM", **given)
        trials = read_trials(family, y)
        y = trials.y
        table: Any
        if is_tensor(X) and y is not None:
            table, y, sample_weight, offset, exposure = read_tensors(self, X, y, sample_weight, offset, exposure)
        else:
            table, y = self._checked(X, y)
        weight = trials.weighted(checked_weight(sample_weight, y))
        problem = self._described(trials, table, y, weight, offset, exposure)
        try:
            return self._minimise(problem, before, X, y)
        except NonFiniteError:
            if is_tensor(table):
                refuse_not_finite(self, table)
            else:
                refuse_spoilt_table(table, column_names(self), estimator="GLM")
            raise

    def _minimise(
        self, problem: Any, before: dict[str, Any], X: Any = None, y: Any = None
    ) -> tuple[MercerWarning, ...]:
        """Fit, and keep what was found also where the user stops it."""
        with watched(self, verbose=self.verbose, X=X, y=y) as watch:
            try:
                solved = self._kind.solve(problem, self.solver, self._limits, self._start(before), watch.progress)
                with keeping_solved(solved):
                    settled = self._kind.settle(solved, self._names, self.on_separation, self._limits, watch.progress)
                    self._store(settled)
            except SolveInterrupted as stop:
                # whoever stops a fit should not have to wait for another pass over the source
                figures = UNKNOWN if problem.observations.streamed else None
                self._store(Settled(stop.solved, len(self._names)), figures)
                if watch.stopped:
                    return ()
                raise
        separated = any(isinstance(caution, SeparationWarning) for caution in settled.cautions)
        return settled.cautions if separated else (*settled.cautions, *unfinished(settled.solved, self._limits))

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        refuse_no_target(self, y, "response")
        return checked_table(self, X, y, reset=True, codes=True)

    def _described(
        self, trials: ResponseTrials, table: Any, y: Any, weight: Array | None, offset: Any, exposure: Any
    ) -> Any:
        """What there is to minimise."""
        penalty, link = penalty_from(self.penalty), link_from(self.link, trials.family)
        target = read_target(trials.family, y, weight)
        self._kind = self._kind_of(trials.family, link, target.classes, trials.number)
        # without a penalty, a level for each category and an intercept would be one coefficient too many
        drop_first = penalty is None and self.fit_intercept
        design: Any
        if is_tensor(table):
            design, self._terms = tensor_terms(table, weight, intercept=self.fit_intercept)
            self.plan_ = tensor_plan("", table)
        else:
            design, self._terms = design_of(table, intercept=self.fit_intercept, drop_first=drop_first, weight=weight)
            self.plan_ = Plan("", dtype_of(design), len(design.blocks()), thread_count())
        of_rows = TensorObservations.of if isinstance(design, TensorDesign) else Observations
        observations = of_rows(design, target.values, weight, read_offset(offset, exposure, link, len(y)))
        return self._penalised(observations, penalty)

    def _penalised(self, observations: Observations, penalty: Penalty | None) -> Any:
        columns = len(self._terms.names)
        given = Strengths.none(columns) if penalty is None else penalty.strengths(columns)
        return self._kind.problem(observations, observations.design.coordinates.strengths(given))

    def _kind_of(self, family: Family, link: Link, classes: Array | None, trials: Array | None = None) -> Kind:
        self.link_ = link
        self.__dict__.pop("classes_", None)  # of another family
        if classes is not None:
            self.classes_ = classes
        if not isinstance(family, Categorical):
            return OneMean(Response(family, link), trials)
        if link != family.response_link:
            raise LinkError(f"a categorical response has the softmax for a link, not {link!r}; leave `link` out.")
        return Classes.of(self.classes_, self.reference)

    @property
    def _limits(self) -> Limits:
        return Limits(self.tol, self.max_iter)

    @property
    def _names(self) -> tuple[str, ...]:
        """Of the working coefficients."""
        return (*self._terms.names, INTERCEPT) if self.fit_intercept else self._terms.names

    def _start(self, before: dict[str, Any]) -> Array | None:
        """The coefficients of the last fit, if they were those of the same columns and classes."""
        same = before.get("coefficient_names_") == list(self._terms.names) and before["_kind"].like(self._kind)
        if not same:
            return None
        return self._kind.from_user(before["coef_"], before["intercept_"], self._terms.coordinates)

    def _store(self, settled: Settled, figures: Figures | None = None) -> None:
        solved = settled.solved
        for name in OWN:
            self.__dict__.pop(name, None)
        figures = figures or self._kind.figures(solved, settled.coefficients, self.weight_kind)
        spread = self._kind.overdispersion(figures)
        self._kind, self._w = self._kind.fitted(solved), solved.solution.value
        self.coefficient_names_ = list(self._terms.names)
        with np.errstate(over="ignore", invalid="ignore"):
            self.coef_, self.intercept_ = self._kind.to_user(self._w, self._terms.coordinates)
        refuse_unrepresentable(np.atleast_2d(self.coef_), self.coefficient_names_)
        self.family_ = self._kind.family
        self.deviance_, self.null_deviance_ = figures.deviance, figures.null_deviance
        self.dispersion_, self.df_residual_, self.log_likelihood_ = (
            figures.dispersion,
            figures.df_residual,
            figures.log_likelihood,
        )
        self.n_iter_ = max(1, len(solved.solution.trace) - 1)
        self.certificate_ = solved.solution.certificate
        self.plan_ = replace(self.plan_, path=str(solved.choice))
        self.diagnosis_ = Diagnosis((*settled.findings, *spread, *no_overdispersion(self.family_)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = self.kernel is None
        tags.target_tags.required = True
        try:
            family = family_of_shares(response_family_from(self.family))
        except ValueError:  # for `fit` to complain about
            return tags
        if is_label_family(family):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=isinstance(family, Categorical))
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
            tags.target_tags.positive_only = bool(family.outside(np.array([-1.0])).any())
        return tags
