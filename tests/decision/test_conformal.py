"""Conformal p-values: uniform for usual rows, small for outliers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mercer._errors import DataError, NonFiniteError
from mercer.decision import conformal_p_values
from mercer.decision._conformal import least_p_value, leave_one_out_p_values, score_threshold

SCORES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=30)


@given(scores=SCORES, calibration=SCORES)
def test_p_values_agree_with_their_definition(scores, calibration):
    expected = [(1 + sum(c <= s for c in calibration)) / (len(calibration) + 1) for s in scores]
    np.testing.assert_array_equal(conformal_p_values(scores, calibration), expected)


@given(scores=SCORES, calibration=SCORES, seed=st.integers(0, 99))
def test_randomized_p_values_are_never_larger(scores, calibration, seed):
    rng = np.random.default_rng(seed)
    assert (conformal_p_values(scores, calibration, rng=rng) <= conformal_p_values(scores, calibration)).all()


def test_every_rank_is_equally_likely_for_a_usual_row():
    """One new row against nine: P(p = k/10) = 1/10 exactly, here counted over the place of the new row."""
    values = np.arange(10.0)
    p = [conformal_p_values([values[i]], np.delete(values, i))[0] for i in range(10)]
    np.testing.assert_array_equal(p, np.arange(1, 11) / 10)


@pytest.mark.parametrize("levels", [np.inf, 3], ids=["without ties", "with ties"])
def test_usual_rows_have_uniform_p_values(levels):
    rng = np.random.default_rng(1)
    draw = rng.normal if np.isinf(levels) else lambda size: rng.integers(levels, size=size).astype(float)
    pairs = [(draw(size=1), draw(size=25)) for _ in range(3000)]
    p = np.concatenate([conformal_p_values(*pair, rng=rng) for pair in pairs])
    assert stats.kstest(p, "uniform").pvalue > 0.05
    safe = np.concatenate([conformal_p_values(*pair) for pair in pairs])
    for t in (0.04, 0.1, 0.5):
        assert (safe <= t).mean() <= t + 3 * np.sqrt(t / len(safe))


@given(calibration=SCORES, level=st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5, 0.9]))
def test_the_threshold_separates_p_values_at_the_level(calibration, level):
    at = score_threshold(np.array(calibration), level)
    scores = np.array([*calibration, -9.0, 9.0, -np.inf])
    np.testing.assert_array_equal(scores < at, conformal_p_values(scores, calibration) <= level)


@given(calibration=SCORES, zeros=st.integers(0, 3))
def test_p_values_are_bounded_below(calibration, zeros):
    known = np.array([*calibration, *[-np.inf] * zeros])
    least = least_p_value(known)
    assert least == (1 + zeros) / (len(known) + 1)
    assert (conformal_p_values([*known, -99.0], known) >= least).all()


@given(scores=SCORES)
def test_leave_one_out_p_values_agree_with_brute_force(scores):
    values = np.array(scores)
    others = (np.delete(values, i) for i in range(len(values)))
    expected = [(1 + (other <= s).sum()) / len(values) for s, other in zip(values, others, strict=True)]
    np.testing.assert_allclose(leave_one_out_p_values(values), expected)


def test_infinite_scores_have_ranks_and_missing_ones_do_not():
    np.testing.assert_array_equal(conformal_p_values([-np.inf, np.inf], [-np.inf, 0.0, 1.0]), [0.5, 1.0])
    with pytest.raises(NonFiniteError, match="calibration has NaN at position 1"):
        conformal_p_values([1.0], [0.0, np.nan])
    with pytest.raises(DataError, match="hold out some rows"):
        conformal_p_values([1.0], [])
