"""Training rows as they are passed to the inner model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as Theirs
from sklearn.model_selection import KFold, check_cv

import mercer as m
from mercer._errors import DataError
from mercer.decision.wrapped import WrappedTraining, folds_of

X = np.arange(8.0)[:, None]
Y = X[:, 0] ** 2


def test_rows_are_taken_in_the_given_order() -> None:
    training = WrappedTraining(X, Y)
    np.testing.assert_array_equal(training.take(np.arange(8)[::-1]), X[::-1])
    assert training.take(np.arange(8)) is X
    frame = pd.DataFrame({"x": X[:, 0]})
    pd.testing.assert_frame_equal(WrappedTraining(frame, Y).take(np.array([5, 2])), frame.iloc[[5, 2]])


def test_weights_go_with_their_rows() -> None:
    weight = np.arange(1.0, 9.0)
    training = WrappedTraining.of(m.Decision(Theirs()), X, Y, weight, {})
    np.testing.assert_array_equal(training.weight, weight)
    rows = np.array([6, 1, 3])
    expected = Theirs().fit(X[rows], Y[rows], sample_weight=weight[rows])
    np.testing.assert_allclose(training.fit_copy(Theirs(), rows).coef_, expected.coef_)


def test_a_fitted_model_ignores_weights_and_parameters() -> None:
    owner = m.Calibrated(m.GaussianNB(), cv="prefit")
    assert WrappedTraining.of(owner, X, Y, np.ones(8), {"anything": 1}).parameters == {}


def test_invalid_training_data_are_rejected() -> None:
    owner = m.Decision(m.GaussianNB())
    with pytest.raises(DataError, match="the target y is None"):
        WrappedTraining.of(owner, X, None, None, {})
    for y, weight, name in ((Y[:3], None, "y"), (Y, np.ones(3), "sample_weight")):
        with pytest.raises(DataError, match=rf"\[8, 3\]. Give one {name} for"):
            WrappedTraining.of(owner, X, y, weight, {})


def test_folds_are_read_from_the_splitter() -> None:
    assert [test.tolist() for _, test in folds_of(KFold(4), WrappedTraining(X, Y))] == [[0, 1], [2, 3], [4, 5], [6, 7]]

    class NoFolds:
        def split(self, X: object, y: object) -> list[object]:
            return []

    with pytest.raises(DataError, match="no folds"):
        folds_of(NoFolds(), WrappedTraining(X, Y))


def test_folds_may_be_masks() -> None:
    held = np.arange(8) % 2 == 0
    ((train, test),) = folds_of(check_cv([(~held, held)]), WrappedTraining(X, Y))
    assert (train.tolist(), test.tolist()) == ([1, 3, 5, 7], [0, 2, 4, 6])


@pytest.mark.parametrize("owner", [m.Calibrated, m.ConformalClassifier])
def test_training_rows_are_not_held_out(owner: Any) -> None:
    every, labels = np.arange(40), np.arange(40) % 2
    rows = np.column_stack([labels + 0.1 * every, every])
    with pytest.raises(DataError, match="row 30 in both the training and the held-out rows"):
        owner(m.GaussianNB(), cv=[(every[:31], every[30:])]).fit(rows, labels)


def test_held_out_rows_in_another_order() -> None:
    """Errors belong to the rows of their fold."""
    order = np.random.default_rng(0).permutation(8)
    learnt, held = order[:5], order[5:]
    model = m.ConformalRegressor(Theirs(), cv=[(learnt, held)], coverage=0.5).fit(X, Y)
    errors = np.abs(Y - Theirs().fit(X[learnt], Y[learnt]).predict(X))
    np.testing.assert_allclose(model.calibration_scores_[0], errors[held])
