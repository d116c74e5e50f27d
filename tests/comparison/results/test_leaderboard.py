"""What each model reached, as a table and as a frame."""

from __future__ import annotations

import pytest

from mercer.comparison import Comparison


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
    assert high == 1.0  # cut off there: the margin is that to the other side
    assert rows["bayes"][2] == f"{mean:.4f} ± {mean - low:.4f}"
    assert rows["sure"][1] == "inf"
    assert rows["ridge"][1] == rows["broken"][2] == "–"
    assert "broken: fold 1: ValueError: not | today" in board.notes


@pytest.mark.parametrize("library", [None, "pandas", "polars", "pyarrow"])
def test_as_a_frame(five: Comparison, library: str | None) -> None:
    frame = five.frame(library)
    assert frame.shape[0] == 5
    assert [str(name) for name in frame["model"]] == five.names
    assert {"log_loss", "log_loss_low", "auc_high", "brier", "calibration_error", "size_bytes"} <= set(
        frame.columns if library != "pyarrow" else frame.column_names
    )
