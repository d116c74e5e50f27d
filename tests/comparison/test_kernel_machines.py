"""Kernel machines that take part, and their limits of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_circles

from mercer.base import Question
from mercer.base.pipelines import strip_preparation
from mercer.comparison import compare
from mercer.comparison._entrants import select_suitable
from mercer.data import Table

X, Y = make_circles(60, noise=0.05, factor=0.4, random_state=0)
LOGISTIC = "kernelize(LogisticRegression(C=10), RBF(gamma=0.5))"


def names(table: Any, task: str = "classification", outputs: int = 1) -> list[str]:
    return [entrant.name for entrant in select_suitable(Table.of(table), Question(task, outputs)).entrants]


def machines(table: Any) -> list[Any]:
    """Kernel machines for classes, without what prepares their rows."""
    entrants = select_suitable(Table.of(table), Question()).entrants
    return [strip_preparation(entrant.model) for entrant in entrants if entrant.kind == "kernel"]


def test_kernel_machines_win_if_no_line_separates() -> None:
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


def rows(n: int) -> Any:
    return np.random.default_rng(0).normal(size=(n, 2))


def test_machines_of_too_many_rows_are_left_out_with_a_note() -> None:
    assert {"SVC", LOGISTIC} <= {*names(rows(4_000))}
    assert LOGISTIC not in names(rows(4_001))
    assert "SVC" in names(rows(10_000))
    many = rows(10_001)
    assert "SVC" not in names(many)
    assert "SVC (needs at most 10,000 rows)" in select_suitable(Table.of(many), Question()).notes[0]


def test_more_classes_lower_the_largest_number_of_rows() -> None:
    table = rows(2_000)
    assert LOGISTIC in names(table, outputs=8)
    assert LOGISTIC not in names(table, outputs=9)
    notes = " ".join(select_suitable(Table.of(rows(2_001)), Question(outputs=8)).notes)
    assert f"{LOGISTIC} (needs at most 2,000 rows)" in notes


def test_the_penalty_of_many_rows_is_not_chosen() -> None:
    assert "KernelRidge(alpha='loo', gamma='median', kernel='rbf')" in names(rows(2_000), "regression")
    assert "KernelRidge(alpha=0.1, gamma='median', kernel='rbf')" in names(rows(2_001), "regression")


def test_counts_have_a_log_link() -> None:
    assert "GLM(family='poisson', kernel=RBF(gamma=0.5), penalty=L2(0.1))" in names(X, "counts")


def test_penalties_are_chosen_for_few_rows() -> None:
    tuned = machines(X)
    assert [model.parameter for model in tuned] == ["C", "model__C"]
    assert all((model.fit(X, Y).predict(X) == Y).mean() > 0.9 for model in tuned)
    assert [getattr(model, "parameter", "") for model in machines(rows(1_500))] == ["C", "model__C"]
    assert [type(model).__name__ for model in machines(rows(1_501))] == ["SVC", "Kernelized"]


def test_parameters_chosen_within_training_sets_are_noted() -> None:
    note = select_suitable(Table.of(rows(60)), Question()).notes[-1]
    assert "without the held-out rows" in note
    assert "C of LogisticRegressionCV, shrinkage of GaussianDiscriminant" in note
    assert f"C of SVC, C of {LOGISTIC}" in note
    note = select_suitable(Table.of(rows(60)), Question("regression")).notes[-1]
    assert "alpha of Ridge(alpha='loo'), alpha of LassoCV" in note
