"""Learning rules of a source: those that take a row at a time learn in one pass, the others need all rows together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from mercer import LinearThreshold, Perceptron
from tests.laws._linear import DATA, SampledRows


@pytest.mark.parametrize("model", [Perceptron(), LinearThreshold("logistic", mode="incremental", random_state=0)])
@pytest.mark.parametrize("response", ["two", "three"])
def test_online_rules_learn_chunk_by_chunk(model: Any, response: str) -> None:
    X, y, weight = DATA["X"][:, 2:] / [1.0, 1e3, 3.0], DATA[response], DATA["weight"]
    source = SampledRows(X, y, weight, rows=113)
    streamed, by_hand = clone(model).fit(source), clone(model)
    for chunk in source:
        by_hand.partial_fit(chunk.X, chunk.y, classes=np.unique(y), sample_weight=chunk.weight)
    np.testing.assert_array_equal(streamed.coef_, by_hand.coef_)
    np.testing.assert_array_equal(streamed.intercept_, by_hand.intercept_)
    np.testing.assert_array_equal(streamed.classes_, np.unique(y))
    assert streamed.plan_.passes <= 3
    wrong = streamed.predict(X) != y
    assert streamed.certificate_.value >= wrong[weight > 0].sum() > 0


def test_batch_rules_need_all_rows_together() -> None:
    X, y = DATA["X"][:100, [2, 4]], DATA["two"][:100]
    held = LinearThreshold("logistic", max_iter=5, tol=None).fit(X, y)
    streamed = LinearThreshold("logistic", max_iter=5, tol=None).fit(SampledRows(X, y, rows=30))
    np.testing.assert_array_equal(streamed.coef_, held.coef_)


@pytest.mark.parametrize(
    "model",
    [
        LinearThreshold(mode="incremental", fit_intercept=False, shuffle=False),
        Perceptron(fit_intercept=False, shuffle=False),
    ],
    ids=["lecture", "scikit-learn"],
)
@pytest.mark.parametrize("of_zero", [0, 1])
def test_a_score_of_zero_is_counted_as_predicted(model: Any, of_zero: int) -> None:
    """The row whose score is 0 is of the second of two classes in the lecture, and of the first in scikit-learn."""
    X, y = np.array([[1.0], [-1.0], [0.0]]), np.array([0, 1, of_zero])
    streamed = clone(model).fit(SampledRows(X, y))
    assert streamed.certificate_.value == (streamed.predict(X) != y).sum()
    assert streamed.certificate_.holds == (of_zero == isinstance(model, LinearThreshold))
