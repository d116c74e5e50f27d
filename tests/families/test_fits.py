"""Sample, summarise, fit: every family gives its parameters back, from the statistic it names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import families as f
from mercer.data.coding import Coded
from mercer.stats import statistic_for

N = 60_000
a = np.array

# two groups; two columns where the family is a number's
CASES: list[tuple[f.Family, Any]] = [
    (f.Gaussian(), f.GaussianParameters(a([[0.3, 1e8], [5.0, -1.0]]), a([[1.0, 4.0], [0.1, 2.0]]))),
    (f.Gaussian(variance=2.0), f.GaussianParameters(a([[0.3, 1e8], [5.0, -1.0]]), np.full((2, 2), 2.0))),
    (f.LogNormal(), f.LogNormalParameters(a([[0.3, 9.0], [5.0, -1.0]]), a([[1.0, 4.0], [0.1, 2.0]]))),
    (f.Bernoulli(), f.BernoulliParameters(a([[0.2, 0.9], [0.5, 0.7]]))),
    (f.Binomial(6), f.BernoulliParameters(a([[0.2, 0.9], [0.5, 0.7]]))),
    (f.Poisson(), f.PoissonParameters(a([[0.2, 9.0], [3.0, 100.0]]))),
    (f.Exponential(), f.ExponentialParameters(a([[0.2, 9.0], [3.0, 1e-6]]))),
    (f.Gamma(), f.GammaParameters(a([[0.2, 9.0], [1e4, 1.0]]), a([[3.0, 1.0], [1e4, 1e-6]]))),
    (f.Beta(), f.BetaParameters(a([[0.5, 9.0], [1e4, 1.0]]), a([[3.0, 1.0], [2e4, 0.3]]))),
    (f.NegativeBinomial(1.5), f.NegativeBinomialParameters(a([[0.2, 9.0], [3.0, 1.0]]), np.full((2, 2), 1.5))),
    (f.NegativeBinomial(), f.NegativeBinomialParameters(a([[2.0, 9.0], [3.0, 30.0]]), a([[1.0, 5.0], [0.3, 9.0]]))),
    (f.Histogram([0.0, 1.0, 3.0]), f.CategoricalParameters(a([[[0.3, 0.7], [0.5, 0.5]], [[0.2, 0.8], [0.9, 0.1]]]))),
    (f.Categorical(3), f.CategoricalParameters(a([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]))),
    (f.Multinomial(8), f.CategoricalParameters(a([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]))),
    (f.Dirichlet(), f.DirichletParameters(a([[0.2, 3.0, 1.0], [60.0, 10.0, 3.0]]))),
    (
        f.MultivariateGaussian(),
        f.MultivariateGaussianParameters(a([[0.0, 1.0], [2.0, 9.0]]), a([np.eye(2), [[2.0, 1.0], [1.0, 3.0]]])),
    ),
]


@pytest.mark.parametrize(("family", "parameters"), CASES, ids=[repr(case[0]) for case in CASES])
def test_a_fit_to_a_sample_recovers_its_parameters(family: f.Family, parameters: Any) -> None:
    draws = family.sample(parameters, N, np.random.default_rng(5))
    rows = np.concatenate([draws[:, 0], draws[:, 1]])
    groups = np.repeat(np.arange(2, dtype=np.int32), N)
    statistic = statistic_for(family, groups=2, columns=rows.shape[-1])
    data = Coded(rows.astype(np.int32), np.arange(3)) if family.statistic == "levels" else rows.astype(float)
    fitted = family.fit(statistic.update(data, groups))
    for true, found in zip(parameters, fitted, strict=True):
        np.testing.assert_allclose(found, true, rtol=0.06, atol=0.03)


@pytest.mark.parametrize(("family", "parameters"), CASES, ids=[repr(case[0]) for case in CASES])
def test_groups_without_observations_have_nan_parameters(family: f.Family, parameters: Any) -> None:
    """Parameters are NaN, in a group alone and next to an observed one; a prior of strength zero adds nothing."""
    if family.statistic == "levels":
        pytest.skip("levels are known once they are seen")
    rows = family.sample(parameters, 50, np.random.default_rng(5))[:, 0].astype(float)
    statistic = statistic_for(family, groups=2, columns=rows.shape[-1]).update(rows, np.zeros(50, dtype=np.int32))
    for prior in (None, f.Prior(0.0, parameters)):
        found = family.fit(statistic, prior)[0]
        assert np.isfinite(found[0]).all()
        assert np.isnan(found[1]).all()
