"""Sums of T(x) of scalar families."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer import families as f
from mercer._errors import MergeError, UnseenRowsError
from mercer.stats import ColumnSums

NAN = np.nan


def one_group(family: f.Family, x: Any, weight: np.ndarray | None = None) -> ColumnSums:
    return ColumnSums.zero(family, 1, x.shape[1]).update(x, np.zeros(x.shape[0], dtype=np.int32), weight)


def test_the_mean_of_every_component_of_t() -> None:
    x = np.array([[1.0, 4.0], [np.e, NAN], [NAN, 2.0]])
    sums = one_group(f.Gamma(), x)
    np.testing.assert_array_equal(sums.rows, [[2, 2]])
    np.testing.assert_allclose(sums.mean, [[[0.5, (1 + np.e) / 2], [1.5 * np.log(2), 3.0]]])


def test_any_container_gives_the_same_sums(contained: Callable[[np.ndarray], Any]) -> None:
    rng = np.random.default_rng(1)
    x, groups = rng.integers(0, 3, size=(3000, 4)).astype(float), rng.integers(0, 2, 3000).astype(np.int32)
    weight = rng.uniform(size=3000)
    sums = ColumnSums.zero(f.Poisson(), 2, 4).update(contained(x), groups, weight)
    for c in range(2):
        expected = np.average(x[groups == c], axis=0, weights=weight[groups == c])
        np.testing.assert_allclose(sums.mean[c, :, 0], expected, rtol=1e-10)


def test_stored_missing_values_of_a_sparse_block_are_left_out() -> None:
    dense = np.array([[0.0, NAN, 2.0], [1.0, NAN, 0.0], [0.0, 0.0, NAN]])
    groups, weight = np.array([0, 0, 1], dtype=np.int32), np.array([1.0, 0.5, 0.0])
    zero = ColumnSums.zero(f.Poisson(), 2, 3)
    from_dense, from_sparse = (zero.update(x, groups, weight) for x in (dense, sparse.csr_array(dense)))
    for name in ("rows", "weight", "total"):
        np.testing.assert_array_equal(getattr(from_sparse, name), getattr(from_dense, name))
    np.testing.assert_array_equal(from_sparse.rows, [[2, 0, 2], [0, 0, 0]])


def test_values_stored_twice_at_one_place_are_one_value() -> None:
    twice = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(one_group(f.Poisson(), twice).total[0, :, 0], [3.0, 5.0])
    assert len(twice.data) == 3


def test_the_order_of_the_entries_of_a_row_does_not_matter() -> None:
    backwards = sparse.csr_array((np.array([2.0, 1.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    backwards.sum_duplicates = lambda: pytest.fail("sorted without need")
    np.testing.assert_array_equal(one_group(f.Poisson(), backwards).total[0, :, 0], [1.0, 2.0])


def test_implicit_zeros_count_for_families_with_nonzero_t_of_zero() -> None:
    """A sparse block of a family whose T(0) is not 0, or does not exist, is as good as a dense one."""

    class Shifted(f.Poisson):
        def sufficient(self, x: np.ndarray) -> np.ndarray:
            return np.asarray(x + 10.0)[..., None]

    x = np.array([[0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(one_group(Shifted(), sparse.csr_array(x)).mean[0, :, 0], [10.0, 10.5])

    class Both(f.Poisson):
        def sufficient(self, x: np.ndarray) -> np.ndarray:
            return np.stack([x, np.exp(x)], axis=-1)

    np.testing.assert_allclose(one_group(Both(), sparse.csr_array(x)).mean, one_group(Both(), x).mean)
    positive = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert one_group(f.Gamma(), sparse.csr_array(positive)).finite
    assert not one_group(f.Gamma(), sparse.csr_array(x)).finite


def test_infinite_values_are_reported() -> None:
    assert not one_group(f.Poisson(), np.array([[1.0], [np.inf], [-np.inf]])).finite
    assert not one_group(f.Gamma(), np.array([[1.0], [0.0]])).finite


@pytest.mark.parametrize("gone", [[[1.0], [1.0]], [[0.0], [0.0]]], ids=["successes", "failures"])
def test_more_successes_or_failures_than_learnt_cannot_be_forgotten(gone: list[list[float]]) -> None:
    sums = one_group(f.Bernoulli(), np.array([[1.0], [0.0], [1.0], [0.0]]))
    with pytest.raises(UnseenRowsError, match="count more"):
        sums.remove(np.array(gone * 2)[:3], np.zeros(3, dtype=np.int32))


def test_counts_are_exactly_zero_when_the_last_one_is_forgotten() -> None:
    x, weight = np.array([[1.0], [0.0], [1.0]]), np.array([0.1, 0.7, 0.2])
    left = one_group(f.Bernoulli(), x, weight).remove(x[::2], np.zeros(2, dtype=np.int32), weight[::2])
    assert left.mean[0, 0, 0] == 0.0


def test_digits_lost_in_forgetting_large_values_are_counted() -> None:
    x = np.array([[1e9], [1.0], [2.0]])
    sums = one_group(f.Exponential(), x)
    assert sums.cancellation(sums.remove(x[:1], np.zeros(1, dtype=np.int32))) > 1e8
    counts = one_group(f.Poisson(), x)
    assert counts.cancellation(counts.remove(x[:1], np.zeros(1, dtype=np.int32))) == 1.0


def test_other_families_cannot_be_merged() -> None:
    with pytest.raises(MergeError, match=r"Exponential\(\).*Poisson\(\)"):
        ColumnSums.zero(f.Poisson(), 1, 2).merge(ColumnSums.zero(f.Exponential(), 1, 2))
