"""Predictions of numbers and of counts on the page."""

from __future__ import annotations

import numpy as np

from mercer.comparison.sections.predictions import average_in_bins, draw_rootogram
from mercer.report import Chart, Page, PointCloud
from tests.comparison.sections._pages import blocks, section


def test_predictions_of_numbers_and_of_counts(of_numbers: Page, of_counts: Page) -> None:
    against = blocks(section(of_numbers, "predictions"), Chart)[0]
    means = against.marks[-1]
    assert isinstance(means, PointCloud)
    np.testing.assert_allclose(means.x, means.y, atol=2)
    counted = [chart.title for chart in blocks(section(of_counts, "predictions"), Chart)]
    assert "How often each count occurs" in counted


def test_a_huge_count_does_not_enlarge_the_chart() -> None:
    truth = np.append(np.arange(60.0) % 7, 3e13)
    (observed, _) = draw_rootogram(np.full(61, 3.0), truth).marks
    assert isinstance(observed, PointCloud)
    assert observed.y[:7] == (9, 9, 9, 9, 8, 8, 8)
    assert sum(observed.y) == 60


def test_counts_are_shown_next_to_the_negative_binomial_distribution() -> None:
    truth = np.random.default_rng(0).negative_binomial(2, 2 / (2 + 5.0), size=4000)
    means = np.full(len(truth), 5.0)
    observed, expected = draw_rootogram(means, truth, r=2.0).marks
    assert expected.name == "negative binomial with these means"
    np.testing.assert_allclose(expected.y[:10], observed.y[:10], atol=80)
    assert draw_rootogram(means, truth).marks[1].name == "Poisson with these means"
    assert np.abs(np.subtract(draw_rootogram(means, truth).marks[1].y[:10], observed.y[:10])).max() > 200


def test_means_of_bins_are_inside_their_intervals() -> None:
    x, y, low, high, rows = average_in_bins(np.arange(100.0), 2 * np.arange(100.0))
    np.testing.assert_allclose(y, 2 * x)
    assert sum(rows) == 100
    assert (low < y).all()
    assert (y < high).all()
