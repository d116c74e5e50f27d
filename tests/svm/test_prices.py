"""Weights of rows and classes, and the scaling of losses, in a support vector classifier."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from mercer import SVC
from mercer._errors import DataError
from tests.svm._sets import XOR, two_moons


@settings(max_examples=15)
@given(st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_weights_are_equivalent_to_repetitions(counts: list[int]) -> None:
    X, y = two_moons(40)
    weight = np.array(counts)
    assume(len(np.unique(y[weight > 0])) == 2)
    weighted = SVC(gamma=1.0, tol=1e-6).fit(X, y, sample_weight=weight)
    repeated = SVC(gamma=1.0, tol=1e-6).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_rows_of_weight_zero_have_no_effect_and_keep_their_numbers() -> None:
    X, y = load_iris(return_X_y=True)
    weight = np.ones(len(X))
    weight[::3] = 0
    weight[1] = -2
    model = SVC().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert np.all(weight[model.support_] > 0)
    alone = SVC(gamma=model._gamma).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-6)


def test_the_mean_of_losses_is_the_sum_at_another_price() -> None:
    X, y = two_moons()
    mean = SVC(C=240.0, scaling="mean").fit(X, y)
    summed = SVC(C=2.0).fit(X, y)
    np.testing.assert_allclose(mean.decision_function(X), summed.decision_function(X), atol=1e-8)
    weighted = SVC(C=240.0, scaling="mean").fit(X, y, sample_weight=np.full(len(X), 7.0))
    np.testing.assert_allclose(weighted.decision_function(X), summed.decision_function(X), atol=1e-8)


def test_the_mean_loss_is_one_for_any_weights() -> None:
    X, y = two_moons()
    heavy = SVC(scaling="mean", C=100.0).fit(X, y, sample_weight=np.full(len(y), 1e307))
    np.testing.assert_allclose(heavy.decision_function(X), SVC(scaling="mean", C=100.0).fit(X, y).decision_function(X))


def test_an_infinite_price_allows_no_violation() -> None:
    X, y = two_moons()
    model = SVC(C=np.inf, gamma=50.0).fit(X, y)
    assert model.certificate_.holds
    assert ((2 * y - 1) * model.decision_function(X)).min() > 1 - 2e-3


def test_a_negative_price_of_a_class_is_rejected() -> None:
    X, y = XOR
    with pytest.raises(DataError, match="class_weight of class 0 is -1"):
        SVC(class_weight={0: -1.0}).fit(X, y)


def test_rows_of_weight_zero_have_price_zero_even_with_infinite_prices() -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC(C=np.inf, gamma=10.0, class_weight={0: 0.0}).fit(X, y)
    assert 0 not in y[model.support_]


def test_weights_that_are_not_numbers_are_rejected() -> None:
    X, y = two_moons(20)
    with pytest.raises(DataError, match="sample_weight must be numbers"):
        SVC().fit(X, y, sample_weight=["heavy"] * 20)
    with pytest.raises(DataError, match="class 0 is 'heavy'"):
        SVC(class_weight={0: "heavy", 1: 1.0}).fit(X, y)


def test_one_class_is_rejected() -> None:
    with pytest.raises(DataError, match=r"greater than one; got 1 class.*'a'"):
        SVC().fit([[1.0], [2.0]], ["a", "a"])
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError, match="no row of class 2"):
        SVC().fit(X, y, sample_weight=(y < 2).astype(float))
