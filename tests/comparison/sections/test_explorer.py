"""Rows to inspect on the page: contributions of columns add up to the prediction."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mercer import SVC, LogisticRegression, NaiveBayes, compare
from mercer.comparison.comparison import Comparison
from mercer.comparison.sections.whole import page
from mercer.report import Chart, Note, Page, RowTable
from tests.comparison.sections._pages import blocks, linear, section


def test_contributions_of_a_row_add_up_to_the_prediction(mixed: Comparison, of_mixed: Page) -> None:
    (rows,) = blocks(section(of_mixed, "rows"), RowTable)
    picked = [int(name.removeprefix("row ")) for name in rows.names]
    for explanation in rows.models:
        model = mixed.fitted(explanation.model)
        proba = model.predict_proba(mixed.table.take(np.array(picked)).native)
        sums = explanation.base + np.array(explanation.contributions).sum(axis=1)
        np.testing.assert_allclose(sums, np.log(proba[:, 1] / proba[:, 0]), atol=1e-8)
    assert rows.columns == ("id", "age", "colour", "said")
    assert {each.model for each in rows.models} == {"logistic", "words", "mixed"}


def test_naive_bayes_of_a_frame_with_gaps_is_explained() -> None:
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 40)
    frame = pd.DataFrame({"size": rng.normal(size=80) + y, "kind": np.where(rng.random(80) < 0.5, "a", "b")})
    frame.loc[::5, "size"] = np.nan
    made = page(compare(frame, np.where(y, "on", "off"), models={"bayes": NaiveBayes()}, cv=3))
    assert "left-out" not in {each.id for each in made.sections}
    (rows,) = blocks(section(made, "rows"), RowTable)
    gap = [row[0] for row in rows.rows].index("missing")
    assert rows.models[0].contributions[gap][0] == 0


def test_every_column_of_a_wide_table_has_a_value_and_sums_are_complete() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j:02d}": rng.normal(size=90) for j in range(60)})
    y = np.where(X["c03"] + X["c55"] + rng.normal(size=90) > 0, "on", "off")
    found = compare(X, y, models={"lines": linear(LogisticRegression())}, cv=3)
    (rows,) = blocks(section(page(found), "rows"), RowTable)
    (explanation,) = rows.models
    named = [name for name in explanation.features if not name.startswith("(")]
    assert set(named) <= set(rows.columns)
    assert "c55" in named
    assert all(all(row) for row in rows.rows)
    picked = np.array([int(name.removeprefix("row ")) for name in rows.names])
    proba = found.fitted("lines").predict_proba(X.iloc[picked])
    sums = explanation.base + np.array(explanation.contributions).sum(axis=1)
    np.testing.assert_allclose(sums, np.log(proba[:, 1] / proba[:, 0]), atol=1e-8)


def test_of_many_classes_those_that_are_predicted_most_are_explained() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(list("abcdefgh"), [5, 5, 5, 5, 5, 5, 40, 80])
    X = pd.DataFrame({"x": np.unique(y, return_inverse=True)[1] + 0.3 * rng.normal(size=len(y))})
    found = compare(X, y, models={"lines": linear(LogisticRegression())}, cv=3, task="classification")
    (rows,) = blocks(section(page(found), "rows"), RowTable)
    classes = [told.of.split()[3] for told in rows.models]
    assert classes[:2] == ["h", "g"]
    assert len(classes) == 6


def test_a_kernel_machine_is_explained_with_its_error() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({f"c{j}": rng.normal(size=80) for j in range(14)})
    y = np.where(X["c3"] * X["c5"] + 0.3 * X["c7"] > 0, "on", "off")
    found = compare(X, y, models={"machine": linear(SVC(), output="array")}, cv=3)
    made = section(page(found), "rows")
    (rows,) = blocks(made, RowTable)
    picked = np.array([int(name.removeprefix("row ")) for name in rows.names])
    p = np.clip(found.fitted("machine").predict_proba(X.iloc[picked])[:, 1], 1e-4, 1 - 1e-4)
    sums = rows.models[0].base + np.array(rows.models[0].contributions).sum(axis=1)
    np.testing.assert_allclose(sums, np.log(p / (1 - p)), atol=1e-8)
    (note,) = [note.text for note in blocks(made, Note)]
    assert note.startswith("machine is not a sum over columns. Contributions are Shapley values")
    assert "Their standard errors are" in note
    (drawn,) = [chart for chart in blocks(made, Chart) if chart.title == "Drivers of machine"]
    assert drawn.marks[0].names[0] in ("c3", "c5", "c7")
