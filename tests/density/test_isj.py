"""The improved Sheather–Jones bandwidth solves its own equation, finds narrow modes, and does not mind outliers."""

from __future__ import annotations

from math import pi, prod, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from mercer._errors import BandwidthError
from mercer.density import Gaussian, ImprovedSheatherJones, Silverman
from mercer.density._plug_in import PairFunctional

RNG = np.random.default_rng(8)
MIXTURE = np.concatenate([RNG.normal(-10, 1, 150), RNG.normal(10, 0.5, 150)])


def isj(x: Any, weight: Any = None) -> float:
    return float(ImprovedSheatherJones().choose(np.reshape(x, (-1, 1)), weight, Gaussian()).value)


def exact(x: np.ndarray) -> float:
    """The fixed point by sums over all pairs (equation 31 of the paper), in units where the data are of order 1."""
    pairs = PairFunctional(x[:, None] - x.mean(), None)

    def excess(t: float) -> float:
        norm, first = abs(pairs(7, sqrt(2 * t))), t
        for s in range(6, 1, -1):
            constant = (1 + 2 ** (-s - 0.5)) / 3 * prod(range(1, 2 * s, 2)) / sqrt(pi / 2)
            t = (2 * constant / 2 / (len(x) * norm)) ** (2 / (3 + 2 * s))
            norm = abs(pairs(s, sqrt(2 * t)))
        return float(first - (2 * len(x) * sqrt(pi) * norm) ** -0.4)

    about = isj(x) ** 2
    return sqrt(brentq(excess, about / 2, about * 2, rtol=1e-10))


@pytest.mark.parametrize("x", [RNG.normal(size=200), MIXTURE, RNG.standard_t(2, size=300)], ids=["one", "two", "tails"])
def test_bins_solve_the_equation_of_all_pairs(x: np.ndarray) -> None:
    assert isj(x) == pytest.approx(exact(x), rel=1e-4)


def test_two_distant_modes_are_separated_where_silverman_blurs_them() -> None:
    h = isj(MIXTURE)
    assert 0.15 < h < 0.45
    assert Silverman().choose(MIXTURE[:, None], None, Gaussian()).value > 5 * h  # type: ignore[operator]


FAR_APART = {
    "two groups": np.concatenate([RNG.normal(size=80), 1e6 + RNG.normal(size=80)]),
    "three, unequal": np.concatenate([RNG.normal(size=80), RNG.normal(-1e4, 0.5, size=30), [1e8]]),
    "two scales": np.concatenate([RNG.normal(size=80), RNG.normal(5, 1e-4, size=80)]),
    "no moments": RNG.standard_cauchy(size=150),
}


@pytest.mark.parametrize("x", FAR_APART.values(), ids=FAR_APART)
def test_distant_clusters_are_binned_accurately(x: np.ndarray) -> None:
    h = isj(x)
    assert h == pytest.approx(h * exact(x / h), rel=1e-3)


def test_a_large_gaussian_sample_gets_the_optimal_bandwidth() -> None:
    x = RNG.normal(size=300_000)
    assert isj(x) == pytest.approx((4 / (3 * len(x))) ** 0.2, rel=0.03)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12])
def test_an_outlier_hardly_changes_the_bandwidth(far: float) -> None:
    x = RNG.normal(size=1000)
    assert isj(np.append(x, far)) == pytest.approx(isj(x), rel=0.02)


def test_rounded_data_get_nearly_the_same_bandwidth() -> None:
    x = RNG.normal(size=5000)
    assert isj(x.round(1)) == pytest.approx(isj(x), rel=0.02)


def test_weights_are_used() -> None:
    x = RNG.normal(size=2000)
    x[1000:] += 30
    only_first = np.repeat([1.0, 1e-9], 1000)
    assert isj(x, only_first) == pytest.approx(isj(x[:1000]), rel=1e-3)


def test_more_than_one_column_is_rejected() -> None:
    with pytest.raises(BandwidthError, match=r'one column, and there are 2\. Use "plugin"'):
        ImprovedSheatherJones().choose(np.ones((5, 2)), None, Gaussian())


@pytest.mark.parametrize("x", [[0.0, 1.0], np.repeat(np.arange(5.0), 500)], ids=["two points", "a coarse grid"])
def test_a_missing_root_is_reported(x: Any) -> None:
    with pytest.raises(BandwidthError, match=r'"isj" finds no bandwidth for column 0.*silverman-scaled'):
        isj(x)
