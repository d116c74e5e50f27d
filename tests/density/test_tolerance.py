"""Densities that may be a little off are off by no more: close by, in the tails, and far away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelDensity
from mercer.density import Bandwidth, Windows, smoothing_kernel_from
from mercer.density._density import GRID_ERROR
from mercer.density._sums import GRID_MARGIN, Sources, Tolerance, has_grid

Array = np.ndarray
GAUSSIAN = smoothing_kernel_from("gaussian")
SIGMA = np.array([[0.5, 0.2], [0.2, 0.3]])
#: columns and bandwidths
BANDWIDTHS: dict[str, tuple[int, Any]] = {
    "line": (1, 0.3),
    "plane": (2, 0.4),
    "axes": (2, np.array([0.3, 0.7])),
    "matrix": (2, SIGMA),
    "space": (3, 0.8),
}
TOLERANCES = [(1e-2, 0.0), (1e-5, 0.0), (0.0, 1e-3), (1e-3, 1e-6)]
every_bandwidth = pytest.mark.parametrize(("d", "bandwidth"), BANDWIDTHS.values(), ids=BANDWIDTHS)


def points(n: int, d: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def queries(m: int, d: int) -> Array:
    """Close by, in the tails, at the ends of the grid, and far away."""
    direction = np.ones(d) / np.sqrt(d)
    far = np.array([4.0, 5.0, 6.0, 7.0, 8.0, 12.0, 20.0, 1e3, 1e8, -1e8, -9.0])[:, None] * direction
    return np.concatenate([points(m, d, 1), far])


def weights(n: int) -> Array:
    return np.maximum(np.random.default_rng(2).uniform(-0.2, 1.0, n), 0.0)


def windows_of(n: int, d: int, bandwidth: Any, weighted: bool = False) -> Windows:
    return Windows(GAUSSIAN, Bandwidth(bandwidth), points(n, d), weights(n) if weighted else None)


def line(n: int, h: float = 1.0) -> Sources:
    X = points(n, 1)
    return Sources(X, None, np.full(1, h), (X.min(axis=0), X.max(axis=0)))


@every_bandwidth
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("rtol", "share"), TOLERANCES)
def test_accepted_sums_are_within_tolerance(d: int, bandwidth: Any, weighted: bool, rtol: float, share: float) -> None:
    windows, Q = windows_of(8000, d, bandwidth, weighted), queries(4000, d)
    exact = np.exp(windows.sums.log_sums(windows._whitened(Q)))
    sources, in_axes = windows._in_axes(Q)
    for small in (False, True):
        sums, known = sources.sums(in_axes, Tolerance(rtol, share), small=small)
        allowed = rtol * exact + share * windows.total_share
        assert (np.abs(sums - exact) <= allowed * (1 + 1e-9))[known].all()
        assert not known[-4:-1].any(), "beyond the grid nothing is known"
        assert (sums[known] > 0).all() or small
    if d < 3:
        assert known.mean() > 0.5, "a grid is cheaper here, and most sums are not small"


@every_bandwidth
@pytest.mark.parametrize("rtol", [1e-2, 1e-6])
@pytest.mark.parametrize("moved", [False, True])
def test_leave_one_out_sums_are_within_tolerance(d: int, bandwidth: Any, rtol: float, moved: bool) -> None:
    windows = windows_of(4000, d, bandwidth, weighted=True)
    at = windows.points + 0.1 if moved else None
    logs, exact = (windows.log_density_left_out(at, rtol=allowed) for allowed in (rtol, 0.0))
    np.testing.assert_allclose(logs, exact, rtol=0, atol=1.01 * rtol)
    if d == 1:
        assert (logs != exact).mean() > 0.5, "most were read from a grid"


def test_an_isolated_point_that_is_left_out_is_not_read_from_a_grid() -> None:
    """Without its own kernel nothing but the error would be left."""
    X = np.append(np.random.default_rng(0).normal(size=5000), 9.0)[:, None]
    windows = Windows(GAUSSIAN, Bandwidth(0.3), X)
    logs, exact = (windows.log_density_left_out(rtol=rtol) for rtol in (1e-3, 0.0))
    assert exact[-1] < -100
    np.testing.assert_allclose(logs, exact, rtol=1e-12, atol=1.01e-3)


def test_small_sums_are_accepted_if_no_logarithm_is_taken() -> None:
    sources, Q = line(8000, 0.3), np.linspace(-5.5, 5.5, 4000)[:, None]
    logs, values = (sources.sums(Q, Tolerance(0.0, 1e-4), small=small)[1] for small in (False, True))
    assert values.all()
    assert not logs.all()
    assert (values >= logs).all()


@pytest.mark.parametrize(
    "windows",
    [
        Windows(smoothing_kernel_from("epanechnikov"), Bandwidth(0.5), points(3000, 1)),
        Windows(GAUSSIAN, Bandwidth(0.5, sensitivity=0.5), points(3000, 1)),
        Windows(GAUSSIAN, Bandwidth(0.5), points(3000, 4)),
    ],
    ids=["another kernel", "adaptive", "four columns"],
)
def test_without_a_grid_densities_are_exact(windows: Windows) -> None:
    Q = points(50, windows.columns, 1)
    assert not has_grid(windows.kernel, windows.columns, adaptive=windows.factors is not None)
    np.testing.assert_array_equal(windows.log_density(Q, rtol=0.1), windows.log_density(Q))
    np.testing.assert_array_equal(windows.density_within(Q, 0.1), windows.density(Q))


def test_few_pairs_are_compared_without_a_grid() -> None:
    assert not line(20).sums(points(3, 1, 1), Tolerance(0.1, 0.1), small=True)[1].any()


def test_queries_far_away_do_not_make_the_grid_larger() -> None:
    sources, Q = line(8000, 0.3), points(4000, 1, 1)
    end = sources.points.max() + GRID_MARGIN * 0.3
    far = np.concatenate([Q, [[1e12], [-1e12], [end + 0.01]]])
    (alone, known), (_, known_of_all) = (sources.sums(X, Tolerance(1e-3)) for X in (Q, far))
    np.testing.assert_array_equal(known_of_all, [*known, False, False, False])
    assert known.mean() > 0.9
    assert (alone[known] > 0).all()


@pytest.mark.parametrize("span", [1e4, 1e5, 1e6, 1e7])
def test_a_long_grid_is_not_used_where_rounding_moves_places_on_it(span: float) -> None:
    places = np.repeat(np.random.default_rng(2).uniform(0, span, size=(100, 1)), 60, axis=0)
    windows = Windows(GAUSSIAN, Bandwidth(1.0), places)
    queries = places + 1.2
    for rtol in (1e-10, 1e-6):
        off = np.expm1(windows.log_density(queries, rtol=rtol) - windows.log_density(queries))
        assert np.abs(off).max() <= rtol


@pytest.mark.parametrize("m", [0, 1])
def test_no_queries_or_only_distant_ones(m: int) -> None:
    sums, known = line(100).sums(np.full((m, 1), 1e9), Tolerance(0.1))
    assert sums.shape == known.shape == (m,)
    assert not known.any()


def test_tolerances_are_checked() -> None:
    """Relative ones of the least that the sum can be."""
    assert Tolerance().is_none
    assert not Tolerance(1e-3).is_none
    assert not Tolerance(share=1e-3).is_none
    allowed = Tolerance(0.1, 0.01).allows(0.2, np.array([0.0, 1.1, 1.3]), 10.0)
    np.testing.assert_array_equal(allowed, [False, False, True])


@every_bandwidth
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("rtol", "atol"), TOLERANCES)
def test_densities_of_the_model_are_within_tolerance(
    d: int, bandwidth: Any, weighted: bool, rtol: float, atol: float
) -> None:
    X, Q = points(6000, d), queries(3000, d)
    weight = weights(6000) if weighted else None
    logs, exact = (
        KernelDensity(bandwidth=bandwidth, **given).fit(X, sample_weight=weight).score_samples(Q)
        for given in ({"rtol": rtol, "atol": atol}, {})
    )
    assert np.isfinite(logs).all(), "far away, too"
    assert (np.abs(np.exp(logs) - np.exp(exact)) <= rtol * np.exp(exact) * (1 + 1e-9) + atol + 1e-300).all()
    if atol == 0:
        np.testing.assert_allclose(logs, exact, rtol=1e-12, atol=2 * rtol)
    if d == 1:
        assert (logs != exact).any(), "some were read from a grid"


@settings(max_examples=40)
@given(
    h=st.sampled_from([1e-3, 0.05, 1.0, 30.0]),
    rtol=st.sampled_from([0.1, 1e-3, 1e-7, 1e-10]),
    shift=st.sampled_from([0.0, 1e6]),
    heavy=st.booleans(),
    seed=st.integers(0, 1 << 16),
)
def test_any_width_scale_and_tail(h: float, rtol: float, shift: float, heavy: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = (rng.standard_t(2, (3000, 1)) if heavy else rng.normal(size=(3000, 1))) + shift
    windows, Q = (
        Windows(GAUSSIAN, Bandwidth(h), X),
        np.concatenate([X[:1000] + h, rng.uniform(-9, 9, (500, 1)) + shift]),
    )
    logs, exact = windows.log_density(Q, rtol=rtol), windows.log_density(Q)
    # numbers of 10⁶ have 10 digits after the point: so much of the distances is lost whichever way
    np.testing.assert_allclose(logs, exact, rtol=1e-9, atol=2 * rtol + (1e-6 if shift else 1e-11))


@every_bandwidth
@pytest.mark.parametrize("atol", [1e-2, 1e-5, 1e-9])
def test_density_within(d: int, bandwidth: Any, atol: float) -> None:
    windows, Q = windows_of(6000, d, bandwidth, weighted=True), queries(3000, d)
    values = windows.density_within(Q, atol)
    assert (values >= 0).all()
    assert np.abs(values - windows.density(Q)).max() <= atol


@every_bandwidth
def test_on_a_grid_the_error_is_what_the_documentation_says(d: int, bandwidth: Any) -> None:
    windows = windows_of(3000, d, bandwidth)
    axes, values = windows.on_grid({1: 1000, 2: 60, 3: 15}[d])
    axes = (axes,) if d == 1 else axes
    mesh = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    even = 1 / np.prod([np.ptp(axis) for axis in axes])
    assert np.abs(values.ravel() - windows.density(mesh)).max() <= GRID_ERROR * even
