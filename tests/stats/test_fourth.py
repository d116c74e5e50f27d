"""Ledoit and Wolf's intensity from sums, against scikit-learn's from the rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf
from sklearn.preprocessing import StandardScaler

from mercer.stats import FourthMoments


def draw(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_t(8, size=(n, d)) @ rng.normal(size=(d, d)) * np.geomspace(1e-3, 1e3, d) + 100
    return x, rng.integers(0, 2, n).astype(np.int32)


def expected(rows: np.ndarray) -> float:
    return float(ledoit_wolf(StandardScaler().fit_transform(rows))[1])


@pytest.mark.parametrize(("n", "d"), [(3000, 4), (60, 30), (40, 1), (6, 2)])
def test_intensity_of_every_class(n: int, d: int) -> None:
    x, groups = draw(n, d)
    intensity = FourthMoments.zero(2, d).update(x, groups).ledoit_wolf()
    np.testing.assert_allclose(intensity, [expected(x[groups == c]) for c in range(2)], rtol=1e-10)


def test_intensity_after_merging_and_forgetting() -> None:
    x, groups = draw(300, 5)
    x[:100] += 3 * x.std(axis=0)
    zero = FourthMoments.zero(2, 5)
    a, b, c = (zero.update(x[rows], groups[rows]) for rows in np.split(np.arange(300), 3))
    left = a.merge(b).merge(c).remove(x[:100], groups[:100])
    np.testing.assert_allclose(left.ledoit_wolf(), [expected(x[100:][groups[100:] == g]) for g in range(2)], rtol=1e-10)


def test_intensity_of_a_shared_covariance() -> None:
    """Centred by class means, the rows are one data set; scaling them again has no effect."""
    x, groups = draw(400, 6)
    moments = FourthMoments.zero(2, 6).update(x, groups)
    centred = x - moments.moments.mean[groups]
    np.testing.assert_allclose(moments.ledoit_wolf_within(), expected(centred), rtol=1e-10)


def test_weights_are_equivalent_to_repetitions() -> None:
    x, groups = draw(100, 3)
    times = np.random.default_rng(1).integers(0, 4, 100)
    intensity = FourthMoments.zero(2, 3).update(x, groups, times.astype(float)).ledoit_wolf()
    x, groups = np.repeat(x, times, axis=0), np.repeat(groups, times)
    np.testing.assert_allclose(intensity, [expected(x[groups == c]) for c in range(2)], rtol=1e-10)


def test_constant_columns_and_empty_classes() -> None:
    x, _ = draw(50, 3)
    x[:, 1] = 7.0
    intensity = FourthMoments.zero(2, 3).update(x, np.zeros(50, dtype=np.int32)).ledoit_wolf()
    np.testing.assert_allclose(intensity, [expected(x), 0.0], rtol=1e-10)


def test_lost_digits_are_counted() -> None:
    x, groups = draw(50, 3)
    x[:2] += 1e3 * x.std(axis=0)
    moments = FourthMoments.zero(2, 3).update(x, groups)
    left = moments.remove(x[:2], groups[:2])
    assert moments.cancellation(left) > 1e9 > moments.moments.cancellation(left.moments)


def test_incomplete_rows_are_reported() -> None:
    x, groups = draw(50, 3)
    x[3, 1] = np.nan
    assert not FourthMoments.zero(2, 3).update(x, groups).finite


def test_a_row_of_weight_zero_may_have_gaps() -> None:
    x, groups = draw(50, 3)
    weight = np.ones(50)
    x[3, 1], weight[3] = np.nan, 0.0
    kept = FourthMoments.zero(2, 3).update(np.delete(x, 3, axis=0), np.delete(groups, 3))
    np.testing.assert_allclose(FourthMoments.zero(2, 3).update(x, groups, weight).ledoit_wolf(), kept.ledoit_wolf())


def test_columns_whose_fourth_powers_overflow_are_reported() -> None:
    x, groups = draw(50, 4)
    x[:, 3] = 7.0  # is constant, which is not a matter of range
    beyond = FourthMoments.zero(2, 4).update(x * [1.0, 1e90, 1e-90, 1.0], groups).beyond_range()
    np.testing.assert_array_equal(beyond, [[False, True, True, False]] * 2)
