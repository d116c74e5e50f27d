"""Tests of fitted models on the table of a comparison: explanation, storage, export and prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.comparison import compare
from mercer.explanation.tables import likelihood_grids
from tests.export._languages import check

N = 90
RNG = np.random.default_rng(1)
AGES = RNG.normal(45, 10, size=N)
ILL = np.where(AGES + RNG.normal(size=N) * 8 > 45, "yes", "no")
NUMBERS = pd.DataFrame(
    {"rownames": np.arange(1, N + 1), "age": AGES, "stage": RNG.integers(1, 6, N), "smoker": RNG.integers(0, 2, N)}
)
BITS = pd.DataFrame({"rownames": np.arange(1, N + 1), "old": (AGES > 40).astype(int), "smoker": RNG.integers(0, 2, N)})
MIXED = NUMBERS.assign(sex=RNG.choice(["male", "female"], N), since=pd.date_range("2024-01-01", periods=N))


@pytest.mark.parametrize(
    ("name", "X"),
    [
        ("NaiveBayes", MIXED),
        ("GaussianDiscriminant", MIXED),
        ("GaussianNB", MIXED),
        ("NaiveBayes(smoothing=2)", MIXED),
        ("GaussianNB", NUMBERS),
        ("BernoulliNB", BITS),
        ("MultinomialNB", BITS),
    ],
)
def test_a_model_accepts_the_table_it_was_compared_on(name: str, X: pd.DataFrame, tmp_path: Path) -> None:
    """Row numbers, and columns that it is not shown, may be there or not, and the others in any order."""
    comparison = compare(X, ILL, models=[name], cv=2)
    best = comparison.best_
    expected = best.predict_proba(X)
    others = X.drop(columns="rownames")
    np.testing.assert_array_equal(best.predict_proba(others[others.columns[::-1]]), expected)
    mercer.save(comparison, tmp_path / "model.mercer")
    loaded: Any = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.predict_proba(X), expected)
    explained = mercer.explain_rows(best, X.head(12))
    assert explained.method == "exact"
    assert set(explained.names) <= set(others.columns)
    check(best, X)


def test_likelihoods_are_of_the_columns_that_were_selected() -> None:
    (grid,) = likelihood_grids(compare(NUMBERS, ILL, models=["GaussianNB"], cv=2).best_)
    assert [row[0] for row in grid.rows] == ["age", "stage", "smoker"]


def test_columns_of_an_array_are_selected_by_their_places() -> None:
    X = np.column_stack([[f"key {place:03d}" for place in RNG.permutation(N)], AGES, RNG.choice(["m", "f"], N)])
    X = X.astype(object)
    X[:, 1] = AGES
    best = compare(X, ILL, models=["NaiveBayes"], cv=2).best_
    alone = compare(X[:, 1:], ILL, models=["NaiveBayes"], cv=2).best_
    np.testing.assert_array_equal(best.predict_proba(X), alone.predict_proba(X[:, 1:]))
    rows, _ = best.sample(3, random_state=0)
    assert rows.shape == (3, 3)
