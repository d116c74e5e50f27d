"""Tests of plots by the contents of the Axes, not by pixels."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from mercer._errors import MissingDependencyError
from mercer.report import plots

pytestmark = pytest.mark.usefixtures("pyplot")

GRID = np.linspace(-3, 3, 61)
BELL = np.exp(-0.5 * GRID**2) / np.sqrt(2 * np.pi)

PICTURES = {
    "density": lambda ax: plots.density_curve(GRID, BELL, rug=GRID, ax=ax),
    "bars": lambda ax: plots.histogram_bars(GRID, BELL[1:], ax=ax),
    "cells": lambda ax: plots.histogram_cells(GRID, GRID, np.outer(BELL, BELL)[1:, 1:], ax=ax),
    "bandwidths": lambda ax: plots.bandwidth_curve(np.geomspace(0.1, 5, 20), np.arange(20.0), 0.5, "loss", ax=ax),
    "contours": lambda ax: plots.density_contours(GRID, GRID, np.outer(BELL, BELL), [0.1, 0.02], ["50%", "90%"], ax=ax),
    "outliers": lambda ax: plots.outlier_ranking(np.arange(9.0), np.arange(9) < 2, 1.5, ax=ax),
    "regression": lambda ax: plots.regression_curve(GRID, GRID, GRID - 1, GRID + 1, points=(GRID, GRID), ax=ax),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_plot_is_drawn_into_the_given_axes_with_labels(draw: Any, pyplot: Any) -> None:
    given = pyplot.figure().add_subplot()
    assert draw(given) is given
    assert given.get_xlabel()
    assert given.get_ylabel()
    given.figure.canvas.draw()


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_without_axes_a_new_figure_is_made_and_existing_labels_are_kept(draw: Any, pyplot: Any) -> None:
    other = pyplot.figure().add_subplot(xlabel="weight of the dog")
    assert draw(None) is not other
    assert draw(other).get_xlabel() == "weight of the dog"


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_missing_matplotlib_is_named_with_its_installation(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [_NoMatplotlib(), *sys.meta_path])
    with pytest.raises(MissingDependencyError, match=r"pip install 'mercer\[plot\]'"):
        draw(None)


class _NoMatplotlib:
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")


def test_the_axis_of_densities_starts_at_zero_with_several_curves_too() -> None:
    ax = plots.density_curve(GRID, BELL, label="wide")
    plots.density_curve(GRID / 3, 3 * BELL, label="narrow", ax=ax)
    bottom, top = ax.get_ylim()
    assert bottom == 0
    assert top > 3 * BELL.max()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["wide", "narrow"]
    assert ax.lines[0].get_color() != ax.lines[1].get_color()


def test_a_curve_alone_needs_no_legend() -> None:
    assert plots.density_curve(GRID, BELL).get_legend() is None


def test_a_rug_has_a_tick_for_each_point_and_stays_drawable_for_a_million() -> None:
    few = plots.density_curve(GRID, BELL, rug=GRID[:7])
    many = plots.density_curve(GRID, BELL, rug=np.linspace(-3, 3, 10**6))
    ticks = [len(ax.collections[-1].get_segments()) for ax in (few, many)]
    assert ticks == [7, plots.MAX_TICKS]


def test_bars_have_the_edges_and_heights_given() -> None:
    ax = plots.histogram_bars(np.array([0.0, 1.0, 4.0]), np.array([0.4, 0.2]))
    values, edges, _ = ax.patches[0].get_data()
    np.testing.assert_array_equal(edges, [0, 1, 4])
    np.testing.assert_array_equal(values, [0.4, 0.2])
    assert ax.get_ylim()[0] == 0


def test_empty_cells_stay_white() -> None:
    ax = plots.histogram_cells(np.arange(3.0), np.arange(4.0), np.array([[0.0, 1, 2], [3, 0, 4]]))
    drawn = ax.collections[0].get_array()
    assert drawn.shape == (3, 2)
    np.testing.assert_array_equal(drawn.mask, np.array([[0, 1, 2], [3, 0, 4]]).T == 0)


def test_the_chosen_bandwidth_is_named_and_infinite_criteria_are_left_out() -> None:
    ax = plots.bandwidth_curve(np.array([0.1, 1.0, 10.0]), np.array([np.inf, 1.0, 2.0]), 1.25, "loss")
    assert ax.get_ylabel() == "loss"
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 10])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["chosen: 1.25"]


@pytest.mark.parametrize("widths", [np.geomspace(0.31, 0.49, 9), np.geomspace(0.2, 3, 9), np.geomspace(1e-6, 1e5, 9)])
def test_every_range_of_bandwidths_has_a_few_readable_numbers(widths: np.ndarray) -> None:
    ax = plots.bandwidth_curve(widths, np.square(widths), None, "loss")
    ax.figure.canvas.draw()
    low, high = ax.get_xlim()
    shown = [text.get_text() for text in ax.get_xticklabels() if low <= text.get_position()[0] <= high]
    assert 2 <= sum(bool(text) for text in shown) <= 14


def test_levels_in_any_order_keep_their_labels() -> None:
    ax = plots.density_contours(GRID, GRID, np.outer(BELL, BELL), [0.02, 0.1], ["90%", "50%"], title="mass")
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["50%", "90%"]
    assert legend.get_title().get_text() == "mass"


def test_the_highest_level_may_lie_at_the_peak() -> None:
    plots.density_contours(GRID, GRID, np.outer(BELL, BELL), [0.01, BELL.max() ** 2], ["a", "b"])


def test_regions_with_the_same_boundary_are_drawn_once_and_keep_their_labels() -> None:
    """A density of a uniform kernel has few heights."""
    density = np.where(np.add.outer(GRID**2, GRID**2) < 4, 0.1, 0.0)
    ax = plots.density_contours(GRID, GRID, density, [0.1, 0.1, 0.05], ["50%", "80%", "95%"])
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"50%", "80%", "95%"}
    assert [len(drawn.levels) for drawn in ax.collections] == [3, 2]


def test_outliers_are_ranked_named_and_counted_and_minus_infinity_is_drawn() -> None:
    scores = np.array([0.0, -np.inf, 1.0, -5.0, 2.0])
    ax = plots.outlier_ranking(scores, scores < -1, threshold=-1.0)
    assert [note.get_text() for note in ax.texts] == ["row 1 (−∞)", "row 3"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "the others (3)",
        "outliers (2)",
        "threshold: -1",
    ]
    drawn = np.concatenate([np.asarray(dots.get_offsets()) for dots in ax.collections])
    assert np.isfinite(drawn).all()
    assert drawn[drawn[:, 0] == 1, 1] < -5


def test_impossible_rows_are_named_even_if_they_are_not_flagged() -> None:
    ax = plots.outlier_ranking(np.array([0.0, 1.0, -np.inf]), np.zeros(3, dtype=bool))
    assert [note.get_text() for note in ax.texts] == ["row 2 (−∞)"]


def shares_of_the_height(ax: Any, scores: list[float]) -> np.ndarray:
    """Return the positions of scores in the drawing, from 0 at the bottom to 1 at the top."""
    places = ax.transData.transform([[1.0, score] for score in scores])
    return ax.transAxes.inverted().transform(places)[:, 1]


def test_a_far_outlier_leaves_room_for_the_others() -> None:
    usual = np.linspace(-705.0, -700.0, 1000)
    ax = plots.outlier_ranking(np.append(usual, -1e5), np.arange(1001) == 1000, threshold=-704.0)
    far, lowest, middle, top = shares_of_the_height(ax, [-1e5, -705.0, -702.5, -700.0])
    assert 0 < far < lowest < middle < top < 1
    assert top - lowest > 0.05
    assert middle - lowest > 0.02
    ticks = ax.get_yticks()
    low, high = ax.get_ylim()
    assert len(np.unique(ticks)) == len(ticks)
    assert ((low <= ticks) & (ticks <= high)).sum() >= 4


def test_scores_that_are_close_together_are_drawn_to_scale() -> None:
    ax = plots.outlier_ranking(np.linspace(-9, -2, 50), np.arange(50) < 2)
    low, middle, high = shares_of_the_height(ax, [-9.0, -5.5, -2.0])
    assert middle - low == pytest.approx(high - middle)
    assert low > 0.1  # there is room for names


@pytest.mark.parametrize("scores", [[], [3.0], [2.0, 2.0, 2.0], [-np.inf] * 4, [-np.inf, np.inf, 0.0]], ids=str)
def test_scores_without_differences_or_without_numbers_can_be_drawn(scores: list[float]) -> None:
    ax = plots.outlier_ranking(np.array(scores), np.isneginf(scores))
    ax.figure.canvas.draw()
    assert sum(len(dots.get_offsets()) for dots in ax.collections) == len(scores)


def test_a_million_ranks_stay_drawable_and_keep_the_first_and_the_last() -> None:
    ax = plots.outlier_ranking(np.arange(1e6), np.arange(10**6) < 3)
    ranks = np.asarray(ax.collections[0].get_offsets())[:, 0]
    assert len(ranks) <= plots.MAX_PLOTTED_POINTS
    assert (ranks[0], ranks[-1]) == (4, 10**6)
    assert len(ax.collections[1].get_offsets()) == 3


def test_a_regression_without_a_prediction_has_a_gap() -> None:
    mean = np.where(np.abs(GRID) < 1, np.nan, GRID)
    ax = plots.regression_curve(GRID, mean, None, None, points=np.column_stack([GRID, GRID]))
    assert np.isnan(ax.lines[0].get_ydata()).sum() == np.isnan(mean).sum()


def test_a_band_is_shown_completely_unless_it_would_hide_everything_else() -> None:
    points = np.column_stack([GRID, np.sin(GRID)])
    for width, height in ((0.5, 1.4), (1000.0, 2.0)):
        ax = plots.regression_curve(GRID, np.sin(GRID), np.sin(GRID) - width, np.sin(GRID) + width, points=points)
        ax.figure.canvas.draw()
        low, high = ax.get_ylim()
        assert height < high < 1.2 * height + 0.5
        assert height < -low < 1.2 * height + 0.5
    flat = plots.regression_curve(GRID, GRID * 0, GRID * 0 - 7, GRID * 0 + 7)
    assert flat.get_ylim()[1] > 7
    gaps = np.full(len(GRID), np.nan)
    assert np.isfinite(plots.regression_curve(GRID, np.sin(GRID), gaps, gaps).get_ylim()).all()
