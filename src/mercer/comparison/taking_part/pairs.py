"""Generative-discriminative pairs: two models that choose among the same functions, by different likelihoods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from mercer._errors import NoCounterpartError, NoLinearFormError, NonFiniteError
from mercer.comparison.taking_part._pair_start import Start, start_of

#: (name, estimator), as a Pipeline has them
Steps = list[tuple[str, Any]]

BOUNDARY = "it learns where to decide and no probability, so that it is half of no pair; LogisticRegression is"
NUMBERS = "it predicts numbers, and the pairs are of classifiers"
ROWS = "it describes rows, and not what class they are of"
SELF = "its p(y|x) is already that of KernelBayes(shared_bandwidth=True): both halves are one model"
REASONS = {
    **dict.fromkeys(("Perceptron", "LinearThreshold", "LinearSVC", "SVC", "KernelPerceptron"), BOUNDARY),
    **dict.fromkeys(("KernelDensity", "HistogramDensity", "DensityOutliers"), ROWS),
    "NadarayaWatsonClassifier": SELF,
}
#: counts and statistics may be far from standardised, which takes more than scikit-learn's 100
MOST_STEPS = 1000
#: what makes columns of words
WORDS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer", "TfidfTransformer")


def counterpart(model: Any, *, naive: bool = False) -> Any:
    """The other half of the generative-discriminative pair that a model belongs to, on the same features, not fitted.

    Both halves have the same form on the same features. The generative one is fitted by the likelihood of rows and
    classes together, the discriminative one by that of the classes given the rows. Gaussian naive Bayes goes with a
    logistic regression on x and x² (on x, where classes share variances), a mixed or discrete naive Bayes with one on
    the sufficient statistics of its columns, linear and quadratic discriminants with one on x and on all monomials of
    degree 2, multinomial naive Bayes with a softmax on the same counts, `KernelBayes` with a kernel logistic
    regression.

    Parameters
    ----------
    model : estimator or Pipeline
        Copied, not changed. Of a Pipeline the features stay and the last step is replaced.
    naive : bool, default=False
        Of a logistic regression: whether its other half is Gaussian naive Bayes, instead of linear discriminant
        analysis.

    Returns
    -------
    estimator : estimator or Pipeline
        Where `model` is a fitted generative one, the discriminative fit begins at its `linear_form`: the logistic
        regression has `warm_start=True`, and the coefficients that make it the same classifier. A `clone` of it starts
        afresh.

    Examples
    --------
    >>> from mercer import GaussianDiscriminant, LogisticRegression, counterpart
    >>> counterpart(LogisticRegression())
    LinearDiscriminantAnalysis()
    >>> [name for name, _ in counterpart(GaussianDiscriminant("full")).steps]
    ['imputer', 'scaler', 'monomials', 'logistic']
    """
    from sklearn.base import clone

    steps, last = _parted(model)
    if isinstance(last, type) or not hasattr(last, "get_params"):
        raise NoCounterpartError(f"counterpart takes a model such as GaussianNB() or a Pipeline of one, got {last!r}.")
    before: Steps = [(name, step if isinstance(step, str) or step is None else clone(step)) for name, step in steps]
    for name in _names(last):
        if name in GENERATIVE:
            return _together(model, _discriminative(GENERATIVE[name](last), before, last))
        if name in DISCRIMINATIVE:
            return _together(model, DISCRIMINATIVE[name](last, before, naive))
    raise NoCounterpartError(f"{type(last).__name__} has no counterpart: {_reason(last)}.")


def half_of(model: Any) -> Literal["generative", "discriminative"] | None:
    """Which half of a pair a model, or the last step of a Pipeline, is; None if it is neither."""
    _, last = _parted(model)
    for name in _names(last):
        if name in GENERATIVE:
            return "generative"
        if name in DISCRIMINATIVE:
            return None if _unsuitable(last) else "discriminative"
    return None


def _parted(model: Any) -> tuple[Steps, Any]:
    """What prepares the rows, and the model of them."""
    steps: Steps = []
    while getattr(model, "steps", None):
        steps += model.steps[:-1]
        model = model.steps[-1][1]
    return steps, model


def _names(model: Any) -> list[str]:
    """Of the classes of ours that a model is of."""
    kinds = type(model).__mro__
    return [kind.__name__ for kind in kinds if kind.__module__.startswith("mercer.")]


def _reason(model: Any) -> str:
    names = _names(model)
    if not names:
        return "it is not a model of mercer; if mercer has one of the same name, use that"
    if found := next((REASONS[name] for name in names if name in REASONS), ""):
        return found
    from sklearn.base import is_regressor

    return NUMBERS if is_regressor(model) else "it is not a classifier"


def _together(given: Any, steps: Steps) -> Any:
    """Steps as a Pipeline with the settings of the one that was given; a single step as it is."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    if len(steps) == 1:
        return steps[0][1]
    taken: dict[str, int] = {}
    named: Steps = []
    for name, step in steps:
        taken[name] = taken.get(name, 0) + 1
        named.append((name if taken[name] == 1 else f"{name}-{taken[name]}", step))
    if not hasattr(given, "steps"):
        return Pipeline(named)
    pipeline = clone(given)
    pipeline.steps = named
    return pipeline


# From the joint distribution to the conditional one.

#: what a logistic regression needs to see in the place of the columns
Features = Literal["columns", "words", "monomials", "statistics", "kernel"]


def _of_gaussian_nb(model: Any) -> Features:
    return "columns" if getattr(model, "shared_variance", False) else "statistics"  # scikit-learn's has none


def _of_discriminant(model: Any) -> Features:
    if model.covariance.startswith("shared"):
        return "columns"
    return "monomials" if model.covariance == "full" else "statistics"


GENERATIVE: dict[str, Callable[[Any], Features]] = {
    "GaussianNB": _of_gaussian_nb,
    "NaiveBayes": lambda model: "statistics",
    "BernoulliNB": lambda model: "statistics",
    "CategoricalNB": lambda model: "statistics",
    "MultinomialNB": lambda model: "words",
    "ComplementNB": lambda model: "words",
    "LinearDiscriminantAnalysis": lambda model: "columns",
    "QuadraticDiscriminantAnalysis": lambda model: "monomials",
    "GaussianDiscriminant": _of_discriminant,
    "KernelBayes": lambda model: "kernel",
}


def _discriminative(features: Features, before: Steps, model: Any) -> Steps:
    from mercer.models import LogisticRegression, kernelize

    bare = not before
    if features == "kernel":
        machine = kernelize(LogisticRegression(max_iter=MOST_STEPS), _kernel_of(model))
        return [*before, *_prepared(before, scaled=not isinstance(model.bandwidth, int | float)), ("logistic", machine)]
    logistic = LogisticRegression(max_iter=MOST_STEPS)
    if (start := _start(model, features, standardised=bare)) is not None:
        logistic.set_params(warm_start=True)
        logistic.coef_, logistic.intercept_ = start
    return [*before, *_features(features, before, model), ("logistic", logistic)]


def _features(features: Features, before: Steps, model: Any) -> Steps:
    from sklearn.base import clone

    from mercer.models import GaussianNB, MonomialFeatures
    from mercer.models.linear_forms.statistic_features import StatisticFeatures

    if features == "words":
        return []
    if features == "statistics":
        # diagonal and spherical covariances of its own give a class x and x² of each column, too
        same = GaussianNB() if "GaussianDiscriminant" in _names(model) else clone(model)
        return [("statistics", StatisticFeatures(same))]
    squares = [("monomials", MonomialFeatures(2, include_bias=False))] if features == "monomials" else []
    return [*_prepared(before), *squares]


def _prepared(before: Steps, *, scaled: bool = True) -> Steps:
    """Gaps filled and columns standardised, as a penalty and distances need; what a Pipeline prepares stays so."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    for _, step in before:
        if "TableFeatures" in _names(step) and step.missing == "keep":
            step.set_params(missing="indicator")  # the other half integrates gaps out
    if before:
        return []
    scaler = [("scaler", StandardScaler())] if scaled else []
    return [("imputer", SimpleImputer(keep_empty_features=True)), *scaler]


def _kernel_of(model: Any) -> Any:
    """The same shape around every row: of a bandwidth h that is given, exp(−‖x − z‖²/2h²)."""
    from mercer.kernels import RBF

    given = isinstance(model.bandwidth, int | float)
    return RBF(sigma=float(model.bandwidth)) if given else RBF()


def _start(model: Any, features: Features, *, standardised: bool) -> Start | None:
    """Where the discriminative fit begins: where the generative one ended, if it has been fitted."""
    if not hasattr(model, "classes_") or not hasattr(model, "statistic_"):
        return None
    try:
        start = start_of(model, features, standardised=standardised)
    except (NoLinearFormError, NonFiniteError):  # infinite weights; covariances by EM, without moments of all rows
        return None
    return start if np.isfinite(start.coef).all() and np.isfinite(start.intercept).all() else None


# From the conditional distribution to the joint one.


def _of_logistic(model: Any, before: Steps, naive: bool) -> Steps:
    from sklearn.base import clone

    from mercer.models import GaussianDiscriminant, GaussianNB, LinearDiscriminantAnalysis, MultinomialNB

    kept = before[:-1]
    step: Any = before[-1][1] if before else None
    if "StatisticFeatures" in _names(step):
        return [*kept, ("model", clone(step.model))]
    if naive:
        return [*before, ("bayes", GaussianNB(shared_variance=True))]
    if "MonomialFeatures" in _names(step) and step.degree == 2 and not step.interaction_only:
        return [*kept, ("discriminant", GaussianDiscriminant())]
    if any(word in _names(step) for _, step in before for word in WORDS):
        return [*_without_signs(before), ("bayes", MultinomialNB())]
    return [*before, ("discriminant", LinearDiscriminantAnalysis())]


def _without_signs(before: Steps) -> Steps:
    """Hashed words with counts of 0 or more, which alone have a distribution."""
    for _, step in before:
        if "HashingVectorizer" in _names(step):
            step.set_params(alternate_sign=False)
    return before


def _of_glm(model: Any, before: Steps, naive: bool) -> Steps:
    if reason := _unsuitable(model):
        raise NoCounterpartError(f"{type(model).__name__} has no counterpart: {reason}.")
    if getattr(model, "kernel", None) is not None:
        return _of_kernel(model, before, naive)
    return _of_logistic(model, before, naive)


def _of_kernel(model: Any, before: Steps, naive: bool) -> Steps:
    from mercer.models import KernelBayes

    if reason := _unsuitable(model):
        raise NoCounterpartError(f"{type(model).__name__} has no counterpart: {reason}.")
    return [*before, ("windows", KernelBayes())]


def _unsuitable(model: Any) -> str:
    """Why a model that may be of numbers or of classes is of numbers."""
    inner = getattr(model, "model", None)
    if "Kernelized" in _names(model):
        return "" if any(name in DISCRIMINATIVE for name in _names(inner)) else NUMBERS
    if "GLM" in _names(model):
        from mercer.families import family_from

        classes = ("bernoulli", "categorical")
        return "" if family_from(model.family).name in classes else NUMBERS
    return ""


DISCRIMINATIVE: dict[str, Callable[[Any, Steps, bool], Steps]] = {
    "LogisticRegression": _of_logistic,
    "LogisticRegressionCV": _of_logistic,
    "GLM": _of_glm,
    "Kernelized": _of_kernel,
}
