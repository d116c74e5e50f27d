"""Weights of units during learning."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.optim.learning_rules import ThresholdUnits


@pytest.mark.parametrize("by_column", [True, False])
def test_a_copy_of_units_learns_independently(by_column: bool) -> None:
    units = ThresholdUnits.of(np.ones((2, 3)), np.zeros(2), by_column=by_column)
    other = units.copy()
    other.w += 1.0
    other.bias += 1.0
    assert_array_equal(units.w, np.ones((3, 2)))
    assert_array_equal(units.bias, [0.0, 0.0])
    assert other.w.flags.f_contiguous == units.w.flags.f_contiguous == (not by_column)
