"""The multinomial: fractional counts, lengths, and its Bernoulli and categorical cases."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import gammaln

from mercer import families as f
from mercer.families.pseudo_counts import add_alpha

P = f.CategoricalParameters(np.array([[0.2, 0.3, 0.5], [0.0, 0.4, 0.6]]))


def test_fractional_counts_have_a_coefficient_by_gamma() -> None:
    x = np.array([0.5, 1.25, 3.0])
    expected = gammaln(x.sum() + 1) - gammaln(x + 1).sum() + x @ np.log(P.probabilities[0])
    assert f.Multinomial().log_density(x, P)[0] == pytest.approx(expected, rel=1e-13)


def test_a_word_of_probability_zero_matters_only_if_it_occurs() -> None:
    density = f.Multinomial().log_density(np.array([[[1, 2, 0]], [[0, 2, 1]]]), P)
    assert density.shape == (2, 2)
    assert density[0, 1] == -np.inf
    assert np.isfinite(density[[0, 1, 1], [0, 0, 1]]).all()


def test_two_words_are_a_binomial() -> None:
    x, p = np.arange(8), 0.3
    ours = f.Multinomial(7).log_density(np.stack([7 - x, x], axis=-1), f.CategoricalParameters(np.array([1 - p, p])))
    np.testing.assert_allclose(ours, f.Binomial(7).log_density(x, f.BernoulliParameters(p)), rtol=1e-12)


def test_an_empty_row_is_certain() -> None:
    np.testing.assert_array_equal(f.Multinomial().log_density(np.zeros(3), P), [0.0, 0.0])


def test_the_support_is_checked() -> None:
    rows = np.array([[1.0, 2.0, 0.0], [-1.0, 2.0, 2.0], [np.inf, 0.0, 0.0], [1.0, 1.0, 2.0]])
    np.testing.assert_array_equal(f.Multinomial().outside(rows), [False, True, True, False])
    np.testing.assert_array_equal(f.Multinomial(3).outside(rows), [False, True, True, True])


def test_the_fit_weights_words_and_not_rows() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 9.0]])
    statistic = SimpleNamespace(weight=np.array([2.0]), mean=rows.mean(axis=0)[None])
    np.testing.assert_allclose(f.Multinomial().fit(statistic).probabilities, [[0.1, 0.9]])


def test_a_class_without_words_has_the_prior_or_nothing() -> None:
    statistic = SimpleNamespace(weight=np.array([3.0, 0.0]), mean=np.array([[0.0, 0.0], [0.0, 0.0]]))
    smoothed = f.Multinomial().fit(statistic, add_alpha(f.Multinomial(), 1.0, levels=2))
    np.testing.assert_allclose(smoothed.probabilities, 0.5)
    assert np.isnan(f.Multinomial().fit(statistic).probabilities).all()


def test_rows_are_drawn_at_the_given_lengths() -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([1, 5, 0, 100])
    drawn = f.Multinomial().sample(P, 4, rng, length=lengths)
    assert drawn.shape == (4, 2, 3)
    np.testing.assert_array_equal(drawn.sum(axis=-1), np.stack([lengths, lengths], axis=-1))
    assert (drawn[:, 1, 0] == 0).all()
    with pytest.raises(ValueError, match="give `length`"):
        f.Multinomial().sample(P, 4, rng)


def test_trials_are_checked() -> None:
    with pytest.raises(ValueError, match="whole number of trials, at least 1"):
        f.Multinomial(trials=0)
