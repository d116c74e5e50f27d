"""Calibration errors and curves: known answers, Murphy's decomposition, and the error by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from mercer._errors import DataError, NonFiniteError
from mercer.decision import calibration_curve_with_intervals, calibration_error
from mercer.decision.reliability import assign_bins, wilson_interval

ROWS = st.lists(st.tuples(st.integers(0, 10), st.booleans(), st.integers(1, 4)), min_size=1, max_size=60)


def drawn(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(p))[:, None] > p.cumsum(axis=1)).sum(axis=1)


@given(rows=ROWS, bins=st.integers(1, 8))
def test_the_parts_of_the_brier_score_sum_to_it(rows, bins):
    p, y, w = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    p /= 10
    found = calibration_error(p, y, bins=bins, sample_weight=w, repeats=0)
    np.testing.assert_allclose(found.brier, np.average((p - y) ** 2, weights=w))
    total = found.reliability - found.resolution + found.uncertainty + found.within
    np.testing.assert_allclose(total, found.brier, atol=1e-12)
    base = np.average(y, weights=w)
    np.testing.assert_allclose(found.uncertainty, base * (1 - base), atol=1e-12)


@given(rows=ROWS)
def test_with_one_bin_per_probability_there_is_no_variation_within_bins(rows):
    p, y, _ = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    found = calibration_error(p / 10, y, bins=1000, repeats=0)
    np.testing.assert_allclose(found.within, 0.0, atol=1e-12)


@given(rows=ROWS, bins=st.integers(1, 8))
def test_weights_are_equivalent_to_repetitions(rows, bins):
    p, y, w = (np.array(column) for column in zip(*rows, strict=True))
    one = calibration_error(p / 10, y, bins=bins, sample_weight=w, repeats=0)
    two = calibration_error(np.repeat(p / 10, w), np.repeat(y, w), bins=bins, repeats=0)
    np.testing.assert_allclose(one[:1] + one[5:], two[:1] + two[5:], atol=1e-12)


@given(rows=ROWS, bins=st.integers(1, 8))
def test_equal_probabilities_share_a_bin_and_bins_are_in_order(rows, bins):
    p = np.array([row[0] / 10 for row in rows])
    number = assign_bins(p, np.ones(len(p)), bins)
    order = np.argsort(p, kind="stable")
    assert (np.diff(number[order]) >= 0).all()
    assert number.max() + 1 == len(set(number)) <= bins
    for value in set(p):
        assert len(set(number[p == value])) == 1


def test_rows_of_weight_zero_have_no_effect():
    p, y, weight = np.array([0.1, 0.5, 0.9]), np.array([0, 1, 1]), np.array([1.0, 0.0, 1.0])
    assert calibration_error(p, y, bins=3, sample_weight=weight) == calibration_error(p[::2], y[::2], bins=3)
    curve = calibration_curve_with_intervals(p, y, bins=3, sample_weight=weight)
    np.testing.assert_array_equal(curve.predicted, [0.1, 0.9])


@pytest.mark.parametrize("weight", [[0, 0, 0], [1, -1, 1], [1, np.nan, 1], [[1, 1, 1]]])
def test_invalid_weights_are_rejected(weight):
    with pytest.raises(DataError, match="none negative and not all 0"):
        calibration_error([0.1, 0.5, 0.9], [0, 1, 1], sample_weight=weight)


def test_an_invalid_level_and_column_are_rejected():
    with pytest.raises(DataError, match="level=95"):
        calibration_error([0.1, 0.5], [0, 1], level=95)
    for of in (7, "second"):
        with pytest.raises(DataError, match="number of a column"):
            calibration_curve_with_intervals(np.eye(3), [0, 1, 2], of=of)


def test_bins_without_ties_have_equal_counts():
    p = np.random.default_rng(0).random(100)
    np.testing.assert_array_equal(np.bincount(assign_bins(p, np.ones(100), 10)), np.full(10, 10))


def test_the_error_is_the_mean_distance_between_predicted_and_observed():
    """Four rows at 0.1 with one event, two at 0.8 with two: (4 · 0.15 + 2 · 0.2)/6."""
    p, y = [0.1, 0.1, 0.1, 0.1, 0.8, 0.8], [0, 0, 0, 1, 1, 1]
    found = calibration_error(p, y, bins=2)
    assert found.error == pytest.approx(1 / 6)
    assert found.bins == 2
    assert found.low <= found.error <= found.high
    curve = calibration_curve_with_intervals(p, y, bins=2)
    np.testing.assert_allclose(curve.predicted, [0.1, 0.8])
    np.testing.assert_allclose(curve.observed, [0.25, 1.0])
    np.testing.assert_array_equal(curve.first, [0.1, 0.8])
    np.testing.assert_array_equal(curve.last, [0.1, 0.8])
    assert curve.high[1] == 1.0
    assert curve.low[0] < 0.25 < curve.high[0]


def test_wilsons_interval_agrees_with_the_literature():
    low, high = wilson_interval(np.array([0.1]), np.array([10.0]), 0.95)
    np.testing.assert_allclose([low[0], high[0]], [0.0178762, 0.4041500], atol=1e-6)


def test_two_classes_are_one_event_and_labels_may_be_given():
    rng = np.random.default_rng(1)
    p = rng.random(200)
    y = rng.random(200) < p
    one = calibration_error(p, y)
    two = calibration_error(np.column_stack([1 - p, p]), np.where(y, "yes", "no"), labels=["no", "yes"])
    assert one == two
    assert one.brier == pytest.approx(brier_score_loss(y, p))


def test_true_probabilities_rarely_fail_the_test_and_wrong_ones_always_do():
    rng = np.random.default_rng(2)
    p_values, errors, chance = [], [], []
    for _ in range(60):
        p = rng.dirichlet([1, 1, 1], 300)
        found = calibration_error(p, drawn(p, rng), repeats=50, random_state=rng)
        p_values.append(found.p_value)
        errors.append(found.error)
        chance.append(found.by_chance)
    assert np.mean(np.array(p_values) < 0.1) < 0.1 + 3 * np.sqrt(0.09 / 60)
    assert abs(np.mean(errors) - np.mean(chance)) < 0.005
    sure = p**3 / (p**3).sum(axis=1, keepdims=True)
    wrong = calibration_error(sure, drawn(p, rng))
    assert wrong.p_value < 0.01
    assert wrong.low > wrong.by_chance
    assert wrong.matters
    assert "calibrate them" in wrong.sentence()


def test_a_tiny_error_on_many_rows_is_significant_but_does_not_matter():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 50_000)
    found = calibration_error(p + 0.01, rng.random(50_000) < p, repeats=50)
    assert found.p_value < 0.05
    assert found.error == pytest.approx(0.01, abs=0.005)
    assert not found.matters
    assert found.sentence().endswith("but too little to matter.")


def test_every_class_may_be_an_event():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 1, 1], 400)
    y = drawn(p, rng)
    each = calibration_error(p, y, of="each", repeats=0)
    alone = [calibration_error(p[:, k], y == k, repeats=0) for k in range(3)]
    assert each.error == pytest.approx(np.mean([one.error for one in alone]))
    assert each.brier == pytest.approx(sum(one.brier for one in alone))
    assert each.brier == pytest.approx(calibration_error(p, y, repeats=0).brier)
    curve = calibration_curve_with_intervals(p, y, of=2, bins=5)
    np.testing.assert_allclose(curve.observed, calibration_curve_with_intervals(p[:, 2], y == 2, bins=5).observed)
    assert calibration_curve_with_intervals(p, y, of="each").rows.sum() == 1200


def test_many_rows_are_resampled_by_sums_of_bins():
    """The numbers agree with those of resampled rows up to the error of 2,000 draws."""
    rng = np.random.default_rng(5)
    p = rng.random(3000)
    y = rng.random(3000) < p**1.1
    weight = rng.uniform(0.5, 1.5, 3000)
    drawn = calibration_error(p, y, sample_weight=weight, repeats=1000)
    summed = calibration_error(p, y, sample_weight=weight, repeats=1000, max_drawn_rows=100)
    np.testing.assert_allclose(summed[:4], drawn[:4], atol=0.002)
    assert summed.p_value == pytest.approx(drawn.p_value, abs=0.05)


def test_the_same_seed_gives_the_same_interval():
    p = np.random.default_rng(4).random(50)
    assert calibration_error(p, p > 0.5) == calibration_error(p, p > 0.5)


@pytest.mark.parametrize(
    ("p", "y", "error", "match"),
    [
        ([0.1, np.nan], [0, 1], NonFiniteError, "row 1"),
        ([0.1, 1.5], [0, 1], DataError, "from 0 to 1"),
        ([[0.1, 0.1]], [0], DataError, "sum to 0.2"),
        ([0.1, 0.2], [0, 2], DataError, "True or False"),
        ([[0.1, 0.9]], [5], DataError, "holds 5"),
        ([0.1, 0.2], [1], DataError, "2 rows, y 1"),
        ([], [], DataError, "shape"),
    ],
)
def test_invalid_input_is_named(p, y, error, match):
    with pytest.raises(error, match=match):
        calibration_error(p, y)


def test_the_number_of_bins_is_positive():
    with pytest.raises(DataError, match="bins=0"):
        calibration_error([0.5], [1], bins=0)
