"""Benjamini and Hochberg's rule: its definition, SciPy's result, and its guarantee."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mercer._errors import DataError
from mercer.decision import adjusted_p_values, benjamini_hochberg

P_VALUES = st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.02, 0.03, 0.04, 0.05, 0.2, 0.5, 1.0]), min_size=1, max_size=20)


def by_definition(p: list[float], level: float) -> list[bool]:
    """Select the k smallest p-values for the largest k with p₍ₖ₎ ≤ level·k/m."""
    m = len(p)
    passing = [k for k in range(1, m + 1) if sorted(p)[k - 1] * m / k <= level]
    return [value <= sorted(p)[max(passing) - 1] for value in p] if passing else [False] * m


@given(p=P_VALUES, level=st.sampled_from([0.01, 0.05, 0.1, 0.5]))
def test_rejections_agree_with_the_definition(p, level):
    assert benjamini_hochberg(p, level).tolist() == by_definition(p, level)


@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_adjusted_p_values_agree_with_scipy(p):
    np.testing.assert_allclose(adjusted_p_values(p), stats.false_discovery_control(p), rtol=1e-12)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_the_false_discovery_rate_is_controlled(correlation):
    """With 80 true hypotheses of 100, the mean share of false discoveries is 0.8 · level, or less if dependent."""
    rng = np.random.default_rng(2)
    shares, found = [], []
    for _ in range(400):
        z = np.sqrt(1 - correlation) * rng.normal(size=100) + np.sqrt(correlation) * rng.normal()
        z[80:] += 4
        positive = benjamini_hochberg(stats.norm.sf(z), 0.2)
        shares.append(positive[:80].sum() / max(1, positive.sum()))
        found.append(positive[80:].mean())
    assert np.mean(shares) < 0.18
    assert np.mean(shares) > (0.14 if correlation == 0 else 0.02)
    assert np.mean(found) > 0.8


def test_empty_input_is_accepted_and_invalid_p_values_are_rejected():
    assert benjamini_hochberg([], 0.1).shape == (0,)
    for wrong in ([0.5, np.nan], [1.5], [-0.1], [[0.1]]):
        with pytest.raises(DataError, match="from 0 to 1"):
            benjamini_hochberg(wrong, 0.1)
