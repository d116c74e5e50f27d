"""Mean and variance of every column."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from mercer._errors import MergeError, UnseenRowsError
from mercer.stats import ColumnMoments


def one_group(x: np.ndarray, weight: np.ndarray | None = None) -> ColumnMoments:
    return ColumnMoments.zero(1, x.shape[1]).update(x, np.zeros(len(x), dtype=np.int32), weight)


def exact_variance(values: np.ndarray) -> float:
    exact = [Fraction(float(value)) for value in values]
    mean = sum(exact) / len(exact)
    return float(sum((value - mean) ** 2 for value in exact) / len(exact))


@pytest.mark.parametrize("mean", [0.0, 1e8, -1e12])
def test_digits_are_kept_far_from_zero(mean: float) -> None:
    x = mean + np.random.default_rng(0).normal(size=(1000, 1))
    moments = one_group(x)
    np.testing.assert_allclose(moments.variance[0, 0], exact_variance(x[:, 0]), rtol=1e-10)
    np.testing.assert_allclose(moments.mean[0, 0], fmean(x[:, 0]), rtol=1e-15)


def test_digits_are_kept_when_merging_and_forgetting_far_from_zero() -> None:
    x = 1e8 + np.random.default_rng(0).normal(size=(3000, 1))
    groups = np.zeros(1000, dtype=np.int32)
    a, b, c = (one_group(part) for part in np.split(x, 3))
    kept = a.merge(b).merge(c).remove(x[1000:2000], groups)
    np.testing.assert_allclose(kept.variance[0, 0], exact_variance(np.delete(x[:, 0], slice(1000, 2000))), rtol=1e-10)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_extreme_scales(scale: float) -> None:
    moments = one_group(scale * np.array([[1.0], [2.0], [6.0]]))
    np.testing.assert_allclose([moments.mean, moments.variance], [[[3 * scale]], [[14 / 3 * scale**2]]], rtol=1e-14)
    assert moments.finite


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -1e300])
def test_a_constant_column_has_no_variance_at_all(value: float) -> None:
    a, b = one_group(np.full((7, 1), value)), one_group(np.full((100, 1), value))
    for moments in (a, a.merge(b), a.merge(b).subtract(a)):
        assert moments.variance[0, 0] == 0.0
        assert moments.mean[0, 0] == value


def test_one_row_and_zero_rows() -> None:
    moments = ColumnMoments.zero(2, 1).update(np.array([[3.5]]), np.array([1], dtype=np.int32))
    np.testing.assert_array_equal(moments.rows, [[0], [1]])
    np.testing.assert_array_equal(moments.mean, [[0.0], [3.5]])
    np.testing.assert_array_equal(moments.variance, [[0.0], [0.0]])
    nothing = one_group(np.empty((0, 3)))
    assert nothing.rows.shape == (1, 3)
    assert not nothing.rows.any()


def test_missing_values_are_left_out_column_by_column() -> None:
    x = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, 5.0]])
    moments = one_group(x)
    np.testing.assert_array_equal(moments.rows, [[2, 1]])
    np.testing.assert_array_equal(moments.mean, [[2.0, 5.0]])
    np.testing.assert_array_equal(moments.variance, [[1.0, 0.0]])
    assert moments.finite


def test_only_missing_values() -> None:
    moments = one_group(np.full((5, 2), np.nan))
    assert not moments.rows.any()
    np.testing.assert_array_equal(moments.mean, 0.0)
    assert moments.finite


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e308])
def test_sums_that_overflow_are_reported(value: float) -> None:
    x = np.array([[1.0, 2.0], [1.0, -value]])
    moments = one_group(x).merge(one_group(-x))
    assert not moments.finite


def test_weights_are_equivalent_to_repetitions() -> None:
    x = np.array([[1.0], [5.0], [7.0]])
    weighted, repeated = one_group(x, np.array([2.0, 0.0, 3.0])), one_group(np.repeat(x, [2, 0, 3], axis=0))
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_allclose(weighted.variance, repeated.variance)
    assert weighted.rows[0, 0] == 2


def test_any_container_gives_the_same_moments(contained: Callable[[np.ndarray], Any]) -> None:
    rng = np.random.default_rng(1)
    x, groups = rng.integers(0, 5, size=(50, 4)).astype(float), rng.integers(0, 2, 50).astype(np.int32)
    moments = ColumnMoments.zero(2, 4).update(contained(x), groups)
    for c in range(2):
        np.testing.assert_allclose(moments.mean[c], x[groups == c].mean(axis=0))
        np.testing.assert_allclose(moments.variance[c], x[groups == c].var(axis=0))


def test_float32_is_reduced_in_float64() -> None:
    x = np.random.default_rng(2).normal(1000, 1, size=(10_000, 1)).astype(np.float32)
    np.testing.assert_allclose(one_group(x).variance[0, 0], x.astype(float).var(), rtol=1e-12)


def test_the_transformation_is_applied_first() -> None:
    x = np.array([[1.0], [np.e**2]])
    moments = ColumnMoments.zero(1, 1, np.log).update(x, np.zeros(2, dtype=np.int32))
    np.testing.assert_allclose(moments.mean, 1.0)
    np.testing.assert_allclose(moments.empty().update(x, np.zeros(2, dtype=np.int32)).mean, 1.0)


def test_pooled_groups_agree_with_one_group() -> None:
    rng = np.random.default_rng(3)
    x, groups = rng.normal(size=(60, 2)), rng.integers(0, 3, 60).astype(np.int32)
    pooled = ColumnMoments.zero(3, 2).update(x, groups).pool()
    np.testing.assert_allclose(pooled.variance[0], x.var(axis=0))


def test_rows_that_vary_more_than_the_total_cannot_be_forgotten() -> None:
    moments = one_group(np.array([[1.0], [1.1], [0.9], [1.0]]))
    with pytest.raises(UnseenRowsError, match="vary more"):
        moments.remove(np.array([[5.0], [-5.0]]), np.zeros(2, dtype=np.int32))


def test_other_weights_cannot_be_forgotten() -> None:
    x, groups = np.array([[1.0], [2.0]]), np.zeros(2, dtype=np.int32)
    moments = one_group(x)
    with pytest.raises(UnseenRowsError, match="sample_weight"):
        moments.remove(x, groups, np.array([1.0, 3.0]))
    with pytest.raises(UnseenRowsError, match="sample_weight"):
        moments.remove(x, groups, np.array([1.0, 0.5]))


def test_lost_digits_are_counted() -> None:
    x = np.vstack([np.random.default_rng(4).normal(size=(50, 1)), [[1e6], [-1e6]]])
    all_rows = one_group(x)
    left = all_rows.remove(x[50:], np.zeros(2, dtype=np.int32))
    assert 1e9 < all_rows.cancellation(left) < 1e12
    assert all_rows.cancellation(all_rows) == 1.0


def test_other_columns_cannot_be_merged() -> None:
    with pytest.raises(MergeError, match="same columns"):
        ColumnMoments.zero(2, 3).merge(ColumnMoments.zero(2, 4))
