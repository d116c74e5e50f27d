"""Pages of real tables, with known facts about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer import compare
from mercer.application.datasets import open_data, problem_of
from mercer.comparison.comparison import Comparison
from mercer.comparison.sections.whole import page
from mercer.report import Grid, Note, Page, RowTable
from mercer.report.page import page_html

pytestmark = pytest.mark.filterwarnings("ignore::mercer._errors.MercerWarning")

Find = Callable[[str], Path]


def compared(path: Path, target: str, *, rows: int | None = None, **options: Any) -> Comparison:
    problem = problem_of(open_data(path), target=target)
    kept = np.arange(len(problem.y))[:rows]
    return compare(problem.X.take(kept), np.asarray(problem.y)[kept], cv=3, **options)


def checked(made: Page) -> dict[str, Any]:
    """The sections by their ids, after a look at what all pages promise."""
    found = {section.id: section for section in made.sections}
    assert "left-out" not in found
    assert len(page_html(made).encode()) < 2_000_000
    return found


def codes(found: dict[str, Any]) -> set[str]:
    return {block.code for block in found["checks"].blocks if isinstance(block, Note) and block.code}


def test_page_of_the_heart_data(real_data: Find) -> None:
    found = checked(page(compared(real_data("heart.csv"), "AHD", models=["LogisticRegression", "NaiveBayes"])))
    grid = next(block for block in found["data"].blocks if isinstance(block, Grid))
    kinds = {row[0]: row[1] for row in grid.rows}
    assert (kinds["key"], kinds["ChestPain"], kinds["Age"]) == ("identifier", "category", "integer")
    assert "curves" in found  # logistic regression and naive Bayes are a pair
    assert "MRC105" in codes(found)  # the key names the rows
    assert "MRC201" not in codes(found)
    rows = next(block for block in found["rows"].blocks if isinstance(block, RowTable))
    assert {explanation.model for explanation in rows.models} == {"LogisticRegression", "NaiveBayes"}


def test_page_of_horse_colic_with_a_third_of_its_values_missing(real_data: Find) -> None:
    models = ["LogisticRegression", "NaiveBayes"]
    found = checked(page(compared(real_data("horse-colic.csv"), "x23", models=models)))
    assert "MRC104" in codes(found)  # abdominocentesis was done in few


def test_page_of_the_spam_data(real_data: Find) -> None:
    models = ["LogisticRegression", "MultinomialNB"]
    found = checked(page(compared(real_data("sms_spam.tsv"), "Label", rows=400, models=models)))
    words = next(block for block in found["likelihoods"].blocks if isinstance(block, Grid))
    shares = {row[0]: row[1:] for row in words.rows}
    assert shares["SMS[free]"][1] > shares["SMS[free]"][0]


def test_page_of_the_abalone_data(real_data: Find) -> None:
    found = checked(page(compared(real_data("abalone.csv"), "x8", rows=300, models=["Ridge"], task="counts")))
    assert "MRC202" in codes(found)  # weights and lengths of a shell
    assert "predictions" in found
