"""Predictions as named columns."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import GaussianNB, LinearSVC, Ridge
from mercer._errors import DataError, InferenceError, PriorError, ScoresOnlyError
from mercer.application.predicting import PredictionOptions, add_decision, predict_columns

X = np.array([[0.0], [0.5], [1.0], [4.0], [5.0], [6.0]])
Y = np.array([1, 1, 1, 2, 2, 2])
MODEL = GaussianNB().fit(X, Y)


def test_labels_may_be_numbers() -> None:
    columns = predict_columns(MODEL, X, PredictionOptions())
    assert list(columns) == ["prediction", "probability[1]", "probability[2]"]
    np.testing.assert_allclose(columns["probability[1]"] + columns["probability[2]"], 1)


def test_uncertain_predictions_are_replaced_by_none() -> None:
    columns = predict_columns(MODEL, np.array([[0.5], [2.3]]), PredictionOptions(probabilities=False, abstain=0.999))
    assert columns["prediction"].tolist() == ["1", None]
    assert {*columns} == {"prediction"}
    assert predict_columns(MODEL, X, PredictionOptions(abstain=0.0))["prediction"].tolist() == [
        "1",
        "1",
        "1",
        "2",
        "2",
        "2",
    ]


def test_costs_by_labels_that_json_writes_as_strings() -> None:
    model = add_decision(MODEL, costs={"1": {"2": 1000}, "2": {"1": 1}})
    columns = predict_columns(model, X, PredictionOptions())
    assert columns["expected cost"].shape == (6,)
    assert (columns["prediction"] == 1).sum() >= 3
    assert add_decision(MODEL) is MODEL


def test_a_class_that_priors_leave_out_is_named() -> None:
    with pytest.raises(PriorError, match=r"The priors leave out the class '2', and the others sum to 0\.3, not to 1"):
        add_decision(MODEL, priors={"1": 0.3})
    with pytest.raises(PriorError, match="The trained priors leave out the class '1'"):
        add_decision(MODEL, priors={"1": 0.3, "2": 0.7}, trained_priors={"2": 0.5})
    assert (predict_columns(add_decision(MODEL, priors={"1": 1.0}), X, PredictionOptions())["prediction"] == 1).all()


def test_options_that_the_model_does_not_support_are_rejected() -> None:
    scores = LinearSVC().fit(X, Y)
    assert list(predict_columns(scores, X, PredictionOptions())) == ["prediction"]
    with pytest.raises(ScoresOnlyError, match="LogisticRegression"):
        predict_columns(scores, X, PredictionOptions(abstain=0.5))
    with pytest.raises(DataError, match="from 0 to 1, not 2"):
        predict_columns(MODEL, X, PredictionOptions(abstain=2))
    with pytest.raises(InferenceError, match="--conformal"):
        predict_columns(Ridge().fit(X, Y), X, PredictionOptions(intervals=True))
