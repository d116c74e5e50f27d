"""Every family is fitted from the statistic that is made for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from mercer import families as f
from mercer.data.coding import Coded
from mercer.stats import statistic_for

PARAMETERS = [
    (f.Gaussian(), f.GaussianParameters(np.array([1.0]), np.array([4.0]))),
    (f.Bernoulli(), f.BernoulliParameters(np.array([0.3]))),
    (f.Poisson(), f.PoissonParameters(np.array([3.0]))),
    (f.Gamma(), f.GammaParameters(np.array([2.0]), np.array([3.0]))),
    (f.Beta(), f.BetaParameters(np.array([2.0]), np.array([3.0]))),
    (f.LogNormal(), f.LogNormalParameters(np.array([1.0]), np.array([0.5]))),
    (f.NegativeBinomial(r=3.0), f.NegativeBinomialParameters(np.array([2.0]), np.array([3.0]))),
    (f.NegativeBinomial(), f.NegativeBinomialParameters(np.array([2.0]), np.array([3.0]))),
    (f.Histogram((0.0, 1.0, 2.0)), f.CategoricalParameters(np.array([[0.3, 0.7]]))),
    (f.Dirichlet(), f.DirichletParameters(np.array([1.0, 2.0, 3.0]))),
    (f.Multinomial(trials=5), f.CategoricalParameters(np.array([0.2, 0.3, 0.5]))),
    (f.MultivariateGaussian(), f.MultivariateGaussianParameters(np.array([1.0, 2.0]), np.array([[2.0, 1], [1, 3]]))),
]


@pytest.mark.parametrize(("family", "parameters"), PARAMETERS, ids=[repr(family) for family, _ in PARAMETERS])
def test_a_fit_recovers_the_parameters(family: f.Family, parameters: tuple[np.ndarray, ...]) -> None:
    n = 20_000
    x = family.sample(parameters, n, np.random.default_rng(0)).astype(float)
    statistic = statistic_for(family, groups=2, columns=x.shape[1]).update(x, np.ones(n, dtype=np.int32))
    for found, true in zip(family.fit(statistic), parameters, strict=True):
        np.testing.assert_allclose(found[1], np.reshape(true, np.shape(found)[1:]), rtol=0.1)


def test_a_categorical_is_fitted_to_levels() -> None:
    levels = Coded(np.array([0, 1, 1, -1], dtype=np.int32), np.array(["x", "y"], dtype=object))
    statistic = statistic_for(f.Categorical(), groups=1, columns=1).update(levels, np.zeros(4, dtype=np.int32))
    np.testing.assert_allclose(f.Categorical().fit(statistic).probabilities, [[1 / 3, 2 / 3]])


@dataclass(frozen=True)
class Unheard(f.Poisson):
    statistic: ClassVar[str] = "tea leaves"


def test_an_unknown_statistic_is_named() -> None:
    with pytest.raises(ValueError, match="'tea leaves'"):
        statistic_for(Unheard(), groups=1, columns=1)
