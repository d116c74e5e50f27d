"""Tests of the result object of a comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from mercer._errors import DataError
from mercer.comparison import Comparison, compare
from mercer.comparison.sections.whole import PAGE_SECTIONS
from tests.comparison._models import Broken

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def test_the_best_model_is_fitted_to_all_rows_once(five: Comparison) -> None:
    best = five.best_
    np.testing.assert_array_equal(best.predict(X), GaussianNB().fit(X, NAMES).predict(X))
    assert five.fitted("bayes") is best is five.entry().fitted
    assert five.fitted("guess") is not best


def test_models_and_measures_by_name(five: Comparison) -> None:
    assert five.entry("ridge").name == "ridge"
    with pytest.raises(DataError, match=r"The comparison has no model 'bays'.*'bayes'"):
        five.entry("bays")
    with pytest.raises(DataError, match=r"no measure 'acuracy' for classification.*'accuracy'"):
        five.metric("acuracy")
    mean, low, high = five.interval("bayes", "accuracy")
    assert mean == five.entry("bayes").mean("accuracy")
    assert low < mean < high <= 1


def test_a_comparison_without_a_fitted_model() -> None:
    comparison = compare(X, Y, models={"broken": Broken()}, cv=2)
    assert comparison.sentences() == ["No model could be fitted; the notes say why."]
    assert comparison.differences().rows == ()
    assert json.dumps(comparison.json(), allow_nan=False)
    with pytest.raises(DataError, match=r"None of the models could be fitted: fold 1: ValueError: not \| today"):
        _ = comparison.best_


def test_a_comparison_is_shown_as_html_and_text(five: Comparison) -> None:
    assert five._repr_html_().startswith("<table>")
    title, headings, *_ = str(five).splitlines()
    assert title == five.title
    assert "calibration error" in headings


def test_verdict_and_entries_have_a_short_repr(five: Comparison) -> None:
    verdict = five.verdict()
    assert repr(verdict).startswith("Verdict(best='bayes', ") or "best=None" in repr(verdict)
    assert f"metric={verdict.metric.name!r}" in repr(verdict)
    assert len(repr(verdict)) < 300
    assert repr(five.entry("bayes")).startswith("Entry('bayes', generative: log_loss=")
    assert max(len(repr(entry)) for entry in five.entries) < 300


def test_a_comparison_is_written_as_a_page(five: Comparison, tmp_path: Path) -> None:
    stages: list[str] = []
    path = five.report(tmp_path / "report.html", progress=lambda stage, done, total, name: stages.append(stage))
    assert stages == ["refit"] * 2 + ["page"] * (len(PAGE_SECTIONS) + 2)  # each section, the writing, and the end
    assert path == tmp_path / "report.html"
    assert "bayes" in path.read_text()


def test_a_comparison_of_regressions() -> None:
    models = {"line": LinearRegression(), "mean": DummyRegressor()}
    comparison = compare(X[:, :3], X[:, 3], models=models, cv=3)
    assert comparison.names == ["line", "mean"]
    assert comparison.sentences()[0].startswith("Use line: RMSE 0.193 on rows")
    assert comparison.frame().shape[0] == 2
    assert json.dumps(comparison.json(), allow_nan=False)
    assert [field.heading for field in comparison.leaderboard().fields[1:4]] == ["RMSE", "share explained", "MAE"]


class OfFewRows(GaussianNB):  # type: ignore[misc]
    """Cannot be fitted to all rows."""

    def fit(self, X: Any, y: Any) -> Any:
        if len(y) > 100:
            raise MemoryError("too many rows")
        return super().fit(X, y)


def test_a_page_is_written_though_the_best_model_cannot_be_fitted_to_all_rows(tmp_path: Path) -> None:
    found = compare(X, Y, models={"few": OfFewRows()}, cv=3)
    assert found.report(tmp_path / "page.html").read_text().count("few") > 1
    with pytest.raises(MemoryError, match="too many rows"):
        found.best_  # noqa: B018
