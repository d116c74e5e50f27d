"""Which kernel machines take part, and up to how many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_circles

from mercer.base import Question, kernel_choice
from mercer.base.pipelines import strip_preparation
from mercer.comparison import compare
from mercer.comparison._entrants import select_suitable
from mercer.data import Table

pytestmark = pytest.mark.usefixtures("untuned_machines")

X, Y = make_circles(60, noise=0.05, factor=0.4, random_state=0)
LOGISTIC = "kernelize(LogisticRegression(C=10), RBF(gamma=0.5))"


def names(table: Any, task: str = "classification", outputs: int = 1) -> list[str]:
    return [entrant.name for entrant in select_suitable(Table.of(table), Question(task, outputs)).entrants]


def machines(table: Any) -> list[Any]:
    """Kernel machines for classes, without what prepares their rows."""
    entrants = select_suitable(Table.of(table), Question()).entrants
    return [strip_preparation(entrant.model) for entrant in entrants if entrant.kind == "kernel"]


def test_they_win_where_no_line_separates() -> None:
    best = {
        entry.name
        for entry in compare(X, Y, models=["SVC", LOGISTIC, "LogisticRegressionCV"], cv=3).done
        if entry.mean("accuracy") > 0.95 and entry.mean("log_loss") < 0.5
    }
    assert best == {"SVC", LOGISTIC}


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_units_of_columns_and_targets_do_not_matter(unit: float) -> None:
    target, machines = np.sin(2 * X[:, 0]) + 3, ["SVR", "KernelRidge(alpha='loo', gamma='median', kernel='rbf')"]
    plain, changed = (
        {entry.name: entry.mean("explained") for entry in compare(*data, models=machines, cv=3).entries}
        for data in ((X, target), (X * [1, unit], target * unit))
    )
    for name in machines:
        assert plain[name] > 0.9
        assert changed[name] == pytest.approx(plain[name], abs=1e-4)


def test_a_category_is_a_difference_between_rows() -> None:
    """The product of a sign and a colour, which no sum of effects tells."""
    colour = np.where(np.arange(60) % 3 == 0, "red", "blue")
    number = np.random.default_rng(0).normal(size=60)
    labels = (number > 0) == (colour == "red")
    entries = compare(
        pd.DataFrame({"n": number, "colour": colour}), labels, models=["SVC", LOGISTIC, "NaiveBayes"], cv=3
    ).entries
    accuracy = {entry.name: entry.mean("accuracy") for entry in entries}
    assert min(accuracy["SVC"], accuracy[LOGISTIC]) > 0.8 > accuracy["NaiveBayes"]


def test_too_many_rows_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_choice, "MOST_ROWS_OF_PARTS", 59)
    monkeypatch.setattr(kernel_choice, "MOST_ROWS_OF_FACTORS", 60)
    assert "SVC" not in names(X)
    assert LOGISTIC in names(X)
    assert "SVC (needs at most 59 rows)" in select_suitable(Table.of(X), Question()).notes[0]


def test_more_classes_are_more_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_choice, "MOST_ROWS_OF_FACTORS", 100)
    assert LOGISTIC in names(X, outputs=4)
    assert LOGISTIC not in names(X, outputs=5)
    told = " ".join(select_suitable(Table.of(X), Question(outputs=8)).notes)
    assert f"{LOGISTIC} (needs at most 50 rows)" in told


def test_many_rows_have_a_penalty_that_nobody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "KernelRidge(alpha='loo', gamma='median', kernel='rbf')" in names(X, "regression")
    monkeypatch.setattr(kernel_choice, "MOST_ROWS_OF_EIGENVALUES", 59)
    assert "KernelRidge(alpha=0.1, gamma='median', kernel='rbf')" in names(X, "regression")


def test_counts_have_a_log_link() -> None:
    assert "GLM(family='poisson', kernel=RBF(gamma=0.5), penalty=L2(0.1))" in names(X, "counts")


def test_prices_are_chosen_where_rows_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_choice, "MOST_TO_SEARCH_PRICE", 60)
    tuned = machines(X)
    assert [model.parameter for model in tuned] == ["C", "model__C"]
    assert all((model.fit(X, Y).predict(X) == Y).mean() > 0.9 for model in tuned)
    assert [type(model).__name__ for model in machines(np.vstack([X, X[:1]]))] == ["SVC", "Kernelized"]
