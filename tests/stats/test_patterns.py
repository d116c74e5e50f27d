"""Moments of rows with missing values, pattern by pattern."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import NonFiniteError, TooManyPatternsError, UnseenRowsError
from mercer.stats import PatternMoments, ScatterMoments, patterns

NAN = np.nan


def draw(n: int, d: int, missing: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    x[rng.random(x.shape) < missing] = NAN
    return x, rng.integers(0, 2, n).astype(np.int32)


@pytest.mark.parametrize("columns", [3, 64, 70])
def test_each_pattern_has_the_moments_of_its_rows(columns: int) -> None:
    x, groups = draw(300, columns, missing=0.02 if columns > 3 else 0.3)
    moments = PatternMoments.zero(2, columns).update(x, groups)
    observed = ~np.isnan(x)
    assert len(moments.patterns) == len(np.unique(observed, axis=0))
    for mask, part in moments:
        rows = (observed == mask).all(axis=1)
        alone = ScatterMoments.zero(2, int(mask.sum())).update(x[np.ix_(rows, mask)], groups[rows])
        np.testing.assert_array_equal(part.rows, alone.rows)
        np.testing.assert_allclose(part.mean, alone.mean, atol=1e-12)
        np.testing.assert_allclose(part.scatter, alone.scatter, atol=1e-12)


def test_complete_rows_have_one_pattern() -> None:
    x, groups = draw(100, 3, missing=0.0)
    moments = PatternMoments.zero(2, 3).update(x, groups)
    assert moments.complete
    np.testing.assert_array_equal(moments.full.scatter, ScatterMoments.zero(2, 3).update(x, groups).scatter)
    np.testing.assert_array_equal(moments.covariance, moments.full.covariance)
    np.testing.assert_array_equal(moments.mean, moments.full.mean)


def test_incomplete_rows_have_no_moments_in_closed_form() -> None:
    moments = PatternMoments.zero(1, 2).update(np.array([[1.0, NAN], [2.0, 3.0]]), np.zeros(2, dtype=np.int32))
    assert not moments.complete
    np.testing.assert_array_equal(moments.full.mean, [[2.0, 3.0]])
    with pytest.raises(NonFiniteError, match="EM"):
        _ = moments.covariance


def test_rows_without_observed_values_are_counted() -> None:
    x = np.array([[NAN, NAN], [1.0, 2.0], [NAN, NAN]])
    groups = np.array([0, 1, 1], dtype=np.int32)
    moments = PatternMoments.zero(2, 2).update(x, groups, np.array([1.0, 2.0, 0.5]))
    np.testing.assert_array_equal(moments.rows, [1, 2])
    np.testing.assert_array_equal(moments.weight, [1.0, 2.5])
    assert moments.finite
    assert not moments.complete
    np.testing.assert_array_equal(moments.remove(x[:1], groups[:1]).rows, [0, 2])


def test_patterns_disappear_with_their_rows() -> None:
    x, groups = draw(200, 3)
    complete = ~np.isnan(x).any(axis=1)
    moments = PatternMoments.zero(2, 3).update(x, groups).remove(x[~complete], groups[~complete])
    assert moments.complete
    np.testing.assert_array_equal(moments.rows, np.bincount(groups[complete]))


def test_a_pattern_that_was_not_learnt_cannot_be_forgotten() -> None:
    moments = PatternMoments.zero(1, 2).update(np.ones((3, 2)), np.zeros(3, dtype=np.int32))
    with pytest.raises(UnseenRowsError, match="lacks other values"):
        moments.remove(np.array([[1.0, NAN]]), np.zeros(1, dtype=np.int32))


@pytest.mark.parametrize("others_missing", [False, True])
def test_infinite_values_are_reported(others_missing: bool) -> None:
    x = np.array([[1.0, np.inf], [1.0, NAN if others_missing else 2.0]])
    assert not PatternMoments.zero(1, 2).update(x, np.zeros(2, dtype=np.int32)).finite


def test_too_many_patterns_are_rejected_with_a_remedy() -> None:
    n = patterns.MAX_PATTERNS + 2
    observed = np.arange(n)[:, None] >> np.arange(14) & 1
    x, groups = np.where(observed, 1.0, NAN), np.zeros(n, dtype=np.int32)
    zero = PatternMoments.zero(1, 14)
    with pytest.raises(TooManyPatternsError, match=r"^10002 patterns.*impute.*diagonal"):
        zero.update(x, groups)
    few, others = (zero.update(x[rows], groups[rows]) for rows in (slice(n // 2), slice(n // 2, n)))
    with pytest.raises(TooManyPatternsError, match=r"^1000\d patterns"):
        few.merge(others)


def test_all_patterns_of_a_wide_table_are_distinguished() -> None:
    rng = np.random.default_rng(0)
    observed = np.tile(rng.random((2000, 130)) < 0.5, (2, 1))
    found = list(patterns.group_rows_by_pattern(observed))
    assert len(found) == 2000
    for mask, rows in found:
        assert len(rows) == 2
        np.testing.assert_array_equal(observed[rows], [mask, mask])


@pytest.mark.parametrize("weighted", [True, False])
def test_patterns_of_tensors_agree_with_arrays(weighted: bool) -> None:
    torch = pytest.importorskip("torch")
    x, groups = draw(40, 3)
    weight = np.random.default_rng(0).random(40) if weighted else None
    zero = PatternMoments.zero(int(groups.max()) + 1, 3)
    expected = zero.update(x, groups, weight)
    found = zero.update(
        torch.as_tensor(x), torch.as_tensor(groups), None if weight is None else torch.as_tensor(weight)
    )
    assert found.patterns.keys() == expected.patterns.keys()
    for (_, ours), (_, theirs) in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.scatter, theirs.scatter, rtol=1e-12, atol=1e-13)


def test_lost_digits_are_those_of_the_worst_pattern() -> None:
    x, groups = draw(80, 2)
    x[:2], groups = [[1e5, NAN], [-1e5, NAN]], np.zeros(80, dtype=np.int64)
    moments = PatternMoments.zero(1, 2).update(x, groups)
    left = moments.remove(x[:2], groups[:2])
    assert moments.cancellation(left) > 1e6
    assert moments.cancellation(left) == moments.patterns[b"\x01\x00"].cancellation(left.patterns[b"\x01\x00"])
    assert left.cancellation(left.empty()) == 1.0
