"""The rows of a fit, as the model inside is given them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as Theirs
from sklearn.model_selection import KFold

import mercer as m
from mercer._errors import DataError
from mercer.decide._training import Training, folds_of

X = np.arange(8.0)[:, None]
Y = X[:, 0] ** 2


def test_rows_are_taken_in_the_order_they_are_asked_for() -> None:
    training = Training(X, Y)
    np.testing.assert_array_equal(training.taken(np.arange(8)[::-1]), X[::-1])
    assert training.taken(np.arange(8)) is X
    frame = pd.DataFrame({"x": X[:, 0]})
    pd.testing.assert_frame_equal(Training(frame, Y).taken(np.array([5, 2])), frame.iloc[[5, 2]])


def test_weights_go_with_their_rows() -> None:
    weight = np.arange(1.0, 9.0)
    training = Training.of(m.Decision(Theirs()), X, Y, weight, {})
    np.testing.assert_array_equal(training.weight, weight)
    rows = np.array([6, 1, 3])
    expected = Theirs().fit(X[rows], Y[rows], sample_weight=weight[rows])
    np.testing.assert_allclose(training.fitted(Theirs(), rows).coef_, expected.coef_)


def test_a_model_that_is_fitted_takes_nothing() -> None:
    owner = m.Calibrated(m.GaussianNB(), cv="prefit")
    assert Training.of(owner, X, Y, np.ones(8), {"anything": 1}).parameters == {}


def test_what_is_no_training() -> None:
    owner = m.Decision(m.GaussianNB())
    with pytest.raises(DataError, match="the target y is None"):
        Training.of(owner, X, None, None, {})
    for y, weight, name in ((Y[:3], None, "y"), (Y, np.ones(3), "sample_weight")):
        with pytest.raises(DataError, match=rf"\[8, 3\]. Give one {name} for"):
            Training.of(owner, X, y, weight, {})


def test_folds() -> None:
    assert [test.tolist() for _, test in folds_of(KFold(4), Training(X, Y))] == [[0, 1], [2, 3], [4, 5], [6, 7]]

    class NoFolds:
        def split(self, X: object, y: object) -> list[object]:
            return []

    with pytest.raises(DataError, match="no folds"):
        folds_of(NoFolds(), Training(X, Y))


def test_one_fold_of_all_rows_in_another_order() -> None:
    """Errors are those of the rows they belong to."""
    rng = np.random.default_rng(0)
    order = rng.permutation(8)
    model = m.ConformalRegressor(Theirs(), cv=[(np.arange(8), order)], coverage=0.5).fit(X, Y)
    errors = np.abs(Y - Theirs().fit(X, Y).predict(X))
    np.testing.assert_allclose(model.calibration_scores_[0], errors[order])
