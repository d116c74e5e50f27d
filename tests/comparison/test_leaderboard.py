"""Scores of each model, as a table and as a frame."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from mercer import LinearRegression
from mercer.comparison import Comparison, compare
from mercer.report.page.limits import PageLimits
from mercer.report.page.tables import table_html


def test_the_leaderboard_has_intervals(five: Comparison) -> None:
    board = five.leaderboard()
    assert [field.heading for field in board.fields] == [
        "model",
        "log loss",
        "accuracy",
        "AUC",
        "calibration error",
        "fit s",
        "predict s",
        "size",
    ]
    rows = {row[0]: row for row in board.written()}
    mean, low, high = five.interval("bayes", "accuracy")
    assert mean - low == pytest.approx(high - mean)
    assert rows["bayes"][2] == f"{mean:.4f} ± {mean - low:.4f}"
    area = five.interval("bayes", "auc")
    assert area.high == 1.0  # cut off there: the margin is that to the other side
    assert rows["bayes"][3] == f"{area.mean:.4f} ± {area.mean - area.low:.4f}"
    assert rows["sure"][1] == "24.51 ± 2.72"
    assert rows["ridge"][1] == rows["broken"][2] == "–"
    assert "broken: fold 1: ValueError: not | today" in board.notes


def test_sizes_are_sorted_as_numbers_on_the_page_whatever_their_unit(five: Comparison) -> None:
    """950 B are less than 2.05 kB."""
    entries = tuple(
        replace(entry, size_bytes=size) for entry, size in zip(five.entries[:3], (2048, 950, 999_600), strict=True)
    )
    board = replace(five, entries=entries).leaderboard()
    assert [row[-1] for row in board.written()] == ["2.05 kB", "950 B", "1 MB"]
    sizes = re.findall(r'data-v="([\d.]+)"[^>]*>(?:<span>)?[\d.]+ k?M?B<', table_html(board, PageLimits()))
    assert sizes == ["2048.0", "950.0", "999600.0"]


def test_less_than_a_millisecond_is_a_bound_that_is_sorted_as_a_number(five: Comparison) -> None:
    entries = tuple(
        replace(entry, predict_seconds=seconds)
        for entry, seconds in zip(five.entries[:3], (9.16e-05, 0.0275, 0.0002), strict=True)
    )
    board = replace(five, entries=entries).leaderboard()
    assert [row[-2] for row in board.written()] == ["<0.001", "0.0275", "<0.001"]
    page = table_html(board, PageLimits())
    assert all(f'data-v="{seconds}"' in page for seconds in ("9.16e-05", "0.0275", "0.0002"))


@pytest.mark.parametrize("library", [None, "pandas", "polars", "pyarrow"])
def test_the_leaderboard_is_a_frame(five: Comparison, library: str | None) -> None:
    frame = five.frame(library)
    assert frame.shape[0] == 5
    assert [str(name) for name in frame["model"]] == five.names
    assert {"log_loss", "log_loss_low", "auc_high", "brier", "calibration_error", "size_bytes"} <= set(
        frame.columns if library != "pyarrow" else frame.column_names
    )


def test_scores_that_are_rounding_are_zero() -> None:
    """The share explained by the baseline is 5e-17, and the error of least squares 1e-15."""
    X = np.random.default_rng(0).normal(size=(60, 1))
    found = compare(X, 3 * X[:, 0] + 1, models={"line": LinearRegression(), "guess": DummyRegressor()}, cv=3)
    entries = [replace(each, by_unit={}) for each in found.entries]
    tiny = {**entries[1].scores, "explained": np.array([4.762e-17, 1e-17, -1e-17])}
    board = replace(found, entries=(entries[0], replace(entries[1], scores=tiny))).leaderboard()
    line, guess = board.written()
    place = [field.heading for field in board.fields].index("share explained")
    assert line[1] == "0"
    assert guess[place] == "0"
