"""Rows to look at on the page: what columns add is what the model says."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mercer import NaiveBayes, compare
from mercer.comparison.comparison import Comparison
from mercer.comparison.sections.whole import page
from mercer.report import Page, Rows
from tests.comparison.sections._pages import blocks, section


def test_rows_add_up_to_what_the_model_says(mixed: Comparison, of_mixed: Page) -> None:
    (rows,) = blocks(section(of_mixed, "rows"), Rows)
    picked = [int(name.removeprefix("row ")) for name in rows.names]
    for told in rows.models:
        model = mixed.fitted(told.model)
        proba = model.predict_proba(mixed.table.take(np.array(picked)).native)
        sums = told.base + np.array(told.contributions).sum(axis=1)
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
    (rows,) = blocks(section(made, "rows"), Rows)
    gap = [row[0] for row in rows.rows].index("missing")
    assert rows.models[0].contributions[gap][0] == 0
