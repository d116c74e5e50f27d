"""Edges of buckets and what lies in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.preprocessing._buckets import Buckets, decades, equal_widths, quantiles

numbers = arrays(np.float64, st.integers(1, 40), elements=st.floats(allow_nan=False, allow_infinity=False))


def test_the_decades_of_the_lecture() -> None:
    """1[0 ≤ N < 10], 1[10 ≤ N < 100], …"""
    buckets = Buckets(decades(np.array([0.0, 12345.0])))
    assert buckets.edges.tolist() == [0, 10, 100, 1000, 10_000, 100_000]
    assert buckets.codes(np.array([0, 9.99, 10, 99, 100, 1e4, 1e9])).tolist() == [0, 0, 1, 1, 2, 4, 4]
    assert buckets.names("N")[:2] == ["N < 10", "N in [10, 100)"]
    assert decades(np.array([3.0])).tolist() == [0, 10]
    assert decades(np.array([-250.0, 10.0])).tolist() == [-1000, -100, -10, 0, 10, 100]
    assert decades(np.empty(0)).tolist() == [0, 10]


@settings(max_examples=200)
@given(x=numbers, count=st.integers(1, 12), rule=st.sampled_from([quantiles, equal_widths, lambda x, _: decades(x)]))
def test_every_value_is_in_the_bucket_that_contains_it(x: np.ndarray, count: int, rule) -> None:
    buckets = Buckets(rule(x, count))
    codes = buckets.codes(x)
    assert np.isfinite(buckets.edges).all()
    assert (buckets.edges[1:] > buckets.edges[:-1]).all()
    assert ((codes >= 0) & (codes < buckets.count)).all()
    lower = np.append(-np.inf, buckets.inner)[codes]
    upper = np.append(buckets.inner, np.inf)[codes]
    assert ((lower <= x) & (x < upper)).all()


def test_quantile_buckets_have_equal_counts() -> None:
    x = np.random.default_rng(0).permutation(1000).astype(float)
    assert np.bincount(Buckets(quantiles(x, 8)).codes(x)).tolist() == [125] * 8


def test_many_equal_values_give_fewer_quantile_buckets() -> None:
    x = np.array([0.0] * 90 + list(range(1, 11)))
    buckets = Buckets(quantiles(x, 10))
    assert buckets.count < 10
    assert Buckets(quantiles(np.ones(5), 4)).names("a") == ["a in (-inf, inf)"]


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_names_of_buckets_are_distinct(offset: float) -> None:
    names = Buckets(offset + np.linspace(0, 1, 30)).names("x")
    assert len(set(names)) == len(names) == 29


def test_missing_values_are_in_no_bucket() -> None:
    assert Buckets(np.array([0.0, 1.0, 2.0])).codes(np.array([np.nan, 0.5])).tolist() == [-1, 0]
