"""Lectures 1 to 3: generative and discriminative models, with many rows and with few, whole and damaged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from mercer import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    LinearThreshold,
    LogisticRegression,
    NaiveBayes,
    counterpart,
    learning_curves,
    stress,
)

#: maximum likelihood, without a prior on the coefficients, as the lectures have it
LOGISTIC = LogisticRegression(C=np.inf)


def normal_classes(rng: np.random.Generator, rows: int = 6000, columns: int = 10) -> tuple[Any, Any]:
    """Two normal classes with one covariance."""
    y = rng.integers(2, size=rows)
    mixing = rng.normal(size=(columns, columns)) / np.sqrt(columns) + 0.5 * np.eye(columns)
    mean = np.where(np.arange(columns) < 3, 1.0, 0.0)
    return (rng.normal(size=(rows, columns)) + y[:, None] * mean) @ mixing, y


def test_lda_beats_logistic_regression_on_few_rows_where_its_assumption_holds() -> None:
    """Lecture 2. Ten columns: LDA errs less often after 30 rows, and hardly differs after 1,000."""
    X, y = normal_classes(np.random.default_rng(0))
    curves = learning_curves(
        [LinearDiscriminantAnalysis(), LOGISTIC], X, y, sizes=[30, 1000], test_size=5000, repeats=20
    )
    few, many = curves.difference(size=30), curves.difference(size=1000)
    assert few.high < 0
    assert few.mean < -0.02
    assert abs(many.mean) < 0.005
    assert str(curves.crossover_) == "none up to 1000"


def test_logistic_regression_wins_in_the_limit_where_lda_assumes_too_much() -> None:
    """Lecture 2: if the data is non-Gaussian, then in the limit logistic regression will outperform LDA."""
    rng = np.random.default_rng(1)
    X = rng.exponential(size=(6000, 3)) ** 2
    y = (rng.random(6000) < 1 / (1 + np.exp(2 - X[:, 0] + 0.3 * X[:, 1]))).astype(int)
    curves = learning_curves(
        [LinearDiscriminantAnalysis(), LOGISTIC], X, y, sizes=[60, 3000], test_size=3000, repeats=10
    )
    assert curves.difference().low > 0.02
    assert curves.difference().mean > 0.04


def test_naive_bayes_is_ahead_first_and_behind_in_the_end_where_columns_are_correlated() -> None:
    """Ng and Jordan's two regimes, which lecture 3 cites: each half wins, at a size of its own."""
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=8000)
    common = rng.normal(size=(8000, 1))
    X = 0.5 * common + rng.normal(size=(8000, 20)) + y[:, None] * np.tile([0.6, 0.2], 10)
    curves = learning_curves(
        GaussianNB(shared_variance=True), X, y, sizes=[10, 40, 100, 300, 3000], test_size=5000, repeats=10
    )
    assert curves.difference(size=40).high < 0
    assert curves.difference().low > 0.02
    assert 40 < curves.crossover_.low < curves.crossover_.size < curves.crossover_.high < 300
    naive, logistic = curves.settled(within=0.02)
    assert naive < logistic


@pytest.mark.parametrize("family", ["poisson", "gamma"])
def test_a_logistic_posterior_needs_no_normal_columns(family: str) -> None:
    """Lecture 2: with Poisson and gamma columns, too, both halves have one limit."""
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=6000)
    mean = np.where(y[:, None] == 1, [3.0, 2.0, 5.0, 4.0], [2.0, 3.0, 4.0, 5.0])
    X = rng.poisson(mean) if family == "poisson" else rng.gamma(4.0, mean / 4)
    model = NaiveBayes(family)
    curves = learning_curves(model, X, y, sizes=[20, 3000], test_size=3000, repeats=15)
    assert curves.names == ("NaiveBayes", "LogisticRegression")
    assert abs(curves.difference("log_loss").mean) < 0.005
    if family == "poisson":  # one parameter a class and column, so that the right assumption pays from the first rows
        assert curves.difference("log_loss", size=20).mean < 0


def test_naive_bayes_settles_first_on_tumours() -> None:
    """Real data: naive Bayes has learnt what it can from a few dozen rows; logistic regression overtakes it then."""
    curves = learning_curves(
        GaussianNB(), *load_breast_cancer(return_X_y=True), sizes=[10, 20, 40, 80, 160, 379], repeats=10
    )
    naive, logistic = curves.settled()
    assert naive < logistic
    assert 20 < curves.crossover_.size < 160
    assert curves.difference().mean > 0.02


def test_missing_values_cost_generative_models_less() -> None:
    """Lecture 2, of rows to predict: half of the values removed, for all three kinds of model."""
    kinds = {
        "naive Bayes": GaussianNB(),
        "LDA": LinearDiscriminantAnalysis(),
        "logistic": counterpart(LinearDiscriminantAnalysis()),
        "LMS": LinearThreshold("lms"),
    }
    result = stress(kinds, *load_breast_cancer(return_X_y=True), missing=[0, 0.5], noise=[0, 1], repeats=3)
    accuracy = result.measured["missing"][..., 0].mean(axis=2)
    lost = dict(zip(kinds, accuracy[:, 0] - accuracy[:, 1], strict=True))
    assert max(lost["naive Bayes"], lost["LDA"]) < 0.02
    assert min(lost["logistic"], lost["LMS"]) > 0.02
    # noise that was not there in training is another matter: it contradicts what generative models know of a class
    accuracy = result.measured["noise"][..., 0].mean(axis=2)
    lost = dict(zip(kinds, accuracy[:, 0] - accuracy[:, 1], strict=True))
    assert lost["logistic"] < lost["naive Bayes"]
