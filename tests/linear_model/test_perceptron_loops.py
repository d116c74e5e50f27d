"""Compiled loops of the perceptron; its numbers are tested with the model."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from mercer.linear_model import _perceptron_loops as loops


def test_a_common_factor_is_applied() -> None:
    w, state = np.array([1.0, -2.0]), np.zeros(7)
    state[loops.STATE_SCALE] = 0.5
    loops.unscale(w, state)
    assert_array_equal(w, [0.5, -1.0])
    assert state[loops.STATE_SCALE] == 1.0
