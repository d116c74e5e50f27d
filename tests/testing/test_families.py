"""`check_family` accepts every family and finds what is wrong with a broken one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from mercer import families as f
from mercer.testing import check_family


def cases() -> list[tuple[f.Family, object]]:
    a = np.array
    return [
        (f.Gaussian(), f.GaussianParameters(a([0.3, -2.0]), a([1.0, 4.0]))),
        (f.Gaussian(variance=2.0), f.GaussianParameters(a([0.3, -2.0]), a([2.0, 2.0]))),
        (f.Bernoulli(), f.BernoulliParameters(a([[0.1, 0.5], [0.9, 0.3]]))),
        (f.Binomial(trials=7), f.BernoulliParameters(a([0.2, 0.6]))),
        (f.Categorical(levels=3), f.CategoricalParameters(a([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]))),
        (f.Multinomial(trials=9), f.CategoricalParameters(a([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]))),
        (f.Poisson(), f.PoissonParameters(a([0.4, 30.0]))),
        (f.Exponential(), f.ExponentialParameters(a([0.4, 30.0]))),
        (f.Gamma(), f.GammaParameters(a([0.7, 20.0]), a([3.0, 0.5]))),
        (f.Beta(), f.BetaParameters(a([0.7, 20.0]), a([3.0, 5.0]))),
        (f.Dirichlet(), f.DirichletParameters(a([[0.7, 3.0, 2.0], [10.0, 20.0, 30.0]]))),
        (f.NegativeBinomial(r=2.5), f.NegativeBinomialParameters(a([0.5, 12.0]), a([2.5, 2.5]))),
        (f.NegativeBinomial(), f.NegativeBinomialParameters(a([0.5, 12.0, 3.0]), a([2.5, 0.7, np.inf]))),
        (f.InverseGaussian(), f.InverseGaussianParameters(a([0.5, 3.0]), a([2.0, 1.0]))),
        (f.Tweedie(1.5, dispersion=0.2), f.TweedieParameters(a([1.0, 3.0]), a([0.2, 0.2]))),
        (f.Tweedie(1.2), f.TweedieParameters(a([2.0, 9.0]), a([0.5, 0.1]))),
        (f.Tweedie(0.0, dispersion=2.0), f.TweedieParameters(a([-1.0, 9.0]), a([2.0, 2.0]))),
        (f.Tweedie(1.0), f.TweedieParameters(a([0.4, 30.0]), a([1.0, 1.0]))),
        (f.Tweedie(2.0, dispersion=0.5), f.TweedieParameters(a([0.4, 30.0]), a([0.5, 0.5]))),
        (f.Tweedie(3.0, dispersion=0.5), f.TweedieParameters(a([0.4, 3.0]), a([0.5, 0.5]))),
        (f.LogNormal(), f.LogNormalParameters(a([0.3, -2.0]), a([1.0, 0.2]))),
        (f.MultivariateGaussian(), f.MultivariateGaussianParameters(a([1.0, -2.0]), a([[2.0, 0.6], [0.6, 1.0]]))),
        (f.Histogram([-1.0, 0.0, 0.5, 3.0]), f.CategoricalParameters(a([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]))),
    ]


def marked() -> list[object]:
    """Series of a Tweedie family are long sums."""
    slow = pytest.mark.compiled("takes minutes as plain Python")
    is_series = [isinstance(family, f.Tweedie) and 1 < family.power < 2 for family, _ in cases()]
    return [pytest.param(*case, marks=[slow] * series) for case, series in zip(cases(), is_series, strict=True)]


@pytest.mark.parametrize(("family", "parameters"), marked(), ids=[repr(family) for family, _ in cases()])
def test_every_family_obeys_the_laws(family: f.Family, parameters: object) -> None:
    laws = check_family(family, parameters, np.random.default_rng(7))
    response = isinstance(family, RESPONSES) and family != f.NegativeBinomial()
    assert len(laws) == 3 + (not family.vector) + 5 * family.exponential + 3 * response


RESPONSES = (
    f.Gaussian,
    f.Bernoulli,
    f.Binomial,
    f.Poisson,
    f.Gamma,
    f.InverseGaussian,
    f.NegativeBinomial,
    f.Tweedie,
)


@dataclass(frozen=True)
class WrongPartition(f.Poisson):
    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return np.exp(eta[..., 0]) + 1


@dataclass(frozen=True)
class WrongMean(f.Exponential):
    def expected(self, parameters: f.ExponentialParameters) -> np.ndarray:
        return 2 / np.asarray(parameters.rate)[..., None]


@dataclass(frozen=True)
class WrongSampler(f.Poisson):
    def sample(self, parameters: f.PoissonParameters, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.binomial(10, np.asarray(parameters.rate) / 10, size=(n, *np.shape(parameters.rate)))


@pytest.mark.parametrize(
    ("family", "parameters", "law"),
    [
        (WrongPartition(), f.PoissonParameters(np.array([2.0])), "log p = log b"),
        (WrongMean(), f.ExponentialParameters(np.array([2.0])), "come back"),
        (WrongSampler(), f.PoissonParameters(np.array([4.0])), "between two values|variance"),
    ],
)
def test_a_broken_family_gives_an_error_naming_the_law(family: f.Family, parameters: object, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_family(family, parameters, np.random.default_rng(7))
