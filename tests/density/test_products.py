"""∫p̂²: tables are as good as formulas, and blocks skip nothing that is in reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.density import (
    Bandwidth,
    Cosine,
    Epanechnikov,
    Exponential,
    Triangular,
    Triweight,
    Uniform,
    Windows,
)
from mercer.density.cross_validation import FARTHEST_PAIR, integrate_square, tabulate

RNG = np.random.default_rng(7)
PLANE = RNG.normal(size=(50, 2)) * [1.0, 5.0]


@pytest.mark.parametrize("kernel", [Uniform, Triangular, Epanechnikov, Triweight, Cosine, Exponential])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_tables_agree_with_formulas(kernel: Any, columns: int) -> None:
    both = kernel().autocorrelation(columns)
    reach = min(both.reach, FARTHEST_PAIR)
    r = np.append(RNG.uniform(0, 1.2 * reach, size=5000), [0.0, reach / 2, reach, 1e3, 1e300])
    expected = np.where(r < reach, both.profile(np.minimum(r, reach)), 0.0)
    # discs that hardly meet have an area with a root in it, of which a spline makes a parabola
    tolerance = 1e-6 if (kernel, columns) == (Uniform, 2) else 1e-8
    np.testing.assert_allclose(tabulate(both.profile, reach)(r), expected, atol=tolerance * expected.max())


@pytest.mark.parametrize("kernel", [Epanechnikov(), Epanechnikov("product"), Exponential(), Uniform()], ids=repr)
@pytest.mark.parametrize("many", [0, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_only_blocks_out_of_reach_are_skipped(kernel: Any, many: int, weighted: bool) -> None:
    weight = RNG.uniform(0.5, 2, size=50) if weighted else np.ones(50)
    windows = Windows(kernel, Bandwidth([0.3, 1.0]), PLANE, weight)
    u, share = windows.sums.points, weight / weight.sum()
    whole = share @ kernel.autocorrelation(2)(u[:, None, :] - u) @ share / 0.3
    found = integrate_square(windows, block_points=7, tabulated_points=many)
    assert found == pytest.approx(whole, rel=1e-12 if many else 1e-6)
