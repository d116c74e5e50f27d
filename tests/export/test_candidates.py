"""Every model that takes part in a comparison can be exported, or says why not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from mercer.application.task_choice import task_for
from mercer.application.training_table import TrainingTable
from mercer.base import Question
from mercer.comparison._cross_validation import replace_search
from mercer.comparison._entrants import ColumnViews, baseline_candidate, candidates_for, describe_columns
from mercer.data import Table
from mercer.export import obstacle
from tests.export._languages import check

ROWS = 90
RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame({"age": RNG.uniform(18, 80, ROWS), "size": RNG.normal(size=ROWS)}).mask(
    RNG.random((ROWS, 2)) < 0.05
)
MIXED = NUMBERS.assign(
    city=RNG.choice(["Bad Ems", "Ulm", "Bonn"], ROWS),
    member=RNG.random(ROWS) < 0.5,
    since=pd.Series(pd.date_range("2020-01-01", periods=ROWS, freq="9D")).mask(RNG.random(ROWS) < 0.05),
)
WORDS = ["free", "call", "now", "tea", "cake", "house", "garden", "river", "stone", "cloud"]
SAID = pd.Series([f"{' '.join(RNG.choice(WORDS, 6))} number {j}" for j in range(ROWS)])
SCORE = MIXED["size"].fillna(0) + (MIXED["city"] == "Ulm") + RNG.normal(size=ROWS)


@pytest.mark.parametrize("frame", [NUMBERS, MIXED, MIXED.assign(output=SAID)], ids=["numbers", "mixed", "text"])
@pytest.mark.parametrize(
    ("task", "y"),
    [
        ("classification", np.where(SCORE > 0, "yes", "no")),
        ("regression", SCORE),
        ("amounts", np.exp(SCORE)),
        ("counts", RNG.poisson(np.exp(SCORE / 2))),
        ("ordered", np.digitize(SCORE, [-1.0, 0.0, 1.0])),
    ],
    ids=["classification", "regression", "amounts", "counts", "ordered"],
)
def test_all_models_of_a_comparison_can_be_exported(task: str, y: Any, frame: pd.DataFrame) -> None:
    values = np.asarray(y)
    training = TrainingTable.of(Table.of(frame, dates=True))
    question = describe_columns(training, Question.of(task_for(values, ROWS, task), None))
    views = ColumnViews(training, question)
    for candidate in map(views.show, (baseline_candidate(question), *candidates_for(question))):
        rows = candidate.table.native
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = replace_search(clone(candidate.model).fit(rows, values), rows, values)
            except ValueError:  # a model that the columns do not suit, which is not listed
                continue
        reason = obstacle(model)
        if "LocalLinear" in repr(model):
            assert reason is not None
            assert reason.startswith("LocalLinear cannot be exported: it solves")
            continue
        assert reason is None
        # a baseline reads no column, and does not know of which kind the first is, which ONNX takes
        is_baseline = isinstance(model, DummyClassifier | DummyRegressor)
        check(model, rows, languages=("sql", "python") if is_baseline else ("sql", "python", "onnx"))
