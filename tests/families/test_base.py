"""Properties of all families: edges of the support, missing values, and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import families as f

a = np.array

SCALAR: list[tuple[f.Family, Any, list[float], list[float]]] = [
    (f.Gaussian(), f.GaussianParameters(a(0.5), a(2.0)), [-3.0, 4.0], [np.inf, -np.inf]),
    (f.Bernoulli(), f.BernoulliParameters(a(0.2)), [0, 1], [-1, 2, 0.5, np.inf]),
    (f.Binomial(4), f.BernoulliParameters(a(0.2)), [0, 3, 4], [-1, 5, 0.5, np.inf]),
    (f.Categorical(3), f.CategoricalParameters(a([0.2, 0.3, 0.5])), [0, 1, 2], [-2, 3, 0.5, np.inf]),
    (f.Poisson(), f.PoissonParameters(a(3.0)), [0, 1, 9], [-1, 0.5, np.inf]),
    (f.Exponential(), f.ExponentialParameters(a(3.0)), [0.0, 2.0], [-0.1, np.inf]),
    (f.Gamma(), f.GammaParameters(a(3.0), a(1.0)), [0.1, 2.0], [0.0, -1.0, np.inf]),
    (f.InverseGaussian(), f.InverseGaussianParameters(a(3.0), a(1.0)), [0.1, 2.0], [0.0, -1.0, np.inf]),
    (f.Tweedie(1.5, 1.0), f.TweedieParameters(a(3.0), a(1.0)), [0.0, 0.1, 2.0], [-1.0, np.inf]),
    (f.Tweedie(2.0, 1.0), f.TweedieParameters(a(3.0), a(1.0)), [0.1, 2.0], [0.0, -1.0, np.inf]),
    (f.Beta(), f.BetaParameters(a(3.0), a(1.0)), [0.1, 0.9], [0.0, 1.0, -1.0, 2.0, np.inf]),
    (f.NegativeBinomial(2.0), f.NegativeBinomialParameters(a(3.0), a(2.0)), [0, 1, 9], [-1, 0.5, np.inf]),
    (f.LogNormal(), f.LogNormalParameters(a(3.0), a(1.0)), [0.1, 2.0], [0.0, -1.0, np.inf]),
    (f.Histogram([0.0, 1.0, 3.0]), f.CategoricalParameters(a([0.4, 0.6])), [0.0, 3.0, -7.0, 9.0], [np.inf, -np.inf]),
]
NAMES = [repr(case[0]) for case in SCALAR]


@pytest.mark.parametrize(("family", "parameters", "inside", "outside"), SCALAR, ids=NAMES)
def test_the_support_is_checked(family: f.Family, parameters: Any, inside: list[float], outside: list[float]) -> None:
    assert not family.outside(a(inside)).any()
    assert family.outside(a(outside)).all()
    assert np.isfinite(family.log_density(a(inside), parameters)).all()
    assert (family.log_density(a(outside), parameters) == -np.inf).all()
    assert (family.log_base(a(outside)) == -np.inf).all()
    assert not family.outside(a([np.nan])).any()
    assert family.log_density(a([np.nan]), parameters) == 0.0


@pytest.mark.parametrize(("family", "parameters", "inside", "outside"), SCALAR, ids=NAMES)
def test_any_dtype_and_read_only_arrays(
    family: f.Family, parameters: Any, inside: list[float], outside: list[float]
) -> None:
    x = np.array(inside, dtype=np.float32)
    x.flags.writeable = False
    density = family.log_density(x, parameters)
    assert density.dtype == np.float64
    np.testing.assert_allclose(density, family.log_density(x.astype(float), parameters), rtol=0)
    if (x == np.round(x)).all():
        np.testing.assert_array_equal(density, family.log_density(x.astype(np.int8), parameters))
        np.testing.assert_array_equal(family.sufficient(x.astype(np.int8)), family.sufficient(x))


@pytest.mark.parametrize(("family", "parameters", "inside", "outside"), SCALAR, ids=NAMES)
def test_a_value_outside_the_support_is_not_taken_for_missing(
    family: f.Family, parameters: Any, inside: list[float], outside: list[float]
) -> None:
    assert not np.isnan(family.transform(family.sufficient(a(outside)))).any()


@pytest.mark.parametrize(
    ("family", "columns", "order"),
    [(f.Gaussian(), 1, 2), (f.Gaussian(variance=1.0), 1, 1), (f.Categorical(4), 1, 4), (f.Dirichlet(), 5, 5)],
)
def test_the_order_is_the_number_of_components_of_the_statistic(family: f.Family, columns: int, order: int) -> None:
    assert family.order(columns) == order


def test_squares_of_small_integers_do_not_overflow() -> None:
    np.testing.assert_array_equal(f.Gaussian().sufficient(np.array([100], dtype=np.int8)), [[100.0, 10_000.0]])


def test_lecture_3_log_partitions() -> None:
    eta = np.linspace(-4, 4, 9)[:, None]
    np.testing.assert_allclose(f.Gaussian(variance=1.0).log_partition(eta), eta[:, 0] ** 2 / 2)
    np.testing.assert_allclose(f.Bernoulli().log_partition(eta), np.log(1 + np.exp(eta[:, 0])))


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan, np.inf])
def test_a_known_variance_must_be_positive_and_finite(variance: float) -> None:
    with pytest.raises(ValueError, match="finite number above 0"):
        f.Gaussian(variance=variance)


def test_certain_outcomes_have_infinite_natural_parameters() -> None:
    assert f.Poisson().natural(f.PoissonParameters(a(0.0))) == -np.inf
    assert f.Bernoulli().natural(f.BernoulliParameters(a(1.0))) == np.inf


@pytest.mark.parametrize(("family", "parameters", "inside", "outside"), SCALAR, ids=NAMES)
def test_the_general_formula_gives_the_same_density(
    family: f.Family, parameters: Any, inside: list[float], outside: list[float]
) -> None:
    """log b + ⟨η, T⟩ − A, which a family written elsewhere may leave as it is."""
    x = a(inside)
    general = f.Family.log_density_inside(family, x, parameters)
    np.testing.assert_allclose(general, family.log_density(x, parameters), rtol=1e-12)
