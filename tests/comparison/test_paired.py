"""Uncertainty of means over splits that share rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mercer.comparison._paired import difference_of, holm, interval_of, mean_of, overlap_of

SCORES = np.array([0.91, 0.85, 0.88, 0.94, 0.90])
OTHERS = np.array([0.90, 0.80, 0.86, 0.91, 0.89])


def test_the_interval_agrees_with_its_formula() -> None:
    mean, low, high = interval_of(SCORES, overlap=0.25)
    half = stats.t.ppf(0.975, 4) * np.sqrt((1 / 5 + 0.25) * SCORES.var(ddof=1))
    assert (mean, low, high) == pytest.approx((SCORES.mean(), SCORES.mean() - half, SCORES.mean() + half))
    assert interval_of(SCORES, 0.25, high=0.9).high == 0.9


def test_without_shared_rows_the_test_is_the_paired_t_test() -> None:
    found = difference_of(SCORES, OTHERS, overlap=0.0)
    theirs = stats.ttest_rel(SCORES, OTHERS)
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))


def test_shared_rows_increase_the_p_value() -> None:
    assert difference_of(SCORES, OTHERS, overlap=0.25).p > difference_of(SCORES, OTHERS, overlap=0.0).p


@given(st.lists(st.floats(0.1, 1), min_size=2, max_size=10), st.floats(0, 1))
def test_a_test_has_no_direction(scores: list[float], overlap: float) -> None:
    one = np.array(scores)
    other = one[::-1].copy()
    forward, back = difference_of(one, other, overlap), difference_of(other, one, overlap)
    assert forward.p == pytest.approx(back.p)
    assert forward.mean == pytest.approx(-back.mean)


def test_models_that_are_equal_but_for_rounding_are_equal() -> None:
    assert difference_of(SCORES, SCORES * (1 + 1e-14), overlap=0.25).p == 1.0
    assert difference_of(SCORES, SCORES - 0.25, overlap=0.25).p == 0.0


def test_differences_that_cannot_be_tested_are_nan() -> None:
    infinite = np.array([1.0, np.inf])
    assert math.isnan(difference_of(infinite, np.ones(2), 0.5).p)
    assert math.isnan(difference_of(infinite, infinite, 0.5).p)
    assert math.isnan(interval_of(np.ones(1), 0.5).low)
    assert interval_of(infinite, 0.5).mean == np.inf


def test_splits_without_a_measure_are_ignored() -> None:
    """As of the AUC, where all held-out rows are of one class."""
    with_gap = np.append(SCORES, np.nan)
    assert interval_of(with_gap, 0.25) == interval_of(SCORES, 0.25)
    assert difference_of(with_gap, np.append(OTHERS, 0.5), 0.25) == pytest.approx(
        difference_of(SCORES, OTHERS, 0.25), nan_ok=True
    )
    assert math.isnan(mean_of(np.full(3, np.nan)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_with_its_definition(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    order = np.argsort(p_values, kind="stable")
    for rank, place in enumerate(order):
        stepped = [min(1.0, p_values[order[k]] * (len(p_values) - k)) for k in range(rank + 1)]
        assert adjusted[place] == pytest.approx(max(stepped))


def test_hypotheses_that_were_not_tested_do_not_count_in_holms_correction() -> None:
    assert holm([0.02, math.nan])[0] == 0.02
    assert math.isnan(holm([0.02, math.nan])[1])


def test_rows_scored_for_each_row_fitted_to() -> None:
    assert overlap_of([(np.arange(8), np.arange(2)), (np.arange(4), np.arange(2))]) == pytest.approx(0.375)


def test_losses_that_are_far_larger_in_every_split_are_larger_beyond_chance() -> None:
    huge = np.array([4e4, 2e3, 1.5e5, 300.0, 9e3])
    found = difference_of(-np.ones(5), -huge, 0.25)
    assert found.mean == pytest.approx(huge.mean() - 1)
    assert found.p < 0.01
    # one split alone proves nothing, whatever its size
    assert difference_of(-np.ones(5), -np.array([1.0, 1.1, 0.9, 1e6, 1.0]), 0.25).p > 0.1
    # nor do scores that may be of any sign
    assert difference_of(np.ones(5), -huge, 0.25).p > 0.1


def test_losses_that_grow_with_the_rows_of_a_split_are_compared_by_their_ratio() -> None:
    guessing, model = np.array([14.7, 11.3, 22.0, 16.6, 10.9]), np.array([8.3, 6.8, 8.9, 6.8, 7.8])
    assert difference_of(-model, -guessing, 0.25).p < 0.05
    near = guessing * np.array([0.95, 0.9, 0.85, 0.9, 0.92])
    plain = stats.t.sf(np.mean(guessing - near) / (np.std(guessing - near, ddof=1) * 0.45**0.5), 4) * 2
    assert difference_of(-near, -guessing, 0.25).p == pytest.approx(plain)
