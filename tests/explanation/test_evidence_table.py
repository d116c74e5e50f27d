"""The table of the contributions to one row."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mercer import SVR, GaussianNB
from mercer.application.fitting import fit_model
from mercer.explanation import explain_rows
from mercer.explanation.tables import MAX_ROW_CLASSES, evidence_grid
from tests.explanation._table import CLASSES, FRAME

RNG = np.random.default_rng(0)


def test_the_largest_of_many_classes_are_shown() -> None:
    y = np.repeat(np.arange(20), 5)
    X = y[:, None] + RNG.normal(size=(100, 2))
    model, row = GaussianNB(shared_variance=True).fit(X, y), np.array([[9.0, 9.0]])
    grid = evidence_grid(model, row, explain_rows(model, row))
    shown = [field.heading for field in grid.fields[2:]]
    proba = model.predict_proba(row)[0]
    assert shown == [str(k) for k in np.sort(np.argsort(-proba)[:MAX_ROW_CLASSES])]
    assert grid.notes[0] == "Shown are the 6 classes of 20 that are highest all together."
    assert "14 others: " in grid.notes[1]
    np.testing.assert_allclose(np.sum([line[2:] for line in grid.rows[:-1]], axis=0), grid.rows[-1][2:], atol=1e-9)


def test_all_of_a_few_classes_are_shown() -> None:
    y = np.arange(60) % 3
    X = y[:, None] + RNG.normal(size=(60, 1))
    model = GaussianNB().fit(X, y)
    grid = evidence_grid(model, X[:1], explain_rows(model, X[:1]))
    assert [field.heading for field in grid.fields[2:]] == ["0", "1", "2"]
    assert len(grid.notes) == 1
    assert "others" not in grid.notes[0]


@pytest.mark.parametrize("most", [1, 20])
def test_evidence_of_a_row_adds_up(most: int) -> None:
    model, row = fit_model("NaiveBayes", FRAME, CLASSES).model, FRAME.slice(2, 1)
    grid = evidence_grid(model, row, explain_rows(model, row), most)
    added = [line[-1] for line in grid.rows]
    assert sum(added[:-1]) == pytest.approx(added[-1])
    assert ("x", "1") in [line[:2] for line in grid.rows]
    assert grid.notes[0].startswith("Prediction: a (a: ")


def test_predictions_of_thousands_and_their_errors_are_written_in_full() -> None:
    X = RNG.normal(size=(60, 14))
    model = SVR(C=1e5).fit(X, 200_000 + 30_000 * X[:, 0] * X[:, 1] + 9_000 * X[:, 2])
    grid = evidence_grid(model, X[:1], explain_rows(model, X[:1], background=X, max_evaluations=2_000))
    text = " ".join(map(" ".join, grid.written())) + " ".join(grid.notes)
    assert "e+" not in text
    assert re.search(r"Prediction: \d{3},\d{3}\.", grid.notes[-1])
    base = grid.written()[0][2]
    assert re.fullmatch(r"\+\d{3},\d{3}", base)
