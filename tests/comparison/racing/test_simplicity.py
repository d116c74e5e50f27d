"""How simple a fitted model is to use."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from mercer import LogisticRegression
from mercer.comparison.racing.simplicity import Simplicity, simplicity_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] + RNG.normal(size=40) > 0, "yes", "no")


def test_products_of_columns_are_not_a_sum_over_columns() -> None:
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    products = make_pipeline(PolynomialFeatures(2, include_bias=False), LogisticRegression()).fit(X, Y)
    assert simplicity_of(plain, X[:1]) == Simplicity(additive=True, obstacle=None)
    assert not simplicity_of(products, X[:1]).additive


def test_a_long_formula_is_not_exported_and_says_so() -> None:
    found = simplicity_of(LogisticRegression().fit(X, Y), X[:1], most_terms=5)
    assert found.additive
    assert found.obstacle == "It is not exported: its formula would have 6 terms, one for each feature and class."
