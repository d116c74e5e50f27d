"""Patterns of missing entries are distinguished for any number of columns."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.families.multivariate import distinct_patterns


@pytest.mark.parametrize("columns", [0, 1, 7, 64, 65, 130])
def test_every_row_has_its_pattern_and_patterns_are_distinct(columns: int) -> None:
    mask = np.random.default_rng(0).random((200, columns)) < 0.5
    patterns, which = distinct_patterns(np.vstack([mask, mask]))
    np.testing.assert_array_equal(patterns[which], np.vstack([mask, mask]))
    assert len(patterns) == len(np.unique(mask, axis=0)) if columns else len(patterns) == 1


def test_no_rows_have_no_patterns() -> None:
    patterns, which = distinct_patterns(np.zeros((0, 3), dtype=bool))
    assert patterns.shape == (0, 3)
    assert which.shape == (0,)
