"""Generative-discriminative pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline, make_pipeline

from mercer import (
    GLM,
    SVC,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    CountVectorizer,
    GaussianDiscriminant,
    GaussianNB,
    HashingVectorizer,
    KernelBayes,
    KernelDensity,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LinearThreshold,
    LogisticRegression,
    LogisticRegressionCV,
    MonomialFeatures,
    MultinomialNB,
    NadarayaWatsonClassifier,
    NaiveBayes,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    Ridge,
    TableFeatures,
    counterpart,
    kernelize,
)
from mercer._errors import NoCounterpartError
from mercer.comparison.pairs import half_of
from mercer.kernels import RBF

X, Y = load_iris(return_X_y=True)
COUNTS = np.round(X).astype(int)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]

OF_NUMBERS = [
    GaussianNB(),
    GaussianNB(shared_variance=True),
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    *map(GaussianDiscriminant, ("full", "diagonal", "spherical", "shared full", "shared diagonal", "shared spherical")),
    NaiveBayes(),
]
OF_COUNTS = [MultinomialNB(), ComplementNB(), BernoulliNB(binarize=2), CategoricalNB(min_categories=9)]
GENERATIVE = [*((model, X) for model in OF_NUMBERS), *((model, COUNTS) for model in OF_COUNTS)]


def named(value: Any) -> str:
    return repr(value) if hasattr(value, "get_params") else ""


def last(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def features(model: Any, rows: Any, y: Any) -> Any:
    return clone(model[:-1]).fit(rows, y).transform(rows) if isinstance(model, Pipeline) else rows


@pytest.mark.parametrize(("model", "rows"), GENERATIVE, ids=named)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_start_is_the_generative_classifier(model: Any, rows: Any, classes: int) -> None:
    """Before its fit, the logistic regression has the coefficients that give the same probabilities."""
    kept = np.isin(Y, range(3 - classes, 3))
    rows, y = rows[kept], LABELS[kept]
    fitted = clone(model).fit(rows, y)
    other = counterpart(fitted)
    start = last(other)
    assert start.warm_start
    scores = features(other, rows, y) @ start.coef_.T + start.intercept_
    scores = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    np.testing.assert_allclose(log_softmax(scores, axis=1), fitted.predict_log_proba(rows), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("model", "rows"), GENERATIVE, ids=named)
def test_the_start_does_not_change_the_optimum(model: Any, rows: Any) -> None:
    warm = counterpart(clone(model).fit(rows, LABELS)).fit(rows, LABELS)
    cold = counterpart(model).fit(rows, LABELS)
    assert not last(counterpart(model)).warm_start
    assert last(warm).certificate_.holds
    np.testing.assert_allclose(warm.predict_proba(rows), cold.predict_proba(rows), atol=1e-5)


def test_a_start_saves_steps_if_the_assumption_holds() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=5000)
    rows = rng.normal(size=(5000, 4)) + y[:, None] * [1.0, -0.5, 0.3, 0.0]
    for model in (LinearDiscriminantAnalysis(), GaussianNB(), GaussianDiscriminant()):
        warm = counterpart(clone(model).fit(rows, y)).fit(rows, y)
        cold = counterpart(model).fit(rows, y)
        assert last(warm).n_iter_[0] < last(cold).n_iter_[0]


def test_the_given_model_is_not_modified() -> None:
    model = make_pipeline(TableFeatures(missing="keep"), LinearDiscriminantAnalysis()).fit(X, LABELS)
    before = model.predict_proba(X)
    other = counterpart(model)
    assert model.steps[0][1].missing == "keep"
    assert other.steps[0][1].missing == "indicator"  # a logistic regression takes no gaps
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("model", OF_NUMBERS, ids=named)
def test_both_halves_accept_gaps(model: Any) -> None:
    rng = np.random.default_rng(0)
    rows = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    fitted = clone(model).fit(rows, LABELS)
    assert counterpart(fitted).fit(rows, LABELS).score(rows, LABELS) > 0.85
    # … also where the fit had none
    full = counterpart(clone(model).fit(X, LABELS)).fit(X, LABELS)
    assert full.score(rows, LABELS) > 0.75


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        (GaussianNB(), ["statistics", "logistic"]),
        (GaussianNB(shared_variance=True), ["imputer", "scaler", "logistic"]),
        (QuadraticDiscriminantAnalysis(), ["imputer", "scaler", "monomials", "logistic"]),
        (GaussianDiscriminant("shared full"), ["imputer", "scaler", "logistic"]),
        (GaussianDiscriminant("diagonal"), ["statistics", "logistic"]),
        (KernelBayes(), ["imputer", "scaler", "logistic"]),
        (KernelBayes(bandwidth=0.5), ["imputer", "logistic"]),
        (make_pipeline(TableFeatures(), GaussianDiscriminant()), ["tablefeatures", "monomials", "logistic"]),
        (make_pipeline(CountVectorizer(), MultinomialNB()), ["countvectorizer", "logistic"]),
    ],
    ids=named,
)
def test_the_discriminative_half_has_the_right_features(model: Any, steps: list[str]) -> None:
    assert [name for name, _ in counterpart(model).steps] == steps


def test_windows_of_a_given_width_become_a_kernel_of_that_width() -> None:
    assert last(counterpart(KernelBayes(bandwidth=0.5))).kernel == RBF(sigma=0.5)
    assert counterpart(KernelBayes()).fit(X, LABELS).score(X, LABELS) > 0.9


@pytest.mark.parametrize(
    ("model", "other"),
    [
        (LogisticRegression(), LinearDiscriminantAnalysis()),
        (LogisticRegressionCV(), LinearDiscriminantAnalysis()),
        (GLM("bernoulli"), LinearDiscriminantAnalysis()),
        (GLM("bernoulli", kernel="rbf"), KernelBayes()),
        (kernelize(LogisticRegression(), "rbf"), KernelBayes()),
        (make_pipeline(MonomialFeatures(2), LogisticRegression()), GaussianDiscriminant()),
        (make_pipeline(CountVectorizer(), LogisticRegression()), make_pipeline(CountVectorizer(), MultinomialNB())),
        (
            make_pipeline(HashingVectorizer(), LogisticRegression()),
            make_pipeline(HashingVectorizer(alternate_sign=False), MultinomialNB()),
        ),
        (counterpart(NaiveBayes(smoothing=0.5)), NaiveBayes(smoothing=0.5)),
        (counterpart(CategoricalNB(alpha=2.0)), CategoricalNB(alpha=2.0)),
    ],
    ids=named,
)
def test_a_discriminative_model_has_a_generative_counterpart(model: Any, other: Any) -> None:
    found = counterpart(model)
    assert [repr(step) for _, step in getattr(found, "steps", [("", found)])] == [
        repr(step) for _, step in getattr(other, "steps", [("", other)])
    ]


def test_the_counterpart_is_naive_bayes_on_request() -> None:
    assert repr(counterpart(LogisticRegression(), naive=True)) == repr(GaussianNB(shared_variance=True))


def test_a_pipeline_keeps_its_settings_and_names() -> None:
    model = Pipeline([("table", TableFeatures()), ("logistic", GaussianNB())], verbose=True)
    other = counterpart(model)
    assert [name for name, _ in other.steps] == ["table", "statistics", "logistic"]
    assert other.verbose
    assert other.set_params(verbose=False).fit(X, LABELS).score(X, LABELS) > 0.9


def test_infinite_weights_are_not_used_as_a_start() -> None:
    model = MultinomialNB(alpha=0, force_alpha=True).fit([[1, 0], [0, 1]], [0, 1])
    assert not hasattr(counterpart(model), "coef_")


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Perceptron(), "no probability"),
        (LinearThreshold("lms"), "no probability"),
        (LinearSVC(), "no probability"),
        (SVC(), "no probability"),
        (Ridge(), "predicts numbers"),
        (GLM("poisson"), "predicts numbers"),
        (kernelize(Ridge(), "rbf"), "predicts numbers"),
        (KernelDensity(), "describes rows"),
        (NadarayaWatsonClassifier(), "KernelBayes"),
        (TableFeatures(), "not a classifier"),
        (make_pipeline(TableFeatures(), Perceptron()), "Perceptron has no counterpart"),
        (GaussianNB, "takes a model"),
        (Pipeline([]), "not a model of mercer"),
        ("GaussianNB", "takes a model"),
    ],
    ids=named,
)
def test_a_model_without_counterpart_is_rejected_with_the_reason(model: Any, reason: str) -> None:
    with pytest.raises(NoCounterpartError, match=reason):
        counterpart(model)
    assert half_of(model) is None


def test_models_of_other_libraries_have_no_counterpart() -> None:
    from sklearn.naive_bayes import GaussianNB as Theirs

    with pytest.raises(NoCounterpartError, match="not a model of mercer"):
        counterpart(Theirs())


@pytest.mark.parametrize("model", [*OF_NUMBERS, *OF_COUNTS], ids=named)
def test_generative_and_discriminative_halves_are_distinguished(model: Any) -> None:
    assert half_of(model) == "generative"
    assert half_of(counterpart(model)) == "discriminative"
