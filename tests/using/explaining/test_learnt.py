"""What a model has learnt, and what it says of a row, as tables; and a model in a few lines."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mercer import Calibrated
from mercer._errors import NoExplanationError
from mercer.using.explaining.described import described
from mercer.using.explaining.evidence_table import evidence_grid
from mercer.using.explaining.explanation import explain_rows
from mercer.using.explaining.learnt import learnt
from mercer.using.fitting import fitted

FRAME = pa.table({"x": [i % 9 / 2 for i in range(60)], "c": ["u", "v", None] * 20})
CLASSES = ["a" if i % 9 < 4 else "b" for i in range(60)]


def test_tables_of_naive_bayes_and_coefficients() -> None:
    numbers, levels = learnt(fitted("NaiveBayes", FRAME, CLASSES).model)
    assert [field.heading for field in numbers.fields] == ["column", "a", "b"]
    assert [row[:2] for row in levels.rows] == [("c", "u"), ("c", "v")]
    (grid,) = learnt(fitted("LogisticRegression", FRAME, CLASSES).model)
    assert grid.rows[0][0] == "x"
    assert grid.notes[0].startswith("Intercept: ")
    assert "adds to the log odds of b against a. Numbers were put in standard units" in grid.notes[1]
    assert learnt(Calibrated(fitted("NaiveBayes", FRAME, CLASSES).model, cv="prefit").fit(FRAME, CLASSES))


def test_a_kernel_machine_has_none() -> None:
    with pytest.raises(NoExplanationError, match="SVC has neither"):
        learnt(fitted("SVC", FRAME, CLASSES).model)


@pytest.mark.parametrize("most", [1, 20])
def test_evidence_of_a_row_adds_up(most: int) -> None:
    model, row = fitted("NaiveBayes", FRAME, CLASSES).model, FRAME.slice(2, 1)
    grid = evidence_grid(model, row, explain_rows(model, row), most)
    added = [line[-1] for line in grid.rows]
    assert sum(added[:-1]) == pytest.approx(added[-1])
    assert ("x", "1") in [line[:2] for line in grid.rows]
    assert grid.notes[0].startswith("Prediction: a (a: ")


def test_described() -> None:
    lines = list(described(fitted("LogisticRegression", FRAME, CLASSES).model))
    assert lines[0] == "LogisticRegression()"
    assert "Classes: 'a', 'b'" in lines
    assert "x       number" in lines[-1]


def test_what_is_around_a_model_is_described_in_a_line() -> None:
    lines = list(described(fitted("LogisticRegression", FRAME, CLASSES, settings={"C": 3}, conformal=0.8).model))
    assert lines[:2] == ["LogisticRegression(C=3)", "within Pipeline, within ConformalClassifier"]
    lines = list(described(fitted("NaiveBayes", FRAME, CLASSES).model))
    assert lines[0] == "NaiveBayes()"  # whose families are the table below
    assert "c       category" in lines[-1]


def test_units_are_told_of_numbers_only() -> None:
    (grid,) = learnt(fitted("LogisticRegression", FRAME.select(["c"]), CLASSES).model, most=1)
    assert grid.notes[0] == "The largest 1 of 3 coefficients."
    assert "standard units" not in " ".join(grid.notes)
