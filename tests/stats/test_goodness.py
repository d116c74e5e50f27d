"""Goodness of fit as a statistic: parts merge, and the sums are what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.families import LOG, Gamma, InverseGaussian, Poisson
from mercer.families.response import Response
from mercer.matrices import DenseMatrix
from mercer.stats.goodness import Goodness

FIELDS = ("deviance", "pearson", "excess", "squares", "weight", "rows")


def setting(weighted: bool) -> tuple[DenseMatrix, np.ndarray, np.ndarray | None, np.ndarray]:
    rng = np.random.default_rng(0)
    design = DenseMatrix.of(rng.normal(size=(60, 2)))
    weight = rng.integers(0, 3, size=60).astype(float) if weighted else None
    return design, rng.poisson(3.0, size=60) + 1.0, weight, rng.normal(size=60)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sums_agree_with_the_rows(weighted: bool) -> None:
    design, y, weight, offset = setting(weighted)
    response, point = Response(Gamma(), LOG), np.array([0.1, -0.2, 1.0])
    sums = Goodness(response, point).update(design, y, weight, offset)
    mu = np.exp(design.matvec(point) + offset)
    w = np.ones(60) if weight is None else weight
    assert sums.deviance == pytest.approx(w @ Gamma().unit_deviance(y, mu))
    assert sums.pearson == pytest.approx(w @ np.square((y - mu) / mu))
    assert sums.excess == sums.squares == 0
    assert (sums.weight, sums.rows) == (w.sum(), np.count_nonzero(w))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_excess_variance_of_counts_is_computed(weighted: bool) -> None:
    design, y, weight, offset = setting(weighted)
    point = np.array([0.1, -0.2, 1.0])
    sums = Goodness(Response(Poisson(), LOG), point).update(design, y, weight, offset)
    mu = np.exp(design.matvec(point) + offset)
    w = np.ones(60) if weight is None else weight
    assert sums.excess == pytest.approx(w @ (np.square(y - mu) - y))
    assert sums.squares == pytest.approx(w @ np.square(mu))


@pytest.mark.parametrize("cut", [0, 1, 17, 60])
def test_parts_merge(cut: int) -> None:
    design, y, weight, offset = setting(weighted=True)
    zero = Goodness(Response(Poisson(), LOG), np.array([0.1, -0.2, 1.0]))
    whole = zero.update(design, y, weight, offset)
    parts = [
        zero.update(design.rows(part), y[part], weight[part], offset[part]) for part in (slice(0, cut), slice(cut, 60))
    ]
    merged = parts[0].merge(parts[1])
    for name in FIELDS:
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-12)
        assert getattr(whole.empty(), name) == 0


def test_a_mean_too_small_for_its_variance_still_has_a_distance() -> None:
    design = DenseMatrix.of(np.zeros((2, 1)))
    y = np.array([1e-150, 3e-150])
    sums = Goodness(Response(InverseGaussian(), LOG), np.array([0.0, np.log(2e-150)])).update(design, y)
    assert sums.pearson == pytest.approx(2 / (8 * 1e-150))
