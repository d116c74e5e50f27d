"""Bernoulli and binomial at the ends of their range."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import families as f


def test_certain_outcomes_have_no_nan() -> None:
    p = f.BernoulliParameters(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(f.Bernoulli().log_density(np.array([[0], [1]]), p), [[0.0, -np.inf], [-np.inf, 0.0]])
    np.testing.assert_array_equal(f.Binomial(9).log_density(np.array([0, 9]), p), [0.0, 0.0])


@pytest.mark.parametrize("p", [1e-150, 1e-10, 1 - 1e-10])
def test_probabilities_near_the_ends_keep_their_digits(p: float) -> None:
    density = f.Bernoulli().log_density(np.array([0, 1]), f.BernoulliParameters(p))
    np.testing.assert_allclose(density, [np.log1p(-p), np.log(p)], rtol=1e-13)


def test_a_bernoulli_is_a_binomial_of_one_trial() -> None:
    x, p = np.array([0, 1]), f.BernoulliParameters(np.array(0.3))
    np.testing.assert_array_equal(f.Bernoulli().log_density(x, p), f.Binomial(1).log_density(x, p))
    np.testing.assert_allclose(f.Bernoulli().log_base(x), 0.0, atol=1e-15)


def test_booleans_are_outcomes() -> None:
    assert not f.Bernoulli().outside(np.array([True, False])).any()
    assert f.Bernoulli().sufficient(np.array([True]))[0, 0] == 1.0


@pytest.mark.parametrize("trials", [0, -3, 2.5])
def test_the_number_of_trials_is_checked(trials: float) -> None:
    with pytest.raises(ValueError, match="whole number of trials"):
        f.Binomial(trials)  # type: ignore[arg-type]


def test_trials_of_each_row_are_values_that_compare() -> None:
    given = np.array([3, 5])
    each = f.Binomial(given)
    given[0] = 7
    assert each.trials.tolist() == [3, 5]
    assert each == f.Binomial([3, 5])
    assert hash(each) == hash(f.Binomial([3, 5]))
    assert each not in (f.Binomial([3, 6]), f.Binomial(3), f.Binomial(), f.Bernoulli())
    assert len({f.Binomial(), f.Binomial(3), f.Binomial(3)}) == 2
    assert [repr(family) for family in (each, f.Binomial(3))] == ["Binomial(trials=<2 numbers>)", "Binomial(trials=3)"]
    with pytest.raises(ValueError, match="no single number of trials"):
        each.log_density(np.array([1.0]), f.BernoulliParameters(np.array(0.5)))
    for wrong in ([[1, 2]], ["a"], [1.0, np.nan], [1, -1]):
        with pytest.raises(ValueError, match="trials is one whole number, or an array"):
            f.Binomial(wrong)


def test_sums_of_successes_in_another_order_never_exceed_the_trials() -> None:
    """A share of 1 + 1e-16 could not be sampled from; one of 2 is not rounding, and is kept."""
    p = f.Bernoulli().from_mean(np.array([[1 + 2**-50], [1 - 2**-50], [2.0]])).probability
    np.testing.assert_array_equal(p, [1.0, 1 - 2**-50, 2.0])
