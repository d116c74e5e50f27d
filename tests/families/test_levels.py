"""Families over levels: probabilities of exactly 0 and 1, codes, and draws."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import families as f

CERTAIN = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])


def test_probability_zero_has_log_density_minus_infinity_and_no_nan() -> None:
    parameters = f.CategoricalParameters(CERTAIN)
    density = f.Categorical().log_density(np.arange(3)[:, None], parameters)
    np.testing.assert_allclose(np.exp(density).T, CERTAIN)
    assert not np.isnan(density).any()


def test_codes_broadcast_against_the_classes() -> None:
    codes, p = np.array([[2], [-1], [0], [5]]), np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    density = f.Categorical().log_density(codes, f.CategoricalParameters(p))
    np.testing.assert_allclose(np.exp(density), [[0.5, 0.3], [1.0, 1.0], [0.2, 0.6], [0.0, 0.0]])


@pytest.mark.parametrize("family", [f.Categorical(3), f.Histogram([0.0, 1.0, 2.0, 3.0])])
def test_the_natural_form_permits_probability_zero(family: f.Family) -> None:
    parameters = f.CategoricalParameters(CERTAIN)
    assert family.log_partition(family.natural(parameters)) == pytest.approx(0.0)
    np.testing.assert_allclose(family.from_natural(family.natural(parameters)).probabilities, CERTAIN)


def test_samples_have_the_probabilities_and_never_a_level_of_probability_zero() -> None:
    draws = f.Categorical().sample(f.CategoricalParameters(CERTAIN), 40_000, np.random.default_rng(0))
    assert draws.shape == (40_000, 2)
    shares = np.stack([np.bincount(draws[:, k], minlength=3) for k in range(2)]) / 40_000
    np.testing.assert_allclose(shares, CERTAIN, atol=0.02)
    assert (shares[CERTAIN == 0] == 0).all()


def test_indicators_need_the_number_of_levels() -> None:
    with pytest.raises(ValueError, match="Categorical\\(levels=K\\)"):
        f.Categorical().sufficient(np.array([0]))
    with pytest.raises(ValueError, match="whole number of levels, at least 1"):
        f.Categorical(levels=0)
    np.testing.assert_array_equal(f.Categorical(2).sufficient(np.array([1, -1])), [[0, 1], [0, 0]])
