"""Tests of the size of a fitted model."""

from __future__ import annotations

import numpy as np

from mercer.comparison._entry import measure_size


def test_the_size_of_a_model() -> None:
    assert 80_000 < measure_size(np.zeros(10_000)) < 81_000
    assert np.isnan(measure_size(lambda: None))
