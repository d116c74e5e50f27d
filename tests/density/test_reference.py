"""Scott's and Silverman's rules are those of SciPy, statsmodels and scikit-learn where they mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import gaussian_kde
from sklearn.neighbors import KernelDensity
from statsmodels.nonparametric import bandwidths

from mercer.density import Epanechnikov, Gaussian, Scott, Silverman
from mercer.density._rules import UnscaledScott, UnscaledSilverman

RNG = np.random.default_rng(5)
X = RNG.standard_t(3, size=(80, 3)) @ RNG.normal(size=(3, 3))
WEIGHT = RNG.uniform(0.1, 3.0, size=80)


@pytest.mark.parametrize(("rule", "name"), [(Scott("matrix"), "scott"), (Silverman("matrix"), "silverman")])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_matrix_agrees_with_scipy(rule: Any, name: str, weight: Any, columns: int) -> None:
    theirs = gaussian_kde(X[:, :columns].T, name, weights=weight).covariance
    np.testing.assert_allclose(rule.choose(X[:, :columns], weight, Gaussian()).value, theirs, rtol=1e-12)


def test_widths_of_scott_per_column_are_the_diagonal_of_its_matrix() -> None:
    axes, matrix = (Scott(shape).choose(X, WEIGHT, Gaussian()).value for shape in ("axes", "matrix"))  # type: ignore[arg-type]
    np.testing.assert_allclose(np.square(axes), np.diag(matrix), rtol=1e-12)  # type: ignore[arg-type]


def test_silverman_of_one_column_agrees_with_statsmodels() -> None:
    for column in X.T:
        ours = Silverman().choose(column[:, None], None, Gaussian()).value
        assert ours == pytest.approx(bandwidths.bw_silverman(column), rel=1e-12)


def test_scott_of_one_column_agrees_with_scipy_and_not_with_statsmodels() -> None:
    x = RNG.normal(size=500)
    ours = Scott().choose(x[:, None], None, Gaussian()).value
    assert ours == pytest.approx(x.std(ddof=1) * 500**-0.2, rel=1e-12)
    assert bandwidths.bw_scott(x) == pytest.approx(1.059 * ours, rel=0.05)


@pytest.mark.parametrize(("rule", "name"), [(UnscaledScott(), "scott"), (UnscaledSilverman(), "silverman")])
def test_unscaled_rules_agree_with_scikit_learn(rule: Any, name: str) -> None:
    for data in (X, 1000 * X, X[:, :1], np.zeros((4, 2))):
        theirs = KernelDensity(bandwidth=name).fit(data).bandwidth_
        assert rule.choose(data, None, Epanechnikov()).value == pytest.approx(theirs, rel=1e-15)


def test_heavy_tails_do_not_widen_silverman() -> None:
    x = np.concatenate([RNG.normal(size=999), [1e6]])[:, None]
    assert Silverman().choose(x, None, Gaussian()).value < 0.3
    assert Scott().choose(x, None, Gaussian()).value > 1000  # type: ignore[operator]


def test_with_equal_quartiles_the_standard_deviation_is_used() -> None:
    x = np.concatenate([np.zeros(90), RNG.normal(size=10)])[:, None]
    assert Silverman().choose(x, None, Gaussian()).value == pytest.approx(0.9 * x.std(ddof=1) * 100**-0.2)


def test_one_width_for_all_columns_uses_their_mean_variance() -> None:
    factor = 80 ** (-1 / 7)
    one = Scott("one").choose(X, None, Gaussian()).value
    assert one == pytest.approx(factor * np.sqrt(X.var(axis=0, ddof=1).mean()), rel=1e-12)
