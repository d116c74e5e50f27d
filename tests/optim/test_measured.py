"""Lengths that take a pass to measure: once at each point, and the aims that follow."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.optim.certificate import AIM_FACTOR, LengthMeasure


def test_each_point_is_measured_once() -> None:
    lengths = iter([3.0, 2.0])
    measured, first, second = LengthMeasure(lambda: next(lengths)), object(), object()
    assert [measured.at(first), measured.at(first), measured.at(second), measured.at(second)] == [3.0, 3.0, 2.0, 2.0]


def test_the_target_decreases_as_the_measured_length_exceeds_the_estimate() -> None:
    assert LengthMeasure(lambda: 4.0).aim(object(), 1.0, 2.0) == pytest.approx(AIM_FACTOR * 0.5)


@pytest.mark.parametrize("length", [1.0, 2.0, np.inf])
def test_a_length_that_is_short_enough_or_infinite_has_no_target(length: float) -> None:
    assert LengthMeasure(lambda: length).aim(object(), 1.0, 2.0) is None
