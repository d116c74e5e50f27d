"""Quartiles of many values are found among few of them, and are those of all."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.families.quartiles import quartile_distance

RNG = np.random.default_rng(0)

MANY = {
    "normal": RNG.normal(size=1_000_001),
    "sorted": np.sort(RNG.standard_cauchy(1_200_000)),
    "tied": RNG.integers(0, 3, 1_000_000).astype(float),
    "half of it tied": np.append(np.zeros(10**6), np.arange(10**6)),
    # the sampled values are not informative about the rest
    "misleading": np.where(np.arange(2**20) % 16 == 0, 100.0, RNG.random(2**20)),
}


@pytest.mark.parametrize("x", MANY.values(), ids=MANY)
def test_quartiles_of_many_values_agree_with_numpy(x: np.ndarray) -> None:
    lower, upper = np.quantile(x, [0.25, 0.75])
    assert quartile_distance(x) == pytest.approx(upper - lower, rel=1e-14)
    assert quartile_distance(x, np.full(len(x), 1e-150)) == pytest.approx(upper - lower, rel=1e-9)


@pytest.mark.parametrize("name", ["normal", "tied", "misleading"])
@pytest.mark.parametrize("heavy", [0, 3], ids=["even", "a few have all the weight"])
def test_weighted_quartiles_by_bisection_agree_with_sorting(name: str, heavy: int) -> None:
    x = MANY[name]
    weight = np.random.default_rng(1).exponential(size=len(x))
    weight[7 : 7 + heavy] = 1e7
    order = np.lexsort((weight, x))  # so that the order of the rows does not matter
    middles = np.cumsum(weight[order]) - weight[order] / 2
    lower, upper = np.interp(middles[0] + np.array([0.25, 0.75]) * (middles[-1] - middles[0]), middles, x[order])
    assert quartile_distance(x, weight) == pytest.approx(upper - lower, rel=1e-9)


def test_the_order_of_rows_with_equal_values_and_different_weights_does_not_matter() -> None:
    x, weight = np.repeat([0.0, 1.0, 2.0, 5.0], 3), np.tile([0.1, 1.0, 7.0], 4)
    found = {quartile_distance(x[order], weight[order]) for order in (RNG.permutation(12) for _ in range(20))}
    assert max(found) - min(found) < 1e-12
