"""Gradient-boosted trees as a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from mercer import LogisticRegression
from mercer.application.task_choice import task_for
from mercer.base import Question
from mercer.comparison import compare
from mercer.comparison._entrants import select_suitable, sort_by_cost
from mercer.comparison._reference import make_reference
from mercer.data import Table

RNG = np.random.default_rng(0)
N = 240
X = pd.DataFrame(
    {
        "amount": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N)),
        "colour": RNG.choice(["red", "green", "blue"], size=N),
        "day": pd.date_range("2020-01-01", periods=N // 2).repeat(2),
        "remark": RNG.choice(["late and wet in the rain again", "early and dry in the sun today"], size=N),
        "number": np.arange(N),
    }
)
CLASSES = np.where((X["colour"] == "red") ^ (X["amount"].fillna(0) > 0), "yes", "no")


def test_a_missing_reference_is_noted_with_the_reason() -> None:
    numbers = RNG.normal(size=(120, 2))
    many = compare(numbers, np.arange(120) % 60, models=["GaussianNB"], cv=2, reference=True, task="classification")
    assert many.reference is None
    assert "There is no reference: there are 60 classes, and it takes part for up to 50." in many.notes
    sparse = csr_matrix(np.abs(numbers))
    rare = compare(sparse, np.arange(120) % 2, models=[LogisticRegression()], cv=2, reference=True)
    assert "There is no reference: gradient-boosted trees of scikit-learn do not accept sparse features." in rare.notes
    without = compare(sparse, np.arange(120) % 2, models=[LogisticRegression()], cv=2)
    assert not any("reference" in note for note in without.notes)


def test_the_reference_learns_from_gaps_categories_dates_and_words() -> None:
    """The class is an exclusive or, which no sum over columns can express."""
    found = compare(X, CLASSES, models=["LogisticRegression"], cv=3, reference=True)
    assert found.reference is not None
    assert found.reference.kind == "reference"
    assert found.reference.mean("accuracy") > 0.9 > found.entry().mean("accuracy")
    assert found.verdict().best is not found.reference
    assert found.verdict().sentences[-1].startswith("The reference, HistGradientBoostingClassifier, has log loss")
    assert found.reference.name not in found.names
    assert [model["kind"] for model in found.json()["models"]].count("reference") == 1


def test_named_models_are_compared_without_the_reference_unless_requested() -> None:
    assert compare(X, CLASSES, models=["LogisticRegression"], cv=2).reference is None
    assert compare(X[["amount"]], CLASSES, cv=2, reference=False).reference is None


@pytest.mark.parametrize(
    ("y", "task", "loss"),
    [
        (RNG.poisson(3, N), "counts", "poisson"),
        (RNG.normal(size=N), "regression", "squared_error"),
        (CLASSES, "classification", "log_loss"),
    ],
)
def test_its_loss_suits_the_task(y: Any, task: str, loss: str) -> None:
    table = Table.of(X, dates=True)
    found = make_reference(table, task_for(y, N, task))
    assert found is not None
    assert found.model[-1].loss == loss


def test_many_classes_have_fewer_rounds() -> None:
    table = Table.of(X, dates=True)
    few, many = (make_reference(table, task_for(np.arange(N) % k, N, "classification")) for k in (3, 40))
    assert few is not None
    assert many is not None
    assert few.model[-1].max_iter == 100
    assert many.model[-1].max_iter == 12
    assert make_reference(table, task_for(np.arange(N) % 60, N, "classification")) is None


def test_unseen_levels_count_as_missing() -> None:
    found = make_reference(Table.of(X, dates=True), task_for(CLASSES, N))
    assert found is not None
    model = found.model.fit(X, CLASSES)
    new = X.head(3).assign(colour=["red", "violet", None])
    codes = model[0].transform(new)[:, 1]
    assert np.isnan(codes).tolist() == [False, True, True]
    assert len(model.predict(new)) == 3


def test_its_trees_split_small_tables() -> None:
    """With 20 rows in each leaf, as usual, 30 rows would all have the same prediction."""
    small = pd.DataFrame({"x": RNG.normal(size=30)})
    y = np.where(small["x"] > 0, 10.0, -10.0) + RNG.normal(size=30)
    found = make_reference(Table.of(small), task_for(y, 30, "regression"))
    assert found is not None
    assert np.abs(found.model.fit(small, y).predict(small) - y).mean() < 3


def test_too_many_numerical_columns_are_reduced_to_those_with_the_largest_F() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 60)
    wide = pd.DataFrame(rng.normal(size=(60, 700))).rename(columns=lambda j: f"x{j}")
    wide.iloc[:, [5, 600]] += y[:, None]
    wide.iloc[3, 5], wide["still"] = np.nan, 1.0
    wide["colour"] = rng.choice(["red", "green", "blue"], 60)
    for target, task, name in ((y.astype(str), "classification", "Classifier"), (y * 1.5, "regression", "Regressor")):
        found = make_reference(Table.of(wide), task_for(target, 60, task))
        assert found is not None
        assert found.name == f"HistGradientBoosting{name} on the 500 columns of highest F"
        model = found.model.fit(wide, target)
        assert len(model[0].kept_) == 500
        assert {"x5", "x600"} <= set(model[0].kept_)
        assert model[-1].n_features_in_ == 501
        assert model[-1].is_categorical_.tolist() == [True] + [False] * 500
        assert len(model.predict(wide.head(3))) == 3


@pytest.mark.parametrize(("columns", "place"), [(20, -1), (70, 1)])
def test_the_reference_is_second_on_tables_of_more_columns_than_rows(columns: int, place: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, columns)), np.arange(60) % 2
    table = Table.of(X)
    reference = make_reference(table, task_for(y, 60, "classification"))
    assert reference is not None
    others = [each for each in select_suitable(table, Question()).entrants if each.kind in ("baseline", "generative")]
    assert sort_by_cost([*others, reference])[place] is reference
