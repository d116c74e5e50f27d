"""Models that cannot be exported are recognised beforehand, with a reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import mercer as m
from mercer.export import obstacle

X, Y = np.arange(24.0).reshape(12, 2), np.repeat([0, 1], 6)


def test_a_model_that_can_be_exported_has_no_obstacle() -> None:
    assert obstacle(m.LogisticRegression().fit(X, Y)) is None


def test_trees_are_not_exported() -> None:
    reason = obstacle(HistGradientBoostingClassifier(max_iter=2).fit(X, Y))
    assert reason is not None
    assert reason.startswith("HistGradientBoostingClassifier cannot be exported")


def test_the_remaining_languages_are_named() -> None:
    model = m.NaiveBayes().fit(pd.DataFrame({"city": ["Bad  Ulm", "Bad Ulm", "Bonn"] * 4}), ["a", "b", "a"] * 4)
    assert obstacle(model, "sql") is None
    assert obstacle(model, "onnx") == (
        "Column 'city' cannot be exported: two of its values differ only in the number of spaces between words, which "
        "ONNX cannot distinguish."
    )
    reason = obstacle(model)
    assert reason is not None
    assert reason.startswith("It can be exported to SQL and Python only: column 'city'")
