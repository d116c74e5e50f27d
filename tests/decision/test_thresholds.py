"""Thresholds chosen on data: the cheapest by brute force, and valid bounds on false positives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from mercer._errors import CalibrationWarning, DataError
from mercer.decision._thresholds import find_bounded_threshold, find_cheapest_threshold

ROWS = st.lists(st.tuples(st.integers(0, 10), st.booleans(), st.integers(1, 3)), min_size=1, max_size=25)
COSTS = np.array([[0.0, 1.0], [4.0, -1.0]])


def average_cost(p, positive, weight, cut):
    return np.average(COSTS[positive.astype(int), (p > cut).astype(int)], weights=weight)


@given(rows=ROWS)
def test_the_chosen_threshold_has_the_least_cost(rows):
    p, positive, weight = (np.array(column) for column in zip(*rows, strict=True))
    p, weight = p / 10, weight.astype(float)
    found = find_cheapest_threshold(p, positive, COSTS, weight)
    brute = min(average_cost(p, positive, weight, cut) for cut in np.arange(0, 1.01, 0.05))
    assert found.average_cost == pytest.approx(brute)
    assert average_cost(p, positive, weight, found.value) == pytest.approx(brute)
    assert 0 <= found.value <= 1


def test_a_threshold_between_neighbouring_floats_separates_them():
    """The mean of adjacent floats is rounded, here to the upper one, which must stay above the threshold."""
    for p in (np.array([np.nextafter(1.0, 0.0), 1.0]), np.array([0.5, np.nextafter(0.5, 1.0)])):
        found = find_cheapest_threshold(p, np.array([False, True]), COSTS, np.ones(2))
        assert found.average_cost == -0.5
        assert (p > found.value).tolist() == [False, True]


def test_the_bound_is_a_rank_among_negative_rows():
    """One of 19 negative rows 0.05 … 0.95 may exceed a bound of 0.1: P = 2/20 that a new one exceeds the second."""
    p = np.concatenate([np.arange(1, 20) / 20, [0.5, 0.99]])
    positive = np.arange(21) >= 19
    found = find_bounded_threshold(p, positive, COSTS, np.ones(21), rate=0.1, confidence=None)
    assert found.value == 18 / 20
    assert found.false_positive_rate == pytest.approx(1 / 19)
    assert found.true_positive_rate == 0.5
    assert "at most 0.1" in found.guarantee


def test_the_bound_holds_on_average():
    rng = np.random.default_rng(0)
    rates = []
    for _ in range(400):
        p = rng.random(30)
        cut = find_bounded_threshold(p, np.zeros(30, bool), COSTS, np.ones(30), rate=0.2, confidence=None).value
        rates.append(1 - cut)  # of uniform scores
    assert np.mean(rates) <= 0.2
    assert np.mean(rates) > 0.17


def test_the_bound_holds_with_the_given_confidence():
    rng = np.random.default_rng(1)
    too_high = []
    for _ in range(400):
        p = rng.random(60)
        cut = find_bounded_threshold(p, np.zeros(60, bool), COSTS, np.ones(60), rate=0.2, confidence=0.9).value
        too_high.append(1 - cut > 0.2)
    rank = next(k for k in range(1, 61) if binom.sf(k - 1, 60, 0.8) <= 0.1)
    exactly = binom.sf(rank - 1, 60, 0.8)
    assert exactly <= 0.1
    assert abs(np.mean(too_high) - exactly) < 3 * np.sqrt(exactly / 400)


@pytest.mark.parametrize(("confidence", "needed"), [(None, 19), (0.95, 59)])
def test_too_few_negative_rows_call_nothing_positive(confidence, needed):
    """1/0.05 − 1 = 19, and log 0.05/log 0.95 = 58.4, the known sizes."""
    given = np.linspace(0.1, 0.9, 10), np.zeros(10, bool), COSTS, np.ones(10)
    with pytest.warns(CalibrationWarning, match=f"give {needed} or more"):
        found = find_bounded_threshold(*given, rate=0.05, confidence=confidence)
    assert found.value == 1.0
    enough = np.linspace(0.1, 0.9, needed), np.zeros(needed, bool), COSTS, np.ones(needed)
    assert find_bounded_threshold(*enough, rate=0.05, confidence=confidence).value == 0.9


def test_there_must_be_a_negative_row():
    with pytest.raises(DataError, match="rows of the first class"):
        find_bounded_threshold(np.ones(3), np.ones(3, bool), COSTS, np.ones(3), rate=0.1, confidence=None)
