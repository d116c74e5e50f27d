"""Generative-discriminative pairs: two models of the same functions, fitted by different likelihoods."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from mercer._errors import NoCounterpartError, NoLinearFormError, NonFiniteError
from mercer._typing import Array
from mercer.base import Half, ModelKind, Traits, traits_of
from mercer.base.linear_form import CentredColumns, CentredMonomials, linear_form, statistic_scale
from mercer.base.pipelines import split_steps, strip_preparation
from mercer.comparison._inner_search import Tuned


def kind_of(model: Any) -> ModelKind:
    """Return the kind of a model, without the steps that prepare its rows; unknown models are "discriminative".

    Examples
    --------
    >>> from mercer import GaussianNB, SVC
    >>> kind_of(GaussianNB()), kind_of(SVC())
    ('generative', 'kernel')
    """
    model = innermost(model)
    return traits_of(model).kind_of(model)


def innermost(model: Any) -> Any:
    """Return a model without the steps that prepare its rows and target, and without a search for parameters."""
    model = strip_preparation(model)
    return innermost(model.model) if isinstance(model, Tuned) else model


def uses_products(model: Any) -> bool:
    """Return whether products of columns are among the features of a model."""
    steps = getattr(model, "steps", ())
    return any(traits_of(step).makes == "products" for _, step in steps)


def find_partners(models: list[Any]) -> list[int | None]:
    """Return for each model the position of its counterpart: the other half of a generative-discriminative pair.

    The pairs are those of `counterpart`: a generative model belongs to the logistic regression with the features that
    give the same functions. In a list, naive Bayes is paired with the logistic regression of the same columns, with the
    features of the latter.
    """
    roles = [_role(model) for model in models]
    return [next((roles.index(role) for role in _PARTNERS.get(mine, ()) if role in roles), None) for mine in roles]


#: roles of the possible counterparts for each role, best first
_PARTNERS = {
    "columns": ("linear",),
    "statistics": ("linear",),
    "squares": ("linear",),
    "words": ("linear",),
    "monomials": ("quadratic", "linear"),
    "kernel": ("kernelized",),
    "linear": ("words", "statistics", "squares", "columns", "monomials"),
    "quadratic": ("monomials",),
    "kernelized": ("kernel",),
}


def _role(model: Any) -> str:
    """Return the role of a model in pairs: its features, or "" without a counterpart."""
    inner = innermost(model)
    declared = traits_of(inner)
    half = declared.half_of(inner) if declared.classifies else ""
    return "quadratic" if half == "linear" and uses_products(model) else half


class StartValues(NamedTuple):
    """Coefficients in the form of `LogisticRegression`: for two classes only the second, relative to the first."""

    coef: Array
    intercept: Array


def make_start(model: Any, features: str, *, standardised: bool) -> StartValues:
    """Return the linear form of a fitted generative model, for the features of its counterpart."""
    form = linear_form(model)
    coef, intercept = form.coef, form.intercept
    if features == "statistics":
        return _relative_to_first(coef * statistic_scale(model), intercept)
    if features == "squares":
        return _relative_to_first(coef * _square_scale(model), intercept)
    if features == "words":
        return _relative_to_first(coef, intercept)
    mean, spread = _moments(model) if standardised else (np.zeros(model.n_features_in_), np.ones(model.n_features_in_))
    shape = form.feature_map.pieces[0].features
    about = shape.about if isinstance(shape, CentredColumns | CentredMonomials) else 0.0
    away = mean - about
    if features == "monomials":
        return _relative_to_first(*_expand_quadratic(coef, intercept, away, spread))
    return _relative_to_first(coef * spread, intercept + coef @ away)


def _expand_quadratic(coef: Array, intercept: Array, away: Array, spread: Array) -> tuple[Array, Array]:
    """Rewrite a quadratic function of x − about = away + spread · z in monomials of z."""
    d = len(away)
    linear, products = coef[:, :d].copy(), coef[:, d:]
    i, j = np.triu_indices(d)
    intercept = intercept + linear @ away + products @ (away[i] * away[j])
    for a, b in ((i, j), (j, i)):  # (away_i + s_i z_i)(away_j + s_j z_j) has two terms of degree 1
        np.add.at(linear.T, a, (products * away[b]).T)
    return np.hstack([linear * spread, products * (spread[i] * spread[j])]), intercept


def _moments(model: Any) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column over all rows, from the statistics of a fitted model."""
    moments, weight = model.statistic_.parts[0], model.statistic_.weight
    share = (weight / weight.sum())[:, None]
    means = np.nan_to_num(moments.mean)
    within = moments.variance if hasattr(moments, "variance") else np.diagonal(moments.covariance, axis1=1, axis2=2)
    mean = (share * means).sum(axis=0)
    variance = (share * (np.nan_to_num(within) + np.square(means - mean))).sum(axis=0)
    return mean, np.where(variance > 0, np.sqrt(variance), 1.0)


def _square_scale(model: Any) -> Array:
    """Return the units of columns and their squares, in the order of the statistics of Gaussian naive Bayes."""
    _, spread = _moments(model)
    gaps = len(linear_form(model).names) - 2 * len(spread)
    return np.append(np.column_stack([spread, spread**2]).ravel(), np.ones(gaps))


def _relative_to_first(coef: Array, intercept: Array) -> StartValues:
    if len(coef) == 2:
        return StartValues(coef[1:] - coef[:1], intercept[1:] - intercept[:1])
    return StartValues(coef - coef.mean(axis=0), intercept - intercept.mean())


#: named steps of a Pipeline
Steps = list[tuple[str, Any]]

REGRESSOR_REASON = "it predicts numbers, and the pairs are of classifiers"
#: iterations: counts and statistics that are not standardized need more than scikit-learn's 100
MAX_LOGISTIC_STEPS = 1000


def counterpart(model: Any, *, naive: bool = False) -> Any:
    """Return the unfitted other half of the generative-discriminative pair of a model, on the same features.

    Both halves have the same form on the same features. The generative one is fitted by the joint likelihood of rows
    and classes, the discriminative one by that of the classes given the rows. Gaussian naive Bayes is paired with a
    logistic regression on x and x² (on x, if classes share variances), a mixed or discrete naive Bayes with one on the
    sufficient statistics of its columns, linear and quadratic discriminants with one on x and on all monomials of
    degree 2, multinomial naive Bayes with a softmax on the same counts, `KernelBayes` with a kernel logistic
    regression.

    Parameters
    ----------
    model : estimator or Pipeline
        The model, which is not changed. In a Pipeline the features stay and the last step is replaced.
    naive : bool, default=False
        For a logistic regression: whether its counterpart is Gaussian naive Bayes instead of linear discriminant
        analysis.

    Returns
    -------
    estimator : estimator or Pipeline
        If `model` is a fitted generative one, the discriminative fit starts at its `linear_form`: the logistic
        regression has `warm_start=True` and the coefficients of the same classifier. A `clone` of it has no start.

    Examples
    --------
    >>> from mercer import GaussianDiscriminant, LogisticRegression, counterpart
    >>> counterpart(LogisticRegression())
    LinearDiscriminantAnalysis()
    >>> [name for name, _ in counterpart(GaussianDiscriminant("full")).steps]
    ['imputer', 'scaler', 'monomials', 'logistic']
    """
    from sklearn.base import clone

    steps, last = split_steps(model)
    if isinstance(last, type) or not hasattr(last, "get_params"):
        raise NoCounterpartError(f"counterpart takes a model such as GaussianNB() or a Pipeline of one, got {last!r}.")
    before: Steps = [(name, step if isinstance(step, str) or step is None else clone(step)) for name, step in steps]
    half = _traits_of_type(last).half_of(last)
    if half == "linear":
        return _make_pipeline(model, _generative_steps(before, naive=naive))
    if half == "kernelized":
        return _make_pipeline(model, _kernel_steps(before))
    if half:
        return _make_pipeline(model, _discriminative_steps(half, before, last))
    raise NoCounterpartError(f"{type(last).__name__} has no counterpart: {_reason(last)}.")


def half_of(model: Any) -> Literal["generative", "discriminative"] | None:
    """Return which half of a pair a model, or the last step of a Pipeline, is; None if it is neither."""
    _, last = split_steps(model)
    half = "" if isinstance(last, type) else _traits_of_type(last).half_of(last)
    if not half:
        return None
    return "discriminative" if half in ("linear", "kernelized") else "generative"


def _traits_of_type(model: Any) -> Traits:
    """Return the traits of a model, without those of scikit-learn's classes, which have no counterparts here."""
    return Traits() if type(model).__module__.partition(".")[0] == "sklearn" else traits_of(model)


def _reason(model: Any) -> str:
    """Return why a model has no counterpart."""
    declared = _traits_of_type(model)
    if declared == Traits() and not any(kind.__module__.startswith("mercer.") for kind in type(model).__mro__):
        return "it is not a model of mercer; if mercer has one of the same name, use that"
    if declared.no_counterpart:
        return declared.no_counterpart
    from sklearn.base import is_regressor

    return REGRESSOR_REASON if is_regressor(model) else "it is not a classifier"


def _make_pipeline(given: Any, steps: Steps) -> Any:
    """Return steps as a Pipeline with the settings of the given one; a single step as it is."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    if len(steps) == 1:
        return steps[0][1]
    counts: dict[str, int] = {}
    named: Steps = []
    for name, step in steps:
        counts[name] = counts.get(name, 0) + 1
        named.append((name if counts[name] == 1 else f"{name}-{counts[name]}", step))
    if not hasattr(given, "steps"):
        return Pipeline(named)
    pipeline = clone(given)
    pipeline.steps = named
    return pipeline


def _discriminative_steps(features: Half, before: Steps, model: Any) -> Steps:
    from mercer.kernel_ridge import kernelize
    from mercer.linear_model import LogisticRegression

    bare = not before
    if features == "kernel":
        machine = kernelize(LogisticRegression(max_iter=MAX_LOGISTIC_STEPS), _kernel_of(model))
        return [
            *before,
            *_preparation_steps(before, scaled=not isinstance(model.bandwidth, int | float)),
            ("logistic", machine),
        ]
    logistic = LogisticRegression(max_iter=MAX_LOGISTIC_STEPS)
    if (start := _find_start(model, features, standardised=bare)) is not None:
        logistic.set_params(warm_start=True)
        logistic.coef_, logistic.intercept_ = start
    return [*before, *_feature_steps(features, before, model), ("logistic", logistic)]


def _feature_steps(features: Half, before: Steps, model: Any) -> Steps:
    from sklearn.base import clone

    from mercer.naive_bayes import GaussianNB
    from mercer.preprocessing import MonomialFeatures
    from mercer.preprocessing.statistics import StatisticFeatures

    if features == "words":
        return []
    if features in ("statistics", "squares"):  # for Gaussian naive Bayes the columns and their squares
        return [("statistics", StatisticFeatures(GaussianNB() if features == "squares" else clone(model)))]
    squares = [("monomials", MonomialFeatures(2, include_bias=False))] if features == "monomials" else []
    return [*_preparation_steps(before), *squares]


def _preparation_steps(before: Steps, *, scaled: bool = True) -> Steps:
    """Return steps that fill gaps and standardize columns; none if a Pipeline prepares the columns."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    from mercer.preprocessing import TableFeatures

    for _, step in before:
        if isinstance(step, TableFeatures) and step.missing == "keep":
            step.set_params(missing="indicator")  # the other half integrates gaps out
    if before:
        return []
    scaler = [("scaler", StandardScaler())] if scaled else []
    return [("imputer", SimpleImputer(keep_empty_features=True)), *scaler]


def _kernel_of(model: Any) -> Any:
    """Return the kernel of the same shape: exp(−‖x − z‖²/2h²) for a given bandwidth h."""
    from mercer.kernels import RBF

    given = isinstance(model.bandwidth, int | float)
    return RBF(sigma=float(model.bandwidth)) if given else RBF()


def _find_start(model: Any, features: Half, *, standardised: bool) -> StartValues | None:
    """Return start values from a fitted generative model; None if it is not fitted or has no finite ones."""
    if not hasattr(model, "classes_") or not hasattr(model, "statistic_"):
        return None
    try:
        start = make_start(model, features, standardised=standardised)
    except (NoLinearFormError, NonFiniteError):  # infinite weights; covariances by EM, without moments of all rows
        return None
    return start if np.isfinite(start.coef).all() and np.isfinite(start.intercept).all() else None


def _generative_steps(before: Steps, *, naive: bool) -> Steps:
    from sklearn.base import clone

    from mercer.discriminant_analysis import GaussianDiscriminant, LinearDiscriminantAnalysis
    from mercer.naive_bayes import GaussianNB, MultinomialNB
    from mercer.preprocessing import MonomialFeatures
    from mercer.preprocessing.statistics import StatisticFeatures

    kept = before[:-1]
    step: Any = before[-1][1] if before else None
    if isinstance(step, StatisticFeatures):
        return [*kept, ("model", clone(step.model))]
    if naive:
        return [*before, ("bayes", GaussianNB(shared_variance=True))]
    if isinstance(step, MonomialFeatures) and step.degree == 2 and not step.interaction_only:
        return [*kept, ("discriminant", GaussianDiscriminant())]
    if any(_traits_of_type(step).makes == "words" for _, step in before):
        return [*_drop_signs(before), ("bayes", MultinomialNB())]
    return [*before, ("discriminant", LinearDiscriminantAnalysis())]


def _drop_signs(before: Steps) -> Steps:
    """Make hashed words counts of 0 or more, which a multinomial distribution needs."""
    for _, step in before:
        if hasattr(step, "alternate_sign") and _traits_of_type(step).makes == "words":
            step.set_params(alternate_sign=False)
    return before


def _kernel_steps(before: Steps) -> Steps:
    from mercer.density import KernelBayes

    return [*before, ("windows", KernelBayes())]
