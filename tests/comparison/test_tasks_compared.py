"""Comparisons of positive amounts, ordered classes and scores that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from mercer.comparison import Comparison, compare

RNG = np.random.default_rng(0)
N = 240
FRAME = pd.DataFrame({"size": RNG.normal(size=N), "age": RNG.normal(size=N), "place": RNG.choice(["a", "b"], N)})
SCORE = FRAME["size"] + 0.5 * (FRAME["place"] == "a")
PRICES = np.exp(5 + 0.8 * SCORE + 0.2 * RNG.normal(size=N))


def classes_of(comparison: Comparison) -> set[str]:
    return {name.partition("(")[0] for name in comparison.names}


def test_amounts_have_models_with_a_log_link_which_win_if_effects_multiply() -> None:
    comparison = compare(FRAME, PRICES, cv=3)
    assert comparison.task.name == "amounts"
    assert {"LogNormalRegressor", "GLM", "LinearRegression", "Ridge"} <= classes_of(comparison)
    assert "log" in comparison.done[0].name.lower()
    linear = comparison.entry("LinearRegression")
    assert comparison.done[0].mean("rmse") < 0.8 * linear.mean("rmse")
    assert "is below 0" in linear.notes[0]
    assert all(np.isfinite(entry.scores["rmse"]).all() for entry in comparison.done)


def test_amounts_with_zeros_have_a_tweedie_model_and_no_log_transform() -> None:
    comparison = compare(FRAME, PRICES * (RNG.random(N) < 0.8), cv=3)
    assert comparison.task.name == "amounts"
    assert any("Tweedie" in name for name in comparison.names)
    assert not any("LogNormal" in name or "gamma'" in name for name in comparison.names)


def test_ordered_classes_have_proportional_odds_and_a_finite_score_for_all() -> None:
    levels = np.array(["low", "medium", "high"])
    y = levels[np.digitize(2 * SCORE + RNG.logistic(size=N), [-1, 1.5])]
    comparison = compare(FRAME, y, cv=3)
    assert comparison.task.name == "ordered"
    assert comparison.task.labels.tolist() == levels.tolist()  # type: ignore[attr-defined]
    assert "OrdinalRegression" in classes_of(comparison)
    assert all(np.isfinite(entry.scores["rps"]).all() for entry in comparison.done)
    best = comparison.fitted(next(name for name in comparison.names if name.startswith("OrdinalRegression")))
    assert best.classes_.tolist() == levels.tolist()
    assert comparison.json()["task_reason"] == comparison.task.reason


class Broken(DummyRegressor):  # type: ignore[misc]
    """Predicts something that is not a number for a row of large size."""

    def __init__(self, value: float = np.nan) -> None:
        super().__init__()
        self.value = value

    def predict(self, X: Any) -> Any:
        return np.where(np.asarray(X["size"]) == FRAME["size"].max(), self.value, 1.0)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinite")])
def test_a_model_with_predictions_that_are_not_finite_fails_with_the_fold(value: float, word: str) -> None:
    comparison = compare(FRAME, SCORE, models={"broken": Broken(value), "line": DummyRegressor()}, cv=3)
    entry = comparison.entry("broken")
    assert entry.failed
    assert comparison.names[-1] == "broken"
    assert f"the prediction is {word} for 1 row" in entry.notes[0]
    assert entry.notes[0].startswith("fold ")


def test_no_model_is_recommended_if_no_score_is_finite() -> None:
    class Far(LinearRegression):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            return np.full(len(X), 1e200)

    comparison = compare(FRAME[["size"]], SCORE, models={"far": Far()}, cv=3)
    assert np.isinf(comparison.entry("far").mean("rmse"))
    assert any("far: its RMSE is infinite in all 3 folds; it is not recommended" in note for note in comparison.notes)
    assert comparison.verdict().best is None
