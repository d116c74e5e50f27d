"""Read a fitted estimator and its data as a `FittedModel`; an estimator names its reader in its traits (`summary`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._errors import ColumnMismatchError, DataError, InferenceError
from mercer._suggest import listed
from mercer._typing import Array
from mercer.base import resolve, traits_of
from mercer.base.diagnosis import INTERCEPT
from mercer.base.validation import check_rows, check_table, check_weight, column_names
from mercer.data.labels import encode_labels
from mercer.data.table import Table
from mercer.families import (
    IDENTITY,
    LOGIT,
    Bernoulli,
    Categorical,
    Gaussian,
    NegativeBinomial,
    penalty_from,
    response_family_from,
)
from mercer.families.penalties import L2, ElasticNet, Penalty, Strengths
from mercer.families.response import Response
from mercer.inference._fitted import ClassRows, FittedModel, MeanRows
from mercer.inference._prediction import NewRows
from mercer.linear_model.glm import check_finite_table, read_offset
from mercer.linear_model.glm_target import is_grouped, read_target, read_trials
from mercer.linear_model.logistic_path import row_weights
from mercer.linear_model.separation import SEPARATION_CODE, weak_prior
from mercer.matrices import Matrix, Observations, Terms, matrix_of
from mercer.optim.problem import Problem
from mercer.preprocessing import TableFeatures

#: message for a model after an L1 penalty
AFTER_L1 = (
    "there are no standard errors after an L1 penalty: the same data have chosen which coefficients are not zero, and "
    "errors computed as if the choice had been made beforehand would be too small. Choose columns on one half of the "
    "rows and fit them without a penalty on the other, use an L2 penalty (which has a posterior), or bootstrap the fit."
)
#: options of the checks of X
CHECK_OPTIONS: dict[str, Any] = {"accept_sparse": ["csc", "csr"], "codes": True}


@dataclass(frozen=True, eq=False)
class FitReading:
    """A fitted model, a function that makes a design of new rows, and notes."""

    fitted: FittedModel
    #: function of X, offset and exposure: a design in the same coordinates, and an offset
    new: Callable[[Any, Any, Any], tuple[Matrix, Array | None]]
    #: names of the columns of X
    columns: list[str]
    notes: tuple[str, ...] = ()

    def predictor(self, X: Any, offset: Any, exposure: Any) -> NewRows:
        rows = NewRows(self.fitted, *self.new(X, offset, exposure))
        self.check_predictors(rows.eta, X, "predict_interval")
        return rows

    def check_predictors(self, eta: Array, X: Any, who: str) -> None:
        """Raise an error if linear predictors are not finite because of a value of X."""
        if not np.isfinite(eta).all():
            check_finite_table(Table.of(X), self.columns, estimator=who)


class FitInputs(NamedTuple):
    """Arguments of `fit` other than X and y."""

    sample_weight: Any
    offset: Any
    exposure: Any

    def check_no_offset(self, model: Any) -> None:
        if self.offset is not None or self.exposure is not None:
            raise DataError(f"{type(model).__name__} takes neither offset nor exposure; use GLM, which does.")


def make_fitted_model(problem: Problem, w: Array, names: Sequence[str], **more: Any) -> FittedModel:
    """Return the model of a problem of one linear predictor; the intercept comes first in the user's coefficients."""
    coordinates = problem.observations.design.coordinates
    to_user = coordinates.jacobian()
    if coordinates.intercept:
        to_user, names = np.roll(to_user, 1, axis=0), (INTERCEPT, *names)
    rows = MeanRows(problem.response)
    return FittedModel(problem.observations, rows, w, np.eye(len(w)), to_user, tuple(names), problem.strengths, **more)


def make_fitted_class_model(
    model: Any, observations: Observations, strengths: Strengths, names: Sequence[str], reference: Any, **more: Any
) -> FittedModel:
    """Return the model of a softmax: one predictor per class, without that of a reference class.

    Without a reference class only differences of classes are determined, so that coefficients sum to zero over the
    classes, unless a prior determines each of them.
    """
    coordinates = observations.design.coordinates
    k, p = len(model.classes_), coordinates.n_columns
    w = coordinates.from_user(model.coef_.T, model.intercept_)
    to_user = coordinates.jacobian()
    if coordinates.intercept:
        to_user, names = np.roll(to_user, 1, axis=0), (INTERCEPT, *names)
    shown = np.eye(k)[[label != reference for label in model.classes_.tolist()]]
    labels = [label for label in model.classes_.tolist() if label != reference]
    within = np.linalg.qr(np.eye(k) - 1 / k)[0][:, : k - 1] if reference is None else shown.T
    free = np.kron(within, np.eye(p))
    if reference is None and strengths.l2.any():
        # the sum over classes of a coefficient with a prior is free too
        sums = np.kron(np.full((k, 1), k**-0.5), np.eye(p)[:, strengths.l2 > 0])
        free = np.column_stack([free, sums])
    return FittedModel(
        observations,
        ClassRows(k),
        w.T.ravel(),
        free,
        np.kron(shown, to_user),
        tuple(f"{label}: {name}" for label in labels for name in names),
        Strengths(*(np.tile(part, k) for part in strengths)),
        **more,
    )


def check_same_classes(classes: Array, fitted: Array) -> None:
    """Raise an error if these are not the classes of the fit."""
    if not np.array_equal(classes, fitted):
        raise DataError(
            f"y has the classes {classes.tolist()}, but the model was fitted to {fitted.tolist()}; give the data of "
            "the fit."
        )


def read_glm(model: Any, X: Any, y: Any, inputs: FitInputs) -> FitReading:
    if model.kernel is not None:
        raise InferenceError(
            "a GLM with a kernel has no coefficients to test: its function is a sum over all rows. Bootstrap its "
            "predictions, or fit a GLM to the features themselves, e.g. kernel.feature_map(columns)."
        )
    penalty, trials = penalty_from(model.penalty), read_trials(response_family_from(model.family), y)
    table, y = check_table(model, X, trials.y, reset=False, codes=True)
    weight = trials.weighted(check_weight(inputs.sample_weight, y))
    target = read_target(model.family_, y, weight)
    drop_first = penalty is None and model.fit_intercept
    design, terms = matrix_of(table, intercept=model.fit_intercept, drop_first=drop_first, weight=weight)
    _check_same_data(model, terms.names, target.classes)
    offset = read_offset(inputs.offset, inputs.exposure, model.link_, len(y))
    observations = Observations(design, target.values, weight, offset)
    given = Strengths.none(len(terms.names)) if penalty is None else penalty.strengths(len(terms.names))
    separated = SEPARATION_CODE in model.diagnosis_.codes
    remedied = separated and model.on_separation == "ridge"
    strengths = weak_prior(observations) if remedied else design.coordinates.strengths(given)

    def new(X: Any, offset: Any, exposure: Any) -> tuple[Matrix, Array | None]:
        table, _ = check_table(model, X, reset=False, codes=True)
        return terms.design(table), read_offset(offset, exposure, model.link_, table.n_rows)

    # only the r of a negative binomial is estimated with the coefficients, and only if the user did not give it
    estimated = int(model.family_ != response_family_from(model.family) and isinstance(model.family_, NegativeBinomial))
    more = {
        "title": _title(model),
        "frequency": model.weight_kind == "frequency",
        "family_parameters": estimated,
        "trials": trials.number,
    }
    if isinstance(model.family_, Categorical):
        fitted = make_fitted_class_model(model, observations, strengths, terms.names, model.reference, **more)
    else:
        problem = Problem(observations, Response(model.family_, model.link_), strengths)
        w = design.coordinates.from_user(model.coef_, model.intercept_)
        fitted = make_fitted_model(problem, w, terms.names, firth=separated and model.on_separation == "firth", **more)
    return FitReading(fitted, new, column_names(model), _separation_notes(model))


def _title(model: Any) -> str:
    grouped = is_grouped(response_family_from(model.family))
    family = "Binomial, trials of each row" if grouped else repr(model.family_)
    return f"GLM: {family}, {model.link_.name} link"


def _separation_notes(model: Any) -> tuple[str, ...]:
    finding = next((finding for finding in model.diagnosis_ if finding.code == SEPARATION_CODE), None)
    if finding is None:
        return ()
    consequences = {
        "firth": "The estimate is Firth's, whose profile intervals are better than those above.",
        "ridge": "A weak normal prior keeps them finite.",
    }
    consequence = consequences.get(model.on_separation, "Their errors and p-values have no meaning.")
    return (f"{finding.sentence} {consequence}",)


def _check_same_data(model: Any, names: Sequence[str], classes: Array | None) -> None:
    """Raise an error if levels of categories or classes are not those of the fit."""
    if list(names) != list(model.coefficient_names_):
        other = sorted(set(names) ^ set(model.coefficient_names_))
        raise ColumnMismatchError(
            f"X has other categories than the model was fitted to: {listed(other)}; give the data of the fit."
        )
    if classes is not None:
        check_same_classes(classes, model.classes_)


def read_glm_regressor(model: Any, X: Any, y: Any, inputs: FitInputs) -> FitReading:
    """Read a `PoissonRegressor`, `GammaRegressor` or `TweedieRegressor`."""
    inputs.check_no_offset(model)
    X, y = _numbers(model, X, y)
    weight = check_weight(inputs.sample_weight, X)
    strength = model.alpha * (len(y) if weight is None else weight.sum())
    return NumericInputs(model, X, model._checked_target(y), weight, L2(strength)).reading(model._response())


def read_least_squares(model: Any, X: Any, y: Any, inputs: FitInputs) -> FitReading:
    """Read a `LinearRegression`, `Ridge` or `RidgeCV`."""
    inputs.check_no_offset(model)
    if getattr(model, "positive", False):
        raise InferenceError(
            "coefficients that were constrained to be positive have no standard errors: the estimate of one that is 0 "
            "is far from normal. Fit with positive=False, or bootstrap."
        )
    X, y = _numbers(model, X, y)
    weight, strength = check_weight(inputs.sample_weight, X), np.squeeze(getattr(model, "alpha_", 0.0))
    return NumericInputs(model, X, y, weight, L2(float(strength))).reading(Response(Gaussian(), IDENTITY))


def read_logistic(model: Any, X: Any, y: Any, inputs: FitInputs) -> FitReading:
    """Read a `LogisticRegression`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about deprecated parameters; the fit has given these warnings
        return _read_logistic(model, X, y, inputs, model._penalised())


def read_logistic_cv(model: Any, X: Any, y: Any, inputs: FitInputs) -> FitReading:
    """Read a `LogisticRegressionCV`, at the penalty that it chose."""
    if not model.refit:
        raise InferenceError(
            "refit=False has averaged the coefficients of the folds, which are not an optimum and so have no standard "
            "errors; fit with refit=True."
        )
    return _read_logistic(model, X, y, inputs, model._penalised)


def _read_logistic(model: Any, X: Any, y: Any, inputs: FitInputs, penalised: tuple[float, float]) -> FitReading:
    inputs.check_no_offset(model)
    if model.solver == "liblinear" and model.fit_intercept:
        raise InferenceError(
            "solver='liblinear' has penalised the intercept too, whose posterior is not supported; fit with another."
        )
    X, y = check_rows(model, X, y, reset=False, **CHECK_OPTIONS)
    classes, codes = encode_labels(y)
    check_same_classes(classes, model.classes_)
    weight = row_weights(inputs.sample_weight, X, model.class_weight, classes, codes)
    C, l1_ratio = penalised
    given = NumericInputs(model, X, codes.astype(np.float64), weight, ElasticNet(1 / C, l1_ratio=l1_ratio))
    return given.reading(Response(Bernoulli(), LOGIT)) if len(classes) == 2 else given.reading_of_classes()


def _numbers(model: Any, X: Any, y: Any) -> tuple[Any, Array]:
    X, y = check_rows(model, X, y, reset=False, y_numeric=True, multi_output=True, **CHECK_OPTIONS)
    y = np.asarray(y, dtype=np.float64)
    if y.ndim > 1 and y.shape[1] > 1:
        raise InferenceError(f"y has {y.shape[1]} targets; fit and summarise each of them by itself.")
    return X, y.ravel()


@dataclass(frozen=True, eq=False)
class NumericInputs:
    """Model of numeric columns without an offset, with its data and its penalty."""

    model: Any
    X: Any
    y: Array
    weight: Array | None
    penalty: Penalty

    @cached_property
    def _design(self) -> tuple[Matrix, Terms]:
        return matrix_of(self.X, intercept=self.model.fit_intercept, weight=self.weight)

    @property
    def _observations(self) -> Observations:
        return Observations(self._design[0], self.y, self.weight)

    @property
    def _strengths(self) -> Strengths:
        return self._design[0].coordinates.strengths(self.penalty.strengths(self.X.shape[1]))

    def reading(self, response: Response) -> FitReading:
        """Return the reading of a model with one linear predictor."""
        problem = Problem(self._observations, response, self._strengths)
        coefficients, intercept = np.ravel(self.model.coef_).astype(float), float(np.squeeze(self.model.intercept_))
        w = self._design[0].coordinates.from_user(coefficients, intercept)
        names = column_names(self.model)
        return FitReading(make_fitted_model(problem, w, names, title=self._title), self._new, names)

    def reading_of_classes(self) -> FitReading:
        """Return the reading of a model with a linear predictor for each class."""
        names = column_names(self.model)
        fitted = make_fitted_class_model(
            self.model, self._observations, self._strengths, names, None, title=self._title
        )
        return FitReading(fitted, self._new, names)

    @property
    def _title(self) -> str:
        return type(self.model).__name__

    def _new(self, X: Any, offset: Any, exposure: Any) -> tuple[Matrix, Array | None]:
        FitInputs(None, offset, exposure).check_no_offset(self.model)
        return self._design[1].design(check_rows(self.model, X, reset=False, **CHECK_OPTIONS)), None


def read_pipeline(
    model: Any, X: Any, y: Any, inputs: FitInputs, read: Callable[[Any, Any, Any, FitInputs], FitReading]
) -> FitReading:
    """Read the last step of a pipeline by `read`, at the features that the steps before it make of X.

    Coefficients of `TableFeatures` are expressed in terms of the columns: a standardised column in its own units
    and, if the levels of a category add up to the intercept, each level as its difference from the first. Both are
    linear in the coefficients of the features: the user's coefficients are T β.
    """
    features, last = model[:-1], model.steps[-1][1]
    reading = read(last, features.transform(X), y, inputs)
    maker = features.steps[-1][1] if len(features.steps) else None
    names = [str(name) for name in features.get_feature_names_out()] if maker is not None else []
    fitted, notes = reading.fitted, reading.notes
    n_shown = len(fitted.names) // fitted.shown_predictors
    if len(names) == n_shown - _has_intercept(fitted):
        shown = names
        change = np.eye(n_shown)
        if isinstance(maker, TableFeatures) and len(features.steps) == 1:
            shown, change, more = _in_terms_of_columns(fitted, names, maker)
            notes = (*more, *notes)
        fitted = _renamed(fitted, shown, change)

    def new(X: Any, offset: Any, exposure: Any) -> Any:
        return reading.new(features.transform(X), offset, exposure)

    return replace(reading, fitted=fitted, new=new, columns=names or reading.columns, notes=notes)


def _has_intercept(fitted: FittedModel) -> int:
    return int(fitted.observations.design.coordinates.intercept)


def _renamed(fitted: FittedModel, names: list[str], change: Array) -> FittedModel:
    """Return the fit with T β in place of β, for each predictor."""
    first = [INTERCEPT] if _has_intercept(fitted) else []
    size, k = change.shape[1], fitted.shown_predictors
    # with several predictors, each name begins with the class of its predictor
    old_first = fitted.names[0] if k == 1 else fitted.names[0].split(": ")[-1]
    prefixes = [fitted.names[i * size].removesuffix(old_first) if k > 1 else "" for i in range(k)]
    shown = tuple(f"{prefix}{name}" for prefix in prefixes for name in (*first, *names))
    return replace(fitted, names=shown, to_user=np.kron(np.eye(k), change) @ fitted.to_user)


def _in_terms_of_columns(
    fitted: FittedModel, names: list[str], features: TableFeatures
) -> tuple[list[str], Array, tuple[str, ...]]:
    """Return the names of the user's coefficients, T, and notes."""
    intercept = _has_intercept(fitted)
    shift, scale = features.feature_scales()
    change = np.diag(np.concatenate([np.ones(intercept), 1 / scale]))
    if intercept:
        # β₀ + Σ βⱼ (xⱼ − mⱼ)/sⱼ at xⱼ = 0
        change[0, 1:] = -shift / scale
    dropped = []
    if intercept and not fitted.is_penalised:
        for group in features.level_groups():
            if _adds_up(fitted, group, len(names)):
                reference = group[0]
                change[0, 1 + reference] += 1
                for j in group[1:]:
                    change[1 + j, 1 + reference] = -1
                dropped.append(reference)
    kept = [j for j in range(len(names)) if j not in dropped]
    rows = [*range(intercept), *(intercept + j for j in kept)]
    notes = ["Coefficients are per unit of the columns, which the model standardises."] if (scale != 1).any() else []
    notes += [f"Reference levels: {', '.join(names[j] for j in dropped)}."] if dropped else []
    return [names[j] for j in kept], change[rows], tuple(notes)


def _adds_up(fitted: FittedModel, group: list[int], n_features: int) -> bool:
    """Return whether every row has exactly one of these levels, so that their features add up to 1."""
    design = fitted.observations.design
    indicator = np.zeros(n_features)
    indicator[group] = 1.0
    sums = design.matvec(design.coordinates.from_user(indicator, 0.0)[:, None])
    return bool(np.allclose(sums, 1.0, rtol=0, atol=1e-8))


def raise_for_log_target(model: Any, X: Any, y: Any, inputs: FitInputs) -> FitReading:
    raise InferenceError(
        "summary is not for LogNormalRegressor: its coefficients are those of LinearRegression or Ridge of log y. Fit "
        "one of them to the logarithm of y for standard errors."
    )


def raise_for_selection(model: Any, X: Any, y: Any, inputs: FitInputs) -> FitReading:
    raise InferenceError(AFTER_L1)


def read_fit(model: Any, X: Any, y: Any, *, sample_weight: Any, offset: Any, exposure: Any) -> FitReading:
    """Read a fitted estimator or pipeline; raise `InferenceError` for one that has no standard errors."""
    check_is_fitted(model)
    inputs = FitInputs(sample_weight, offset, exposure)
    reading = read_pipeline(model, X, y, inputs, _read) if isinstance(model, Pipeline) else _read(model, X, y, inputs)
    if reading.fitted.strengths.l1.any():
        raise InferenceError(AFTER_L1)
    reading.check_predictors(reading.fitted.eta, X, "summary")
    return reading


def has_summary(model: Any) -> bool:
    """Return whether estimators of this class have a reader."""
    return traits_of(model).summary is not None


def _read(model: Any, X: Any, y: Any, inputs: FitInputs) -> FitReading:
    reader = traits_of(model).summary
    if reader is None:
        raise InferenceError(
            "summary is for linear and generalised linear models of mercer, such as LinearRegression, Ridge, "
            "LogisticRegression and GLM, and pipelines that end in one of them, not for "
            f"{type(model).__name__}; fit one of them."
        )
    return resolve(reader)(model, X, y, inputs)  # type: ignore[no-any-return]
