"""Lecture 1: naive Bayes, LDA and logistic regression are one classifier where all assumptions hold, and not else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import GaussianNB, LinearDiscriminantAnalysis, LogisticRegression

ROWS = 200_000
#: noise of a coefficient is about 1/√rows times a few
CLOSE = 0.03


def directions(X: Any, y: Any) -> dict[str, Any]:
    """Weights and bias of log p(1|x) / p(0|x) by each of the three models."""
    bayes = GaussianNB(shared_variance=True).fit(X, y)
    weights = (bayes.theta_[1] - bayes.theta_[0]) / bayes.var_[0]
    middle = bayes.theta_.mean(axis=0)
    bias = np.log(bayes.class_prior_[1] / bayes.class_prior_[0]) - weights @ middle
    lda = LinearDiscriminantAnalysis().fit(X, y)
    logistic = LogisticRegression(C=np.inf).fit(X, y)
    return {
        "naive Bayes": np.append(weights, bias),
        "LDA": np.append(lda.coef_, lda.intercept_),
        "logistic": np.append(logistic.coef_, logistic.intercept_),
    }


def normal_classes(covariance: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    y = (rng.random(ROWS) < 0.4).astype(int)
    X = rng.multivariate_normal([0.0, 0.0], covariance, size=ROWS) + y[:, None] * [1.0, -0.5]
    return X, y


def test_all_three_agree_with_independent_normal_columns() -> None:
    X, y = normal_classes(np.diag([1.0, 0.5]), np.random.default_rng(0))
    found = directions(X, y)
    truth = np.array([1.0, -1.0, np.log(0.4 / 0.6) - 0.5 * (1.0 + 0.5)])
    for weights in found.values():
        np.testing.assert_allclose(weights, truth, atol=CLOSE)


def test_naive_bayes_differs_from_the_others_with_correlated_columns() -> None:
    X, y = normal_classes(np.array([[1.0, 0.6], [0.6, 1.0]]), np.random.default_rng(1))
    found = directions(X, y)
    np.testing.assert_allclose(found["LDA"], found["logistic"], atol=CLOSE)
    assert np.abs(found["naive Bayes"] - found["logistic"]).max() > 0.5


def test_lda_differs_from_logistic_regression_with_columns_that_are_not_normal() -> None:
    """x is the square of an exponential and p(1|x) logistic in x: far from two normals of one variance."""
    rng = np.random.default_rng(2)
    X = rng.exponential(size=(ROWS, 1)) ** 2
    y = (rng.random(ROWS) < 1 / (1 + np.exp(2 - X[:, 0]))).astype(int)
    found = directions(X, y)
    np.testing.assert_allclose(found["logistic"], [1.0, -2.0], atol=CLOSE)
    assert abs(found["LDA"][0] - 1.0) > 0.3


@pytest.mark.parametrize("kind", ["poisson", "gamma"])
def test_a_logistic_posterior_does_not_imply_normal_columns(kind: str) -> None:
    """Lecture 2: Poisson columns, and gamma columns of one shape, have logistic posteriors too."""
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=ROWS)
    if kind == "poisson":
        X, truth = rng.poisson(np.where(y == 1, 3.0, 2.0)), [np.log(1.5), -1.0]
    else:
        X, truth = rng.gamma(2.0, 1 / np.where(y == 1, 1.0, 1.5)), [0.5, 2 * np.log(1 / 1.5)]
    model = LogisticRegression(C=np.inf).fit(X[:, None], y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), truth, atol=CLOSE)
