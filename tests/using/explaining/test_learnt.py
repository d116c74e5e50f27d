"""What a model has learnt, as tables."""

from __future__ import annotations

import pytest

from mercer import Calibrated
from mercer._errors import NoExplanationError
from mercer.using.explaining.learnt import learnt
from mercer.using.fitting import fitted
from tests.using.explaining._table import CLASSES, FRAME


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


def test_units_are_told_of_numbers_only() -> None:
    (grid,) = learnt(fitted("LogisticRegression", FRAME.select(["c"]), CLASSES).model, most=1)
    assert grid.notes[0] == "The largest 1 of 3 coefficients."
    assert "standard units" not in " ".join(grid.notes)
