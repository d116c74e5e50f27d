"""Tests of plots of a comparison by the contents of the Axes."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression

from mercer._errors import DataError
from mercer.comparison import Comparison, compare

X, _ = load_iris(return_X_y=True)


def test_plots_are_drawn(five: Comparison, pyplot: Any) -> None:
    board = five.plot_leaderboard("accuracy")
    assert [label.get_text() for label in board.get_yticklabels()][-1] == "bayes"
    assert board.get_xlabel().startswith("accuracy")
    assert len(five.plot_calibration(["bayes"]).get_lines()) == 2
    roc = five.plot_roc(["bayes", "guess"], "setosa")
    assert roc.get_ylabel() == "true positives (setosa)"
    _, ax = pyplot.subplots()
    assert five.plot_roc(ax=ax) is ax
    with pytest.raises(DataError, match="no class 'rose'"):
        five.plot_roc(label="rose")
    with pytest.raises(DataError, match="ridge has no probabilities"):
        five.plot_calibration(["ridge"])
    with pytest.raises(DataError, match="needs classes, and the task is regression"):
        compare(X[:, :3], X[:, 3], models=[LinearRegression()], cv=2).plot_roc()
