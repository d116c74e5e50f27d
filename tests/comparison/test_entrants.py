"""Who is invited to a comparison depends on the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from mercer.comparison import compare
from mercer.comparison.entrants import entrants_for
from mercer.data import Table

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 30)
NUMBERS = RNG.normal(size=(60, 3)) + Y[:, None]
COUNTS = RNG.poisson(2 + 3 * Y[:, None] * [1, 0, 1])
COMPLETE = {"LogisticRegression", "LinearThreshold", "LinearThreshold(rule='lms')"}
WITH_GAPS = {
    "GaussianNB",
    "GaussianDiscriminant(shrinkage='oas')",
    "LinearDiscriminantAnalysis",
    "GaussianDiscriminant",
}
DENSE = WITH_GAPS | COMPLETE
CATEGORICAL = "GLM(family='categorical', penalty=L2(strength=1.0, mean=0.0))"


def with_gaps(X: Any) -> Any:
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    return gaps


@pytest.mark.parametrize(
    ("X", "invited"),
    [
        (NUMBERS, DENSE),
        (with_gaps(NUMBERS), WITH_GAPS),
        (COUNTS, DENSE | {"MultinomialNB"}),
        (COUNTS > 2, DENSE | {"MultinomialNB", "BernoulliNB"}),
        (sparse.csr_array(COUNTS), COMPLETE | {"MultinomialNB"}),
        (sparse.csr_array(COUNTS > 2), COMPLETE | {"MultinomialNB", "BernoulliNB"}),
        (pd.DataFrame({"n": NUMBERS[:, 0], "c": np.where(COUNTS[:, 0] > 2, "many", None)}), set()),
        (pd.DataFrame({"n": NUMBERS[:, 0], "c": np.where(COUNTS[:, 0] > 2, "many", "few")}), {CATEGORICAL}),
    ],
    ids=[
        "numbers",
        "missing values",
        "counts",
        "bools",
        "sparse",
        "sparse bools",
        "categories with gaps",
        "categories",
    ],
)
def test_every_model_invited_can_be_fitted(X: Any, invited: set[str]) -> None:
    board = compare(X, Y, cv=2)
    assert {result.model for result in board.results} == {"NaiveBayes", *invited}
    assert [result.note for result in board.results if np.isnan(result.accuracy)] == []
    assert board.results[0].accuracy > 0.6


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_are_called_by_their_names(make: Any) -> None:
    frame = make({"age": NUMBERS[:, 0], "same": np.ones(60)})
    notes = {result.model: result.note for result in compare(frame, np.where(Y, "ill", "well"), cv=2).results}
    assert "class 'ill'" in notes["GaussianDiscriminant"]
    assert "columns 'same'" in notes["GaussianDiscriminant"]


@pytest.mark.parametrize("task", ["regression", "counts"])
@pytest.mark.parametrize(
    "X",
    [NUMBERS, pd.DataFrame({"n": NUMBERS[:, 0], "c": np.where(COUNTS[:, 0] > 2, "many", "few")})],
    ids=["numbers", "categories"],
)
def test_every_model_for_numbers_and_counts_can_be_fitted(X: Any, task: str) -> None:
    board = compare(X, RNG.poisson(np.exp(1 + NUMBERS[:, 0])), task=task, cv=2)
    assert len(board.results) >= 1
    assert [result.note for result in board.results if np.isnan(result.explained)] == []
    assert board.results[0].explained > 0.2


def test_who_stays_out_is_told_why() -> None:
    (note,) = entrants_for(Table.of(NUMBERS)).notes
    assert note == "Left out: BernoulliNB (needs columns of 0 and 1), MultinomialNB (needs counts)."
    (note,) = entrants_for(Table.of(pd.DataFrame({"colour": ["red", None]}))).notes
    assert "(needs complete columns)" in note
