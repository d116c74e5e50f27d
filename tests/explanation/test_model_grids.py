"""Tables of the fitted parameters of a model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import GLM, SVC, Calibrated, NaiveBayes
from mercer._errors import NoExplanationError
from mercer.application.fitting import fit_model
from mercer.explanation.tables import model_grids
from mercer.families import L2
from tests.explanation._table import CLASSES, FRAME


def test_tables_of_naive_bayes_and_coefficients() -> None:
    numbers, levels = model_grids(fit_model("NaiveBayes", FRAME, CLASSES).model)
    assert [field.heading for field in numbers.fields] == ["column", "a", "b"]
    assert [row[:2] for row in levels.rows] == [("c", "u"), ("c", "v")]
    (grid,) = model_grids(fit_model("LogisticRegression", FRAME, CLASSES).model)
    assert grid.rows[0][0] == "x"
    assert grid.notes[0].startswith("Intercept: ")
    assert "adds to the log odds of b against a. Numbers were put in standard units" in grid.notes[1]
    assert model_grids(Calibrated(fit_model("NaiveBayes", FRAME, CLASSES).model, cv="prefit").fit(FRAME, CLASSES))


def test_a_kernel_machine_without_a_card_has_no_tables() -> None:
    with pytest.raises(
        NoExplanationError, match="SVC has neither coefficients nor tables of its columns, and there is no model card"
    ):
        model_grids(fit_model("SVC", FRAME, CLASSES).model)


def test_parameters_are_not_called_levels_and_omitted_columns_are_counted() -> None:
    rows = np.random.default_rng(0).poisson(3, size=(60, 45))
    (grid,) = model_grids(NaiveBayes("poisson").fit(rows, np.arange(60) % 2))
    assert [field.heading for field in grid.fields] == ["column", "parameter", "0", "1"]
    assert grid.rows[0][:2] == ("x0", "rate")
    assert grid.notes == ("The first 40 of 45 columns.",)
    (numbers,) = model_grids(NaiveBayes().fit(rows + 0.5, np.arange(60) % 2))
    assert len(numbers.rows) == 40
    assert numbers.notes[-1] == "The first 40 of 45 columns."


def test_coefficients_of_pairs_of_classes_belong_to_scores() -> None:
    """A linear support vector machine has one for each two classes, and probabilities that are not its scores."""
    X, y = load_iris(return_X_y=True)
    (grid,) = model_grids(SVC(kernel="linear").fit(X, np.array(["a", "b", "c"])[y]), most=1)
    model = SVC(kernel="linear").fit(X[y > 0], y[y > 0])
    assert grid.rows[0][0] == "b against c: x2"  # positive where b is decided for
    assert grid.rows[0][1] == pytest.approx(-model.coef_[0, 2])
    assert grid.notes[-1].endswith("adds to the score of the first class against the second.")
    assert model_grids(model)[0].notes[-1].endswith("adds to the score of 2 against 1.")
    probit = GLM("bernoulli", link="probit", penalty=L2()).fit(X[y > 0], y[y > 0])
    assert model_grids(probit)[0].notes[-1].endswith("adds to the score of 2 against 1.")


def test_units_are_noted_for_numbers_only() -> None:
    (grid,) = model_grids(fit_model("LogisticRegression", FRAME.select(["c"]), CLASSES).model, most=1)
    assert grid.notes[0] == "The largest 1 of 3 coefficients."
    assert "standard units" not in " ".join(grid.notes)
