"""Certificates on the page."""

from __future__ import annotations

from mercer.report import Grid, Page
from tests.comparison.sections._pages import blocks, section


def test_certificates_hold(of_iris: Page) -> None:
    grid = blocks(section(of_iris, "certificates"), Grid)[0]
    assert [row[0] for row in grid.rows if row[4] == "yes"] == [row[0] for row in grid.rows]
    assert {"normal", "LDA", "logistic"} == {row[0] for row in grid.rows}
