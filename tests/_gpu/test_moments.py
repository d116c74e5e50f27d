"""Sums of tensors by group: those of the compiled loops for arrays, whatever the type, the layout and the weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._gpu import moments
from mercer.stats import ColumnMoments, FourthMoments, PatternMoments, ScatterMoments
from mercer.stats.base import Statistic, group_totals

torch = pytest.importorskip("torch")

STATISTICS = (ColumnMoments, ScatterMoments, PatternMoments, FourthMoments)


def rows(seed: int, n: int = 150, k: int = 3, offset: float = 0.0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(k, size=n)
    return rng.normal(size=(n, 4)) * [1.0, 5.0, 0.2, 30.0] + groups[:, None] + offset, groups, rng.random(n)


def assert_same(mine: Statistic, theirs: Statistic, rtol: float = 1e-10):
    for name, value in theirs.contents().items():
        got = mine.contents()[name]
        if isinstance(value, Statistic):
            assert_same(got, value, rtol)
        elif isinstance(value, dict):
            assert got.keys() == value.keys()
            for key in value:
                assert_same(got[key], value[key], rtol)
        elif isinstance(value, np.ndarray):
            assert isinstance(got, np.ndarray)
            assert got.dtype == value.dtype
            # third moments of two rows are 0, or rounding
            size = max(np.abs(value).max(initial=0), 0.1)
            np.testing.assert_allclose(got, value, rtol=rtol, atol=rtol * size, err_msg=name)
        else:
            assert got == value


def both(kind: type, X, groups, weight=None, k: int = 3):
    zero = kind.zero(k, X.shape[1])
    of_array = zero.update(X, groups, weight)
    tensors = (None if a is None else torch.as_tensor(a) for a in (X, groups, weight))
    return zero.update(*tensors), of_array


@pytest.mark.parametrize("kind", STATISTICS)
@pytest.mark.parametrize("weighted", [False, True])
@settings(max_examples=15)
@given(seed=st.integers(0, 1000), n=st.integers(1, 200))
def test_a_statistic_of_tensors_agrees_with_arrays(kind, weighted, seed, n):
    X, groups, weight = rows(seed, n)
    weight[::5] = 0.0
    assert_same(*both(kind, X, groups, weight if weighted else None))


@pytest.mark.parametrize("kind", STATISTICS)
def test_rows_of_weight_zero_have_no_effect(kind):
    X, groups, weight = rows(1)
    weight[::5] = 0.0
    spoilt = X.copy()
    spoilt[::5] = np.inf
    assert_same(both(kind, spoilt, groups, weight)[0], both(kind, X, groups, weight)[1])


@pytest.mark.parametrize("kind", STATISTICS)
def test_a_column_far_from_zero_keeps_its_digits(kind):
    X, groups, weight = rows(2)
    far = X + 1e8
    exact = kind.zero(3, 4).update(far - 1e8, groups, weight)
    moved = both(kind, far, groups, weight)[0]
    inner, expected = (getattr(s, "moments", getattr(s, "full", s)) for s in (moved, exact))
    np.testing.assert_allclose(inner.scatter, expected.scatter, rtol=1e-10, atol=1e-10 * expected.scatter.max())


@pytest.mark.parametrize("kind", STATISTICS)
def test_float32_is_added_up_in_float64(kind):
    X, groups, weight = rows(3, n=5000, offset=1000.0)
    assert_same(*both(kind, X.astype(np.float32), groups, weight))


@pytest.mark.parametrize("kind", [ColumnMoments, PatternMoments])
def test_missing_values_are_left_out(kind):
    X, groups, weight = rows(4)
    X[np.random.default_rng(4).random(X.shape) < 0.2] = np.nan
    assert_same(*both(kind, X, groups, weight))


@pytest.mark.parametrize("kind", [ColumnMoments, ScatterMoments])
def test_a_constant_column_has_no_variance_at_all(kind):
    X, groups, _ = rows(5, n=1001)
    X[:, 1] = 0.1 + groups / 3
    scatter = both(kind, X, groups)[0].scatter
    assert (scatter[:, 1] == 0).all() if kind is ColumnMoments else (scatter[:, 1, 1] == 0).all()


def test_scatter_is_symmetric_to_the_last_bit():
    X, groups, weight = rows(6)
    scatter = both(ScatterMoments, X, groups, weight)[0].scatter
    np.testing.assert_array_equal(scatter, np.swapaxes(scatter, 1, 2))


@pytest.mark.parametrize("kind", STATISTICS)
def test_infinity_makes_the_statistic_not_finite(kind):
    X, groups, _ = rows(7)
    X[3, 2] = -np.inf
    assert not both(kind, X, groups)[0].finite


@pytest.mark.parametrize("kind", STATISTICS)
def test_many_groups_some_of_them_empty(kind):
    k = moments.MAX_INDICATOR_GROUPS + 50
    X, groups, weight = rows(8, n=900, k=k)
    assert len(np.unique(groups)) < k
    assert_same(*both(kind, X, groups, weight, k))


@pytest.mark.parametrize("kind", STATISTICS)
def test_halves_add_up_and_layout_does_not_matter(kind):
    X, groups, weight = rows(9)
    zero, whole = kind.zero(3, 4), both(kind, X, groups, weight)[1]
    turned = torch.as_tensor(np.asfortranarray(np.repeat(X, 2, axis=0)))[::2]
    assert not turned.is_contiguous()
    codes, weights = torch.as_tensor(groups), torch.as_tensor(weight)
    first = zero.update(turned[:70], codes[:70], weights[:70])
    assert_same(first.merge(zero.update(X[70:], groups[70:], weight[70:])), whole)


def test_totals_of_groups():
    groups, weight = np.array([0, 2, 2, 0, 2]), np.array([1.0, 0.0, 2.5, 0.5, 0.25])
    for given_weight in (None, weight):
        expected = group_totals(groups, given_weight, 4)
        got = group_totals(torch.as_tensor(groups), None if given_weight is None else torch.as_tensor(weight), 4)
        for mine, theirs in zip(got, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype


def test_inputs_are_not_modified():
    X, groups, weight = rows(10)
    tensors = tuple(map(torch.as_tensor, (X.copy(), groups.copy(), weight.copy())))
    before = tuple(t.clone() for t in tensors)
    for kind in STATISTICS:
        kind.zero(3, 4).update(*tensors)
    assert all(torch.equal(a, b) for a, b in zip(before, tensors, strict=True))
