"""Parzen windows as a family of a column: the same densities as of the windows themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mercer._errors import BandwidthError, FamilyError, KernelError
from mercer.density import Bandwidth, Epanechnikov, Gaussian, Parzen, Scott, Windows
from mercer.stats import StoredRows

RNG = np.random.default_rng(5)
X = np.column_stack([RNG.normal(size=60), RNG.gamma(2.0, size=60)])
CODES = np.arange(60) % 2
STATISTIC = StoredRows.zero(2, 2).update(X, CODES)


def test_densities_agree_with_kernels_around_the_values_of_the_class():
    parameters = Parzen(bandwidth=0.4).fit(STATISTIC)
    np.testing.assert_array_equal(parameters.bandwidth, 0.4)
    at = np.linspace(-3, 5, 9)
    log_p = Parzen(bandwidth=0.4).log_density(at[:, None, None], parameters)
    for c in range(2):
        for j in range(2):
            expected = stats.norm.pdf(at[:, None], X[c == CODES, j], 0.4).mean(axis=1)
            np.testing.assert_allclose(log_p[:, c, j], np.log(expected), rtol=1e-10)


def test_the_rule_is_applied_to_each_class_and_column():
    bandwidth = Parzen(bandwidth="scott-scaled").fit(STATISTIC).bandwidth
    for c in range(2):
        for j in range(2):
            expected = Scott().choose(X[c == CODES][:, [j]], None, Gaussian()).value
            np.testing.assert_allclose(bandwidth[c, j], expected)


@pytest.mark.parametrize("shape", ["one", "axes", "matrix"])
def test_bandwidths_are_in_the_units_of_the_column(shape):
    """Rules that choose a matrix, which holds squares, give the same bandwidths."""
    bandwidth = Parzen(bandwidth=Scott(shape=shape)).fit(STATISTIC).bandwidth
    np.testing.assert_allclose(bandwidth, Parzen(bandwidth="scott-scaled").fit(STATISTIC).bandwidth)


@pytest.mark.parametrize("shape", [(2, 2), (5, 1, 1), (5, 2, 2), (1, 2), (3, 5, 1, 2)])
def test_values_of_any_shape_broadcast_against_the_parameters(shape):
    family = Parzen(bandwidth=0.4)
    parameters = family.fit(STATISTIC)
    x = RNG.normal(size=shape)
    x.flat[0] = np.nan
    values = np.broadcast_to(x, np.broadcast_shapes(shape, (2, 2)))
    log_p = family.log_density(x, parameters)
    assert log_p.shape == values.shape
    for place in np.ndindex(values.shape):
        windows, value = parameters.windows[place[-2:]], values[place]
        expected = 0.0 if np.isnan(value) else windows.log_density(np.array([[value]]))[0]
        assert log_p[place] == pytest.approx(expected, rel=1e-12)


def test_missing_values_are_left_out_of_the_fit_and_integrated_out():
    gaps = np.where(RNG.random(X.shape) < 0.3, np.nan, X)
    family = Parzen(bandwidth=0.3)
    parameters = family.fit(StoredRows.zero(1, 2).update(gaps, np.zeros(60, dtype=int)))
    assert len(parameters.windows[0, 1].points) == np.isfinite(gaps[:, 1]).sum()
    np.testing.assert_array_equal(family.log_density(np.array([[np.nan, np.inf]]), parameters), [[0.0, -np.inf]])


def test_equal_values_share_a_window():
    whole = RNG.integers(0, 4, (500, 1)).astype(float)
    weight = RNG.uniform(0.5, 2, 500)
    for weights in (None, weight):
        family = Parzen()
        parameters = family.fit(StoredRows.zero(1, 1).update(whole, np.zeros(500, dtype=int), weights))
        windows = parameters.windows[0, 0]
        assert len(windows.points) == 4
        alone = Windows(Gaussian(), windows.bandwidth, whole, weights)
        at = np.linspace(-2, 6, 50)[:, None]
        np.testing.assert_allclose(windows.log_density(at), alone.log_density(at), rtol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "exponential"])
def test_samples_follow_the_density(kernel):
    family = Parzen(kernel, bandwidth=0.5)
    parameters = family.fit(STATISTIC)
    draws = family.sample(parameters, 2000, np.random.default_rng(1))
    assert draws.shape == (2000, 2, 2)
    for c in range(2):
        for j in range(2):
            points = X[c == CODES, j]
            cdf = parameters.windows[c, j].kernel.cdf
            law = stats.kstest(
                draws[:, c, j], lambda x, points=points, cdf=cdf: cdf((x[:, None] - points) / 0.5).mean(1)
            )
            assert law.pvalue > 0.001


def test_a_class_without_values_uses_those_of_all_classes():
    codes = np.zeros(60, dtype=int)
    family = Parzen(bandwidth=0.4)
    parameters = family.fit(StoredRows.zero(2, 2).update(X, codes))
    log_p = family.log_density(np.array([0.3, 1.0]), parameters)
    np.testing.assert_array_equal(log_p[0], log_p[1])


def test_without_values_the_log_density_is_zero():
    parameters = Parzen().fit(StoredRows.zero(2, 1))
    np.testing.assert_array_equal(Parzen().log_density(np.array([3.0]), parameters), np.zeros((2, 1)))
    assert np.isnan(parameters.bandwidth).all()
    assert np.isnan(Parzen().sample(parameters, 3, np.random.default_rng(0))).all()


def test_equal_families_compare_equal():
    assert Parzen() == Parzen()
    assert Parzen(bandwidth=2) == Parzen(bandwidth=Bandwidth(2.0)) == Parzen(bandwidth=[[4.0]])
    assert Parzen("gaussian") != Parzen("uniform")
    assert len({Parzen(), Parzen(), Parzen(bandwidth=Scott())}) == 2
    assert repr(Parzen()) == "Parzen(kernel='gaussian', bandwidth='silverman-scaled')"


def test_operations_of_exponential_families_are_rejected():
    for ask in (Parzen().sufficient, Parzen().log_partition, Parzen().from_mean, lambda x: Parzen().link):
        with pytest.raises(FamilyError, match="not an exponential family"):
            ask(np.zeros(1))
    with pytest.raises(FamilyError, match="not an exponential family"):
        Parzen().fit(STATISTIC, prior=object())
    with pytest.raises(TypeError, match="does not describe a response"):
        _ = Parzen().row_loss


def test_invalid_parameters_are_named():
    with pytest.raises(BandwidthError, match="one number"):
        Parzen(bandwidth=[1.0, 2.0])
    with pytest.raises(BandwidthError, match="above 0"):
        Parzen(bandwidth=-1.0)
    with pytest.raises(BandwidthError, match="no bandwidth rule"):
        Parzen(bandwidth="silvermann-scaled")
    with pytest.raises(KernelError, match="gausian"):
        Parzen("gausian")
    assert Parzen(Epanechnikov()).kernel == Epanechnikov()
