"""Tests of the section on the likelihoods of naive Bayes."""

from __future__ import annotations

from mercer.report import Grid, Page
from tests.comparison.sections._pages import blocks, section


def test_likelihood_tables_have_means_and_words(of_iris: Page, of_mixed: Page) -> None:
    grid = blocks(section(of_iris, "likelihoods"), Grid)[0]
    assert grid.rows[0][:2] == ("sepal length (cm)", "5.006 ± 0.349")
    words = {row[0]: row[1:] for row in blocks(section(of_mixed, "likelihoods"), Grid)[0].rows}
    assert words["said[bad]"][0] > 10 * words["said[bad]"][1]
