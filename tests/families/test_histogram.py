"""The histogram: its edges, and values on and beyond them."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import families as f
from mercer._errors import EmptyDataError


def test_bins_agree_with_numpy() -> None:
    x = np.random.default_rng(0).normal(size=300)
    histogram = f.Histogram(bins=7).with_edges_from(x)
    counts, edges = np.histogram(x, 7)
    np.testing.assert_allclose(histogram.edges, edges)
    np.testing.assert_array_equal(np.bincount(histogram.bin_codes(x), minlength=7), counts)


def test_edges_values_beyond_them_and_missing_ones() -> None:
    codes = f.Histogram([0.0, 1.0, 2.0]).bin_codes(np.array([-9.0, 0.0, 1.0, 2.0, 9.0, np.nan]))
    np.testing.assert_array_equal(codes, [0, 0, 1, 1, 1, -1])


@pytest.mark.parametrize("value", [0.0, 7.0, 1e9])
def test_a_constant_column_still_has_bins(value: float) -> None:
    histogram = f.Histogram(bins=3).with_edges_from(np.array([value, np.nan, value]))
    assert histogram.n_bins == 3
    assert histogram.edges[0] < value < histogram.edges[-1]


def test_histograms_are_compared_by_their_edges() -> None:
    one, other = f.Histogram(np.array([0.0, 1.0])), f.Histogram((0.0, 1.0))
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == "Histogram(<1 bins from 0 to 1>)"
    assert repr(f.Histogram(5)) == "Histogram(bins=5)"
    assert one.with_edges_from(np.array([3.0, 4.0])) is one


@pytest.mark.parametrize("bins", [0, -1, [1.0], [0.0, 0.0], [1.0, 0.0], [0.0, np.inf]])
def test_bins_are_checked(bins: object) -> None:
    with pytest.raises(ValueError, match=r"at least one bin|increase strictly"):
        f.Histogram(bins)  # type: ignore[arg-type]


def test_edges_must_be_known_before_use_and_need_data() -> None:
    with pytest.raises(ValueError, match="with_edges_from"):
        f.Histogram(4).log_base(np.array([1.0]))
    with pytest.raises(EmptyDataError, match="finite value"):
        f.Histogram(4).with_edges_from(np.array([np.nan]))


def test_samples_fall_into_bins_with_their_probabilities() -> None:
    histogram = f.Histogram([0.0, 1.0, 3.0])
    draws = histogram.sample(f.CategoricalParameters(np.array([0.25, 0.75])), 20_000, np.random.default_rng(0))
    assert draws.min() >= 0.0
    assert draws.max() < 3.0
    assert np.mean(draws < 1.0) == pytest.approx(0.25, abs=0.02)
