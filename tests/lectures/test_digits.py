"""Tests of naive Bayes on digits (lecture 5): its parameters are pictures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from mercer import BernoulliNB, GaussianNB, MultinomialNB

X, y = load_digits(return_X_y=True)
MODELS = {"gaussian": GaussianNB(), "bernoulli": BernoulliNB(binarize=8), "multinomial": MultinomialNB()}


def test_plots_show_means_spreads_and_shares_of_the_pixels() -> None:
    gaussian, bernoulli, multinomial = (model.fit(X, y) for model in MODELS.values())
    for digit in range(10):
        rows = X[y == digit]
        np.testing.assert_allclose(gaussian.theta_[digit], rows.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(gaussian.var_[digit], rows.var(axis=0), atol=1e-6)
        dark = ((rows > 8).sum(axis=0) + 1) / (len(rows) + 2)
        np.testing.assert_allclose(np.exp(bernoulli.feature_log_prob_[digit]), dark, rtol=1e-12)
        ink = (rows.sum(axis=0) + 1) / (rows.sum() + 64)
        np.testing.assert_allclose(np.exp(multinomial.feature_log_prob_[digit]), ink, rtol=1e-12)


def test_doubling_the_ink_does_not_change_multinomial_predictions() -> None:
    model = MultinomialNB(fit_prior=False).fit(X, y)
    np.testing.assert_array_equal(model.predict(2 * X), model.predict(X))


@pytest.mark.parametrize(("name", "share"), [("gaussian", 0.85), ("bernoulli", 0.88), ("multinomial", 0.90)])
def test_correlated_pixels_make_naive_bayes_overconfident(name: str, share: float) -> None:
    right, sure = [], []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = MODELS[name].fit(X[train], y[train])
        right.append(np.mean(model.predict(X[test]) == y[test]))
        sure.append(model.predict_proba(X[test]).max(axis=1).mean())
    assert abs(np.mean(right) - share) < 0.02
    assert np.mean(sure) > np.mean(right) + 0.04
