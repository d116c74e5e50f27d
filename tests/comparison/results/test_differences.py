"""Which models are worse than the best beyond chance."""

from __future__ import annotations

import math

import pytest

from mercer.comparison import Comparison


def test_differences_say_which_are_real(five: Comparison) -> None:
    rows = {row[0]: row for row in five.differences().rows}
    assert set(rows) == {"guess", "ridge", "sure"}
    assert rows["guess"][-1] == "yes"
    assert rows["guess"][2] == pytest.approx(
        five.entry("guess").mean("log_loss") - five.entry("bayes").mean("log_loss")
    )
    assert rows["ridge"][1] == "accuracy"
    assert rows["sure"][-1] == "yes"
    assert all(row[6] >= row[5] for row in rows.values() if not math.isnan(row[5]))
