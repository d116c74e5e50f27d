"""Logistic regression with the penalty chosen by cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import metadata_routing
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _manual_routing,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import _check_method_params, _deprecate_positional_args

from mercer._errors import DataError, NonFiniteError
from mercer._stored import ANYTHING, either, floats, mapping, matrix, part_of, real, reals, stored, values
from mercer._threads import thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Question, traits
from mercer.base.diagnosis import Diagnosis
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.linear import LinearClassifier
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    Plan,
    check_finite,
    check_weight,
    column_names,
    raise_if_interrupted,
    restore_on_failure,
    validate_params,
    weight_in_fold,
)
from mercer.linear_model._logistic import LogisticRegression, linear_candidates
from mercer.linear_model.logistic_path import (
    LOGISTIC_CONSTRAINTS,
    Coefficients,
    LogisticCallbacks,
    LogisticPath,
    LogisticPoint,
    PathPenalty,
    check_solver,
    checked_rows,
    diagnose_point,
    encode_classes,
    row_weights,
    warn_if_unfinished,
)
from mercer.optim.linear_fit import NOT_FINITE


class CVOptions(NamedTuple):
    """Effective values of the parameters of `LogisticRegressionCV`."""

    penalty: str
    l1_ratios: list[Any]  # [None] if not given
    scoring: Any
    legacy: bool

    @property
    def ratios(self) -> list[float]:
        """Shares of L1 in the penalty."""
        known = {"l1": 1.0, "l2": 0.0}.get(self.penalty)
        return [float(ratio) if known is None else known for ratio in self.l1_ratios]


def read_options(model: Any) -> CVOptions:
    """Return the effective parameters, by scikit-learn's rules and with its warnings."""
    l1_ratios = _l1_ratios(model)
    penalty = _penalty(model, l1_ratios)
    if isinstance(model.scoring, str) and model.scoring == "warn":
        warn(
            "The default value of the parameter 'scoring' will change from None, i.e. accuracy, to 'neg_log_loss' "
            "in version 1.11. To silence this warning, explicitly set the scoring parameter: "
            "scoring='neg_log_loss' for the new, scoring='accuracy' or scoring=None for the old default.",
            FutureWarning,
        )
    if isinstance(model.use_legacy_attributes, str):
        name = type(model).__name__
        warn(
            f"The fitted attributes of {name} will be simplified in scikit-learn 1.10 to remove redundancy. Set"
            "`use_legacy_attributes=False` to enable the new behavior now, or set it to `True` to silence this "
            "warning during the transition period while keeping the deprecated behavior for the time being. The "
            "default value of use_legacy_attributes will change from True to False in scikit-learn 1.10. See the "
            f"docstring of {name} for more details.",
            FutureWarning,
        )
    check_solver(model.solver, penalty, model.dual)
    if penalty == "elasticnet":
        _check_ratios(l1_ratios)
    elif l1_ratios is not None and model.penalty != "deprecated":
        warn(f"l1_ratios parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})", UserWarning)
    scoring = None if isinstance(model.scoring, str) and model.scoring == "warn" else model.scoring
    return CVOptions(
        penalty, [None] if l1_ratios is None else list(l1_ratios), scoring, bool(model.use_legacy_attributes)
    )


def checked_Cs(Cs: Any) -> Array:
    """Return the inverse strengths to try: as given, or the given number of them from 1e-4 to 1e4."""
    if isinstance(Cs, Integral):
        return np.logspace(-4, 4, int(Cs))
    values = np.asarray(Cs)
    if values.ndim != 1 or not values.size or not np.all(values > 0):
        raise DataError(f"Cs must be one or more numbers above 0, each the inverse of a penalty; got {Cs!r}.")
    return values


def _l1_ratios(model: Any) -> Any:
    if isinstance(model.l1_ratios, str):
        warn(
            "The default value for l1_ratios will change from None to (0.0,) in version 1.10. From version 1.10 "
            "onwards, only array-like with values in [0, 1] will be allowed, None will be forbidden. To avoid this "
            "warning, explicitly set a value, e.g. l1_ratios=(0,).",
            FutureWarning,
        )
        return None
    return model.l1_ratios


def _penalty(model: Any, l1_ratios: Any) -> str:
    if model.penalty != "deprecated":
        warn(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave "
            "'penalty' set to its default value and use 'l1_ratios' and 'Cs' instead. Use l1_ratios=(0,) instead "
            "of penalty='l2', l1_ratios=(1,) instead of penalty='l1', l1_ratios set to floats between 0 and 1 "
            "instead of penalty='elasticnet', and Cs=(np.inf,) instead of penalty=None.",
            FutureWarning,
        )
        return str(model.penalty)
    if model.l1_ratios is None:
        warn(
            "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use an array-like "
            "with values in [0, 1] instead.",
            FutureWarning,
        )
    if l1_ratios is None or np.all(np.asarray(l1_ratios) == 0):
        return "l2"
    return "l1" if np.all(np.asarray(l1_ratios) == 1) else "elasticnet"


def _check_ratios(l1_ratios: Any) -> None:
    is_valid = l1_ratios is not None and all(isinstance(ratio, Real) and 0 <= float(ratio) <= 1 for ratio in l1_ratios)
    if not is_valid or len(l1_ratios) == 0:
        raise DataError(
            f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios={l1_ratios!r}). Give one or "
            "more."
        )


# Fits on the folds along a grid of penalties, and their scores.

#: axes are folds, l1_ratios and Cs
Points = list[list[list[LogisticPoint]]]


@dataclass(frozen=True, eq=False)
class PenaltyGrid:
    """Strengths and kinds of penalty: every C with every share of L1."""

    Cs: Array
    l1_ratios: Sequence[float]


@dataclass(frozen=True, eq=False)
class FoldFits:
    """Fits on each fold and their scores: axes are folds, l1_ratios and Cs."""

    points: Points
    scores: Array  # (folds, l1_ratios, Cs)

    def coefficients(self, *, intercept: bool) -> Array:
        """Return coefficients of shape (folds, l1_ratios, Cs, classes, columns), the intercept last."""
        return np.array(
            [
                [[point.coefficients.joined(intercept=intercept) for point in path] for path in fold]
                for fold in self.points
            ]
        )

    def n_iter(self) -> Array:
        """Return numbers of steps, of shape (folds, l1_ratios, Cs)."""
        return np.array([[[point.n_iter for point in path] for path in fold] for fold in self.points], dtype=np.int32)

    def best(self) -> tuple[int, int]:
        """Return the positions among Cs and l1_ratios of the best mean score."""
        return _best_position(self.scores.sum(axis=0))

    def best_of_each(self) -> list[tuple[int, int]]:
        """Return the positions among Cs and l1_ratios of the best score of each fold."""
        return [_best_position(scores) for scores in self.scores]


def _best_position(scores: Array) -> tuple[int, int]:
    """Return the positions among Cs and l1_ratios of the best score; of equal scores, the one with the first C."""
    at_C, at_ratio = np.unravel_index(np.argmax(scores.T), scores.T.shape)
    return int(at_C), int(at_ratio)


def fit_folds(path: LogisticPath, grid: PenaltyGrid, trains: Sequence[Array]) -> Points:
    """Fit each fold along the grid, every C from the coefficients of the one before."""
    points = []
    for train in trains:
        fold = path.weighted(weight_in_fold(train, len(path.observations), path.observations.weight))
        points.append([_fit_along(fold, grid.Cs, ratio) for ratio in grid.l1_ratios])
    return points


def score_fits(points: Points, score: Callable[[int, LogisticPoint], float]) -> FoldFits:
    """Return the fits with the score of each on the rows left out."""
    scores = [[[score(fold, point) for point in path] for path in of_fold] for fold, of_fold in enumerate(points)]
    return FoldFits(points, np.array(scores))


def _fit_along(path: LogisticPath, Cs: Array, l1_ratio: float) -> list[LogisticPoint]:
    points: list[LogisticPoint] = []
    for C in Cs:
        point = path.at(float(C), l1_ratio, points[-1].coefficients if points else None)
        point.solution.require_completion()  # before a penalty is chosen, the model stays as it was
        points.append(check_solved(point))
    return points


def check_solved(point: LogisticPoint) -> LogisticPoint:
    """Return the fit, or raise an error if it is not finite, so that no other begins there."""
    if not np.isfinite(point.certificate.value):
        raise NonFiniteError(NOT_FINITE)
    return point


def mean_coefficients(points: Sequence[LogisticPoint]) -> Coefficients:
    """Return the mean over fits."""
    each = [point.coefficients for point in points]
    return Coefficients(np.mean([c.coef for c in each], axis=0), np.mean([c.intercept for c in each], axis=0))


@dataclass(frozen=True, eq=False)
class FoldScore:
    """Score of a fit on the rows that were left out."""

    X: Any
    y: Array
    tests: Sequence[Array]
    classes: Array
    scorer: Any  # None for the accuracy
    sample_weight: Array | None
    score_params: dict[str, Any]

    def __call__(self, fold: int, point: LogisticPoint) -> float:
        test = self.tests[fold]
        model = LogisticRegression()
        model.classes_, model.n_features_in_ = self.classes, self.X.shape[1]
        model.coef_, model.intercept_ = point.coefficients
        X, y = self.X[test], self.y[test]
        if self.scorer is None:
            weight = None if self.sample_weight is None else self.sample_weight[test]
            return float(model.score(X, y, sample_weight=weight))
        params = _check_method_params(X=self.X, params=self.score_params, indices=test)
        return float(self.scorer(model, X, y, **params))


def scorer_for(scoring: Any, classes: Array) -> Any:
    """Return the scorer, with all classes as `labels` if it takes them, since a fold need not have all classes."""
    scorer = get_scorer(scoring)
    known = inspect.signature(scorer._score_func).parameters if hasattr(scorer, "_score_func") else ()
    if "labels" not in known:
        return scorer
    positive = {"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in known else {}
    return make_scorer(
        scorer._score_func,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        labels=classes,
        **positive,
        **getattr(scorer, "_kwargs", {}),
    )


def _candidates(question: Question) -> Iterator[Candidate]:
    if question.has_enough_rows:
        model = LogisticRegressionCV(
            Cs=list(question.strengths),
            cv=question.folds,
            l1_ratios=(0,),
            scoring="neg_log_loss",
            use_legacy_attributes=False,
        )
        yield from linear_candidates(question, model)


def _with_chosen_penalty(search: LogisticRegressionCV) -> LogisticRegression:
    """Return a logistic regression with the penalty that a search has chosen, and its other parameters."""
    given = search.get_params(deep=False)
    found = LogisticRegression(C=float(search.C_), l1_ratio=float(search.l1_ratio_))
    shared = given.keys() & found.get_params(deep=False).keys() - {"penalty", "n_jobs"}
    return found.set_params(**{name: given[name] for name in shared})  # type: ignore[no-any-return]


@traits(
    "classification",
    half="linear",
    label=lambda model: type(model).__name__,
    chooses="C",
    settle=_with_chosen_penalty,
    candidates=_candidates,
    export="mercer.export.linear.logistic",
    summary="mercer.inference.reading.read_logistic_cv",
    objective="mercer.kernel_ridge.objectives.raise_for_search",
)
@stored(
    **FITTED_CLASSES,
    coef_=matrix("ud"),
    intercept_=floats("u"),
    # by class, or in arrays for all of them
    C_=either(real(), reals(".")),
    Cs_=reals("."),
    l1_ratio_=either(real(), values(".")),
    l1_ratios_=values("."),
    _penalised=part_of(PathPenalty),
    coefs_paths_=either(floats(), mapping(ANYTHING, floats())),
    scores_=either(floats(), mapping(ANYTHING, floats())),
)
class LogisticRegressionCV(LogisticCallbacks, LinearClassifier):
    """Logistic regression with the penalty of the best score on rows left out: scikit-learn's `LogisticRegressionCV`.

    Every fold is fitted along the penalties, each from the coefficients of the one before, on the rows in place.

    Parameters
    ----------
    Cs : int or array-like of shape (n_cs,), default=10
        Inverse strengths to try, or their number from 1e-4 to 1e4, evenly spaced on a logarithmic scale.
    l1_ratios : array-like of shape (n_l1_ratios,), default="warn"
        Shares of the L1 penalty to try; 0 if not given.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised, except with liblinear.
    cv : int, splitter or iterable, default=None
        Splitting; 5 stratified folds if not given.
    dual : bool, default=False
        Accepted for liblinear; the optimum is the same.
    penalty : {"l1", "l2", "elasticnet"}, default="deprecated"
        The penalty; deprecated, use `l1_ratios`.
    scoring : str, callable or None, default="warn"
        Score to maximise; the accuracy if None or not given.
    solver : {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"}, default="lbfgs"
        Determines the allowed objectives; see `LogisticRegression`.
    tol : float, default=1e-4
        Tolerance of the gradient; see `LogisticRegression`.
    max_iter : int, default=100
        Maximum number of steps.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the rows; "balanced" counts all rows, not those of a fold.
    n_jobs : int, default=None
        Accepted; every fit uses all threads, which `mercer.engine(threads=n)` bounds.
    verbose : int, default=0
        Accepted for compatibility.
    refit : bool, default=True
        Whether the best penalty is fitted to all rows; otherwise the best fits of the folds are averaged.
    intercept_scaling : float, default=1
        With liblinear, the intercept divided by this is penalised like a coefficient.
    random_state : int, RandomState or None, default=None
        Has no effect: nothing is random.
    use_legacy_attributes : bool, default="warn"
        Whether `C_`, `l1_ratio_`, `coefs_paths_`, `scores_` and `n_iter_` are repeated for every class, as before
        scikit-learn 1.8; true if not given.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the second of two classes, or of each of several.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 if there are none.
    Cs_, l1_ratios_ : ndarray
        Values tried.
    C_, l1_ratio_ : float
        Best values; averages over the folds unless `refit`.
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_cs, n_classes, n_dof)
        Coefficients of every fit, the intercept last.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Score of every fit.
    n_iter_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Steps of every fit.
    certificate_ : Certificate
        Evidence that this is the optimum; the worst of the fits averaged unless `refit`.
    diagnosis_ : Diagnosis
        For a best fit without a penalty: collinear columns, and whether the classes are separated.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they had any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(
    ...     Cs=[0.01, 1.0, 100.0], l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False
    ... ).fit(X, y)
    >>> model.C_
    100.0
    """

    # `sample_weight` is an argument of `score` that is routed to the scorer
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": metadata_routing.UNUSED}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: constraint
        for name, constraint in LOGISTIC_CONSTRAINTS.items()
        if name not in ("C", "warm_start", "l1_ratio")
    } | {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None, Hidden(StrOptions({"warn"}))],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None, Hidden(StrOptions({"warn"}))],
        "refit": ["boolean"],
        "penalty": [StrOptions({"l1", "l2", "elasticnet"}), Hidden(StrOptions({"deprecated"}))],
        "use_legacy_attributes": ["boolean", Hidden(StrOptions({"warn"}))],
    }

    #: the form of these depends on `use_legacy_attributes`
    coefs_paths_: Any
    scores_: Any
    C_: Any
    l1_ratio_: Any

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = "warn",
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = "deprecated",
        scoring: Any = "warn",
        solver: str = "lbfgs",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: Any = "warn",
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the model at every penalty, and choose.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.
        **params : dict
            Parameters of the splitter and the scorer, by metadata routing.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            _raise_for_params(params, self, "fit")
            self._learn(X, y, sample_weight, params)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        options = read_options(self)
        X, y = checked_rows(self, X, y, self.solver, [np.float64, np.float32])
        self.classes_, codes = encode_classes(y, self.solver)
        weight = self._weights(sample_weight, X, codes)
        path = LogisticPath.of(self, X, codes, weight)
        grid = PenaltyGrid(checked_Cs(self.Cs), options.ratios)
        routed = self._routed(sample_weight, params)
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, **routed.splitter.split))
        try:
            points = fit_folds(path, grid, [train for train, _ in folds])
        except NonFiniteError:
            check_finite(self, X)
            raise
        # metrics do not take numbers that come as objects
        labels = np.array(self.classes_.tolist()) if self.classes_.dtype == object else self.classes_
        scorer = None if options.scoring is None else scorer_for(options.scoring, labels)
        weight, tests = check_weight(sample_weight, X), [test for _, test in folds]
        fits = score_fits(points, FoldScore(X, labels[codes], tests, labels, scorer, weight, routed.scorer.score))
        self.plan_ = Plan("", "float64", len(path.observations.blocks()), thread_count())
        self.Cs_, self.l1_ratios_ = grid.Cs, np.asarray(options.l1_ratios)
        self.diagnosis_ = Diagnosis()
        point = self._refit_best(path, grid, fits, options) if self.refit else self._average_folds(grid, fits, options)
        self._store(point)
        raise_if_interrupted(point.solution)
        warn_if_unfinished(point, self.solver, self.max_iter)

    def _weights(self, sample_weight: Any, X: Any, codes: Array) -> Array | None:
        if isinstance(self.class_weight, dict) and not set(self.class_weight) <= set(self.classes_.tolist()):
            raise DataError(
                "The given class_weight dict must have the class labels as keys; "
                f"classes={self.classes_} but key={self.class_weight.keys()}. Leave out the others."
            )
        return row_weights(sample_weight, X, self.class_weight, self.classes_, codes)

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        if _routing_enabled():
            return process_routing(self, "fit", sample_weight=sample_weight, **params)
        score = params if sample_weight is None else params | {"sample_weight": sample_weight}
        return _manual_routing({"splitter": {}, "scorer": {"score": score}})

    def _refit_best(self, path: LogisticPath, grid: PenaltyGrid, fits: FoldFits, options: CVOptions) -> LogisticPoint:
        """Fit the best penalty to all rows."""
        at_C, at_ratio = fits.best()
        self._publish(fits, options, grid.Cs[at_C], options.l1_ratios[at_ratio])
        self._penalised = PathPenalty(float(grid.Cs[at_C]), grid.l1_ratios[at_ratio])
        start = mean_coefficients([of_fold[at_ratio][at_C] for of_fold in fits.points])
        point = path.at(*self._penalised, start)
        if not point.solution.interrupted:
            names, classes = column_names(self), list(map(str, self.classes_.tolist()))
            point, self.diagnosis_ = diagnose_point(path, check_solved(point), names, classes)
        return point

    def _average_folds(self, grid: PenaltyGrid, fits: FoldFits, options: CVOptions) -> LogisticPoint:
        """Return the mean of the best fits of the folds."""
        places = fits.best_of_each()
        each = [of_fold[at_ratio][at_C] for of_fold, (at_C, at_ratio) in zip(fits.points, places, strict=True)]
        ratio = np.mean([options.l1_ratios[r] for _, r in places]) if options.penalty == "elasticnet" else 0.0
        self._publish(fits, options, float(np.mean(grid.Cs[[at_C for at_C, _ in places]])), ratio)
        worst = max(each, key=lambda point: point.certificate.value)
        return replace(worst, coefficients=mean_coefficients(each))

    def _store(self, point: LogisticPoint) -> None:
        self.coef_, self.intercept_ = point.coefficients
        self.certificate_ = point.certificate
        path = f"{point.path} along {len(self.Cs_)} penalties, for solver={self.solver!r}"
        self.plan_ = replace(self.plan_, path=path)

    def _publish(self, fits: FoldFits, options: CVOptions, C: float, ratio: Any) -> None:
        """Set the attributes of values tried and best values, in the form that `use_legacy_attributes` selects."""
        coefficients, n_iter = fits.coefficients(intercept=self.fit_intercept), fits.n_iter()
        if not options.legacy:
            self.coefs_paths_, self.scores_, self.n_iter_ = coefficients, fits.scores, n_iter
            given = options.l1_ratios != [None]
            self.C_, self.l1_ratio_ = float(C), float(ratio) if given else float(self.penalty == "l1")
            return
        # by class, and then with axes folds, Cs and l1_ratios; the last only where any were given
        place = slice(None) if options.l1_ratios != [None] else 0
        labels = self.classes_[-coefficients.shape[3] :]
        paths = np.moveaxis(coefficients, (3, 2), (0, 2))
        self.coefs_paths_ = {label: path[:, :, place] for label, path in zip(labels, paths, strict=True)}
        self.scores_ = {label: np.swapaxes(fits.scores, 1, 2)[:, :, place] for label in labels}
        self.n_iter_ = np.swapaxes(n_iter, 1, 2)[None][..., place]
        self.C_, self.l1_ratio_ = np.repeat(C, len(labels)), np.repeat(ratio, len(labels))

    @_deprecate_positional_args(version="1.11")  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, *, sample_weight: Any = None, **score_params: Any) -> float:
        """Return the score of `scoring`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **score_params : dict
            Parameters of the scorer, by metadata routing.

        Returns
        -------
        score : float
            The accuracy, unless `scoring` is given.
        """
        _raise_for_params(score_params, self, "score")
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            weights = process_routing(self, "score", **score_params, **weights).scorer.score
        return float(self._get_scorer()(self, X, y, **weights))

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing.

        Returns
        -------
        routing : MetadataRouter
            Parameters that are passed to the splitter and the scorer.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(
                scorer=self._get_scorer(),
                method_mapping=MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score"),
            )
        )

    def _get_scorer(self) -> Any:
        is_default = isinstance(self.scoring, str) and self.scoring == "warn"
        return get_scorer("accuracy" if is_default else self.scoring or "accuracy")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.solver != "liblinear"
        return tags
