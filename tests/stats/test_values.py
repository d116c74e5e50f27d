"""Histograms of whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.families import NegativeBinomial
from mercer.stats import ValueCounts

NAN = np.nan


@pytest.mark.parametrize("largest", [3.0, 1e12], ids=["own codes", "looked up"])
def test_values_are_counted_in_each_group_and_column(largest: float) -> None:
    x = np.array([[0.0, 2.0], [largest, NAN], [0.0, 2.0], [1.0, 2.0]])
    counts = ValueCounts.zero(2, 2).update(x, np.array([0, 0, 0, 1], dtype=np.int32), np.array([1.0, 0.5, 2.0, 1.0]))
    values, weights = counts.histogram(0, 0)
    np.testing.assert_array_equal(values, [0.0, largest])
    np.testing.assert_array_equal(weights, [3.0, 0.5])
    np.testing.assert_array_equal(counts.weight, [[3.5, 3.0], [1.0, 1.0]])
    np.testing.assert_allclose(counts.mean[..., 0], [[largest / 7, 2.0], [1.0, 2.0]])


@pytest.mark.parametrize("values", [[-1.0, 2.0], [0.5, 2.0]])
def test_any_numbers_can_be_counted(values: list[float]) -> None:
    counts = ValueCounts.zero(1, 1).update(np.array(values)[:, None], np.zeros(2, dtype=np.int32))
    np.testing.assert_array_equal(counts.histogram(0, 0)[0], values)


def test_infinite_values_are_reported() -> None:
    zero, groups = ValueCounts.zero(1, 1), np.zeros(2, dtype=np.int32)
    assert zero.update(np.array([[1.0], [NAN]]), groups).finite
    assert not zero.update(np.array([[1.0], [np.inf]]), groups).finite


def test_a_negative_binomial_is_fitted_from_counts_of_values() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.negative_binomial(3, 0.4, 20_000), rng.poisson(2.0, 20_000)])
    mean, r = NegativeBinomial().fit(ValueCounts.zero(1, 2).update(x, np.zeros(20_000, dtype=np.int32)))
    np.testing.assert_allclose(mean[0], x.mean(axis=0))
    np.testing.assert_allclose(r[0, 0], 3, rtol=0.1)
    assert r[0, 1] > 50
