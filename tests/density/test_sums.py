"""Sums of kernels over points: what plain arithmetic with logarithms gives, wherever the queries are."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import mercer
from mercer.density import Bandwidth, SmoothingKernel, Windows, smoothing_kernel_from
from mercer.density._sums import KernelSums

Array = np.ndarray
#: log k(r) within reach
LOGS: dict[str, Callable[[Array], Array]] = {
    "uniform": np.zeros_like,
    "gaussian": lambda r: -0.5 * r**2,
    "epanechnikov": lambda r: np.log((1 - r) * (1 + r)),
    "triangular": lambda r: np.log(1 - r),
    "biweight": lambda r: 2 * np.log((1 - r) * (1 + r)),
    "triweight": lambda r: 3 * np.log((1 - r) * (1 + r)),
    "cosine": lambda r: np.log(np.sin(np.pi / 2 * (1 - r))),
    "exponential": lambda r: -r,
}
ENDLESS = ("gaussian", "exponential")
KERNELS = [smoothing_kernel_from(name, form) for name, form in product(LOGS, ("radial", "product"))]
FOR_EVER = [kernel for kernel in KERNELS if kernel.name in ENDLESS]
COMPACT = [kernel for kernel in KERNELS if kernel.name not in ENDLESS]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
every_endless = pytest.mark.parametrize("kernel", FOR_EVER, ids=repr)
every_compact = pytest.mark.parametrize("kernel", COMPACT, ids=repr)


def log_profile(kernel: SmoothingKernel, r: Array) -> Array:
    if kernel.name in ENDLESS:
        return LOGS[kernel.name](r)
    with np.errstate(divide="ignore"):
        return np.where(r <= 1, LOGS[kernel.name](np.minimum(r, 1)), -np.inf)


def log_terms(sums: KernelSums, queries: Array, leave_out: bool = False) -> Array:
    """log w_j λ_j⁻ᵈ k((x − x_j)/λ_j) of all pairs: (queries, points)."""
    n, d = sums.points.shape
    factors = np.ones(n) if sums.factors is None else sums.factors
    u = np.abs(queries[:, None] - sums.points) / factors[:, None]
    if sums.kernel.form == "product" and d > 1:
        terms = log_profile(sums.kernel, u).sum(axis=2)
    else:
        terms = log_profile(sums.kernel, u[..., 0] if d == 1 else np.sqrt((u**2).sum(axis=2)))
    with np.errstate(divide="ignore"):
        terms += np.log(np.ones(n) if sums.weight is None else sums.weight) - d * np.log(factors)
    if leave_out:
        np.fill_diagonal(terms, -np.inf)
    return terms


def parts(terms: Array) -> Array:
    """Each term as a part of their sum; NaN where there are none."""
    top = terms.max(axis=1, keepdims=True)
    shares = np.exp(terms - np.where(np.isfinite(top), top, 0.0))
    with np.errstate(invalid="ignore"):
        return shares / shares.sum(axis=1, keepdims=True)


def agree(sums: KernelSums, queries: Array, *, leave_out: bool = False, off: float = 1e-11) -> Array:
    """Logarithms and means are those of brute force; gives the logarithms."""
    terms = log_terms(sums, queries, leave_out)
    values = np.random.default_rng(9).normal(size=(len(sums.points), 2))
    found = sums.log_sums(queries, leave_out=leave_out)
    np.testing.assert_allclose(found, logsumexp(terms, axis=1), rtol=1e-12, atol=off)
    means = sums.means(queries, values, leave_out=leave_out)
    np.testing.assert_allclose(means, parts(terms) @ values, rtol=0, atol=10 * off)
    return found


def some(n: int, d: int, seed: int = 0, wide: float = 0.8) -> Array:
    """Points whose distances are a bandwidth or so, whatever the dimension."""
    return wide / np.sqrt(d) * np.random.default_rng(seed).normal(size=(n, d))


def uneven(n: int) -> Array:
    """Weights, some of which are 0."""
    return np.maximum(np.random.default_rng(3).uniform(-0.3, 2.0, n), 0.0)


def factors_of(n: int) -> Array:
    return np.random.default_rng(4).uniform(0.6, 2.5, n)


@every_kernel
@pytest.mark.parametrize("d", [1, 2, 3, 5, 7])
def test_sums_agree_with_brute_force(kernel: SmoothingKernel, d: int) -> None:
    """With and without weights, factors, and the point itself; some more points than a block has."""
    X, Q = some(303, d), np.concatenate([some(66, d, 1), some(5, d, 2, wide=4.0)])
    weight, factors = uneven(303), factors_of(303)
    crossed = [(weight, None), (None, factors)] if d == 2 else []
    for pair in [(None, None), (weight, factors), *crossed]:
        sums = KernelSums(kernel, X, *pair)
        agree(sums, Q)
        agree(sums, X, leave_out=True)


@every_kernel
@pytest.mark.parametrize("adaptive", [False, True])
def test_blocks_out_of_reach_do_not_matter(kernel: SmoothingKernel, adaptive: bool) -> None:
    """Points in many blocks, most of which are left out for most queries."""
    X, Q = some(1601, 2, wide=20.0), some(131, 2, 1, wide=20.0)
    sums = KernelSums(kernel, X, uneven(1601), factors_of(1601) if adaptive else None)
    agree(sums, Q)
    agree(sums, np.concatenate([X[:1], Q[:6]]))


@every_endless
@pytest.mark.parametrize("bits", [24, 32, 35])
def test_a_block_that_adds_more_than_rounding_counts(kernel: SmoothingKernel, bits: int) -> None:
    """All points of each block are at one place, so that it is known exactly how little the others add."""
    away = bits * np.log(2) if kernel.name == "exponential" else np.sqrt(2 * bits * np.log(2))
    X = np.repeat([0.0, away, 1e4], 256)[:, None]
    found = np.exp(KernelSums(kernel, X).log_sums(np.zeros((64, 1))))
    np.testing.assert_allclose(found / 256 - 1, 2.0**-bits, rtol=0, atol=3e-13)


@every_endless
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("away", [1e3, 1e8, 1e12, 1e140])
@pytest.mark.parametrize("d", [1, 3, 30])
def test_logarithms_far_away_are_accurate(kernel: SmoothingKernel, adaptive: bool, away: float, d: int) -> None:
    """Nor are there means beyond all values, though rounding decides which points are nearest."""
    X = some(300, d)
    Q = np.concatenate([away * some(9, d, 1), away * np.eye(d)[:1], X[:2]])
    sums = KernelSums(kernel, X, uneven(300), factors_of(300) if adaptive else None)
    found = sums.log_sums(Q)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, logsumexp(log_terms(sums, Q), axis=1), rtol=1e-12)
    values = np.random.default_rng(0).uniform(size=(300, 1))
    means = sums.means(Q, values)
    assert ((means >= values.min() - 1e-9) & (means <= values.max() + 1e-9)).all()


@every_endless
def test_far_away_the_nearest_point_dominates(kernel: SmoothingKernel) -> None:
    X = np.arange(600.0)[:, None]
    means = KernelSums(kernel, X, factors=np.ones(600)).means(np.array([[-1e4], [1e4]]), X)
    rest = np.arange(600) * np.exp(-np.arange(600)) if kernel.name == "exponential" else np.zeros(1)
    mean = rest.sum() * (1 - np.exp(-1))
    np.testing.assert_allclose(means[:, 0], [mean, 599 - mean], rtol=1e-10, atol=1e-10)


@every_compact
def test_sums_beyond_reach_are_zero(kernel: SmoothingKernel) -> None:
    X = some(290, 2, wide=0.1)
    Q = np.array([[0.0, 0.0], [9.0, 0.0], [1e8, -1e8], [1e140, 0.0]])
    sums = KernelSums(kernel, X)
    np.testing.assert_array_equal(np.isneginf(sums.log_sums(Q)), [False, True, True, True])
    np.testing.assert_array_equal(np.isnan(sums.means(Q, np.ones((290, 1))))[:, 0], [False, True, True, True])


@every_kernel
def test_weights_may_span_300_decades(kernel: SmoothingKernel) -> None:
    """A light point is all that there is close by; far from it the heavy ones are."""
    X = np.concatenate([some(200, 2, wide=0.1), 40 + some(200, 2, 1, wide=0.1)])
    weight = np.repeat([1e-150, 1e150], 200) * np.random.default_rng(0).uniform(0.5, 1.0, 400)
    Q = np.concatenate([X[[0, 1, 200, 201]], X[:2] - 0.2])
    agree(KernelSums(kernel, X, weight), Q)
    agree(KernelSums(kernel, X, weight), X, leave_out=True)


@every_kernel
def test_leave_one_out_omits_only_the_point_itself(kernel: SmoothingKernel) -> None:
    """Others at the same place are not."""
    X = np.repeat(some(101, 2, wide=3.0), 3, axis=0)
    found = agree(KernelSums(kernel, X), X, leave_out=True)
    assert (found >= np.log(2) - 1e-12).all()


@every_kernel
def test_moved_points_leave_out_their_own_term(kernel: SmoothingKernel) -> None:
    X = some(301, 2)
    moved = X[:, ::-1] * 1.1
    agree(KernelSums(kernel, X, uneven(301)), moved, leave_out=True)
    windows = Windows(kernel, Bandwidth(1.0), X)
    expected = logsumexp(log_terms(KernelSums(kernel, X), moved, True), axis=1) - kernel.log_constant(2) - np.log(300)
    np.testing.assert_allclose(windows.log_density_left_out(moved), expected, atol=1e-10)


@every_kernel
def test_a_single_point(kernel: SmoothingKernel) -> None:
    at = np.array([[0.5, -1.0]])
    sums = KernelSums(kernel, at, np.array([4.0]), np.ones(1))
    np.testing.assert_allclose(sums.log_sums(at), np.log(4), atol=1e-14)
    assert sums.means(at, np.array([[7.0]])) == pytest.approx(7.0, rel=1e-14)
    assert np.isneginf(sums.log_sums(at, leave_out=True))
    assert np.isnan(sums.means(at, np.array([[7.0]]), leave_out=True))
    assert np.isneginf(sums.local_moments(at, np.array([[7.0]]), leave_out=True)[2])


@every_endless
def test_leaving_out_the_only_point_with_weight_gives_zero(kernel: SmoothingKernel) -> None:
    X, weight = some(5, 2), np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(
        np.isneginf(KernelSums(kernel, X, weight).log_sums(X, leave_out=True)), weight.astype(bool)
    )


@pytest.mark.parametrize("kernel", [KERNELS[2], *KERNELS[4:6], KERNELS[-1]], ids=repr)
@pytest.mark.parametrize("m", [0, 1, 2, 3, 4, 5, 63, 64, 65])
def test_any_number_of_queries(kernel: SmoothingKernel, m: int) -> None:
    assert agree(KernelSums(kernel, some(257, 3)), some(m, 3, 1)).shape == (m,)


@pytest.mark.parametrize("form", ["radial", "product"])
def test_the_uniform_kernel_has_a_closed_support(form: Any) -> None:
    """Points exactly one bandwidth away count; the next float does not."""
    sums = KernelSums(smoothing_kernel_from("uniform", form), np.zeros((300, 2)))
    above, below = np.nextafter(1, 2), np.nextafter(1, 0)
    Q = np.array([[1.0, 0], [0, -1], [below, 0], [above, 0], [0, -above]])
    np.testing.assert_array_equal(np.isfinite(sums.log_sums(Q)), [True, True, True, False, False])
    corners = np.isfinite(sums.log_sums(np.array([[1.0, 1.0], [-1.0, 1.0], [above, 1.0]])))
    np.testing.assert_array_equal(corners, [form == "product"] * 2 + [False])


def test_the_uniform_kernel_counts_neighbours_on_a_lattice() -> None:
    X = np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0)), axis=-1).reshape(-1, 2)
    inner = X[((X > 0) & (X < 39)).all(axis=1)]
    np.testing.assert_allclose(np.exp(KernelSums(smoothing_kernel_from("uniform"), X).log_sums(inner)), 5)
    squares = KernelSums(smoothing_kernel_from("uniform", "product"), X)
    np.testing.assert_allclose(np.exp(squares.log_sums(inner)), 9)
    np.testing.assert_allclose(np.exp(squares.log_sums(X, leave_out=True)).min(), 3)


@pytest.mark.parametrize("kernel", [*FOR_EVER, KERNELS[4], KERNELS[5]], ids=repr)
def test_threads_change_no_bit(kernel: SmoothingKernel) -> None:
    X = some(2000, 2, wide=20.0)
    sums, Q = KernelSums(kernel, X, uneven(2000), factors_of(2000)), np.concatenate([X[:1500], 1e4 + X[:50]])
    answers = []
    for threads in (1, 2):
        with mercer.engine(threads=threads):
            answers.append((sums.log_sums(Q), sums.means(Q, X), *sums.local_moments(Q, X)))
    for one, two in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, two)


@every_kernel
def test_the_order_of_the_points_does_not_matter(kernel: SmoothingKernel) -> None:
    X, weight, factors, Q = some(700, 3, wide=2.0), uneven(700), factors_of(700), some(90, 3, 1)
    new = np.random.default_rng(0).permutation(700)
    one = KernelSums(kernel, X, weight, factors).log_sums(Q)
    np.testing.assert_allclose(KernelSums(kernel, X[new], weight[new], factors[new]).log_sums(Q), one, atol=1e-13)


@every_kernel
@pytest.mark.parametrize("leave_out", [False, True])
def test_local_moments(kernel: SmoothingKernel, leave_out: bool) -> None:
    X, values = some(301, 3), np.random.default_rng(1).normal(size=(301, 2))
    sums = KernelSums(kernel, X, uneven(301), factors_of(301))
    Q = X if leave_out else np.concatenate([some(66, 3, 1), 1e3 + some(3, 3, 2)])
    terms = log_terms(sums, Q, leave_out)
    z = np.concatenate([np.ones((len(Q), 301, 1)), X - Q[:, None]], axis=2)
    shares = np.nan_to_num(parts(terms), nan=0.0)
    S, T, scale = sums.local_moments(Q, values, leave_out=leave_out)
    total = logsumexp(terms, axis=1)
    np.testing.assert_array_equal(np.isneginf(scale), np.isneginf(total))
    assert (S[np.isneginf(scale)] == 0).all()
    assert (T[np.isneginf(scale)] == 0).all()
    np.testing.assert_allclose(scale + np.log(np.where(np.isneginf(scale), 1.0, S[:, 0, 0])), total, rtol=1e-11)
    per = np.where(np.isneginf(scale), 1.0, S[:, 0, 0])[:, None, None]
    # a distance of 10³ is squared in the exponents of far queries, and loses as many digits
    near = np.abs(Q).max(axis=1) < 100
    np.testing.assert_allclose((S / per)[near], np.einsum("qp,qpa,qpb->qab", shares, z, z)[near], atol=1e-11)
    np.testing.assert_allclose((T / per)[near], np.einsum("qp,qpa,py->qay", shares, z, values)[near], atol=1e-11)
    np.testing.assert_allclose((S / per), np.einsum("qp,qpa,qpb->qab", shares, z, z), rtol=1e-7, atol=1e-11)


@settings(max_examples=60)
@given(
    kernel=st.sampled_from(KERNELS[2:]),
    d=st.integers(1, 4),
    n=st.integers(1, 600),
    wide=st.sampled_from([1e-9, 0.1, 1.0, 30.0, 1e4]),
    seed=st.integers(0, 1 << 16),
)
def test_clusters_of_any_width(kernel: SmoothingKernel, d: int, n: int, wide: float, seed: int) -> None:
    """Blocks at all positions: around the queries, next to them, and far from them.

    The uniform kernel is not among them: where it ends, the last digit of a distance decides.
    """
    rng = np.random.default_rng(seed)
    X = some(n, d, seed, wide) + wide * rng.choice([0.0, 3.0, 100.0], (n, 1))
    Q = X[rng.integers(0, n, 70)] + rng.normal(size=(70, d)) * rng.choice([0.0, 0.3, 5.0], (70, 1))
    sums = KernelSums(kernel, X)
    found, expected = sums.log_sums(Q), logsumexp(log_terms(sums, Q), axis=1)
    near = np.maximum(expected, 0.0)
    np.testing.assert_allclose(np.exp(found - near), np.exp(expected - near), atol=1e-9)
    if kernel.name in ENDLESS:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


def test_memory_does_not_grow_with_points_times_queries() -> None:
    """20 000 times 20 000 numbers would be 3.2 GB."""
    X = some(20_000, 2, wide=300.0)
    sums = KernelSums(smoothing_kernel_from("gaussian"), X)
    sums.log_sums(X[:10])
    tracemalloc.start()
    try:
        sums.log_sums(X, leave_out=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50e6
