"""Probes of a density find all of its modes."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.density import Bandwidth, Windows, smoothing_kernel_from
from mercer.density._regions import MOST_PLACES, find_probes, thin
from tests.density._widths import with_widths


@pytest.mark.parametrize(
    ("name", "sensitivity"), with_widths(["uniform", "gaussian", "triangular", "exponential"], (0.0,), (0.5,))
)
def test_every_point_has_probes_near_it_and_beyond_its_kernel(name: str, sensitivity: float) -> None:
    X = np.append(np.random.default_rng(0).normal(size=40), [-1e6, 1e6])[:, None]
    windows = Windows(smoothing_kernel_from(name), Bandwidth(0.3, sensitivity=sensitivity), X)
    places = find_probes(windows)
    assert (np.diff(places) > 0).all()
    gaps = np.abs(places[:, None] - X[:, 0]).min(axis=0)
    assert (gaps <= 0.3 / 4).all()
    low, high = windows.extent(np.inf)
    assert places[0] <= low[0]
    assert places[-1] >= high[0]


def test_a_sample_of_very_many_points_is_probed() -> None:
    x = np.random.default_rng(0).uniform(size=50_000)
    rows, values = thin(x, 1e-9)
    assert MOST_PLACES / 4 < len(rows) <= MOST_PLACES
    np.testing.assert_array_equal(x[rows], values)
    assert (np.diff(values) > 0).all()
    assert np.diff(values).max() < 4 / MOST_PLACES


def test_identical_points_are_probed() -> None:
    rows, values = thin(np.full(9, 1e8), 1e-3)
    assert rows.tolist() == [0]
    assert values.tolist() == [1e8]
