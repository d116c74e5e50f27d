"""Sums over cells of equal categories are sums over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from mercer.density import smoothing_kernel_from
from mercer.density._mixed import MixedRows, MixedSums, most_mismatch

Array = np.ndarray
LEVELS = np.array([3, 2])
KERNELS = ["gaussian", "epanechnikov", "triangular"]


def draw(n: int, seed: int) -> MixedRows:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, m, n) for m in LEVELS])
    return MixedRows(rng.normal(size=(n, 2)), codes)


def factors(queries: Array, points: Array, mismatch: Array) -> Array:
    """Π_c l of every pair, from the definition."""
    same = queries[:, None, :] == points[None, :, :]
    return np.where(same, 1 - mismatch, mismatch / (LEVELS - 1)).prod(axis=2)


def pairs(kernel: str, queries: MixedRows, points: MixedRows, weight: Array, mismatch: Array) -> Array:
    r = np.linalg.norm(queries.numbers[:, None] - points.numbers, axis=2)
    return weight * smoothing_kernel_from(kernel).profile(r) * factors(queries.codes, points.codes, mismatch)


class SumsByCell(MixedSums):
    pairs_per_cell = 0


class SumsByPair(MixedSums):
    pairs_per_block = 400


def make(
    kernel: str, mismatch: Array, seed: int = 0, kind: type[MixedSums] = MixedSums
) -> tuple[MixedSums, MixedRows, Array]:
    points, weight = draw(40, seed), np.random.default_rng(seed + 1).uniform(0.5, 2, 40)
    return kind(smoothing_kernel_from(kernel), points, weight, mismatch=mismatch, levels=LEVELS), points, weight


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("mismatch", [[0.3, 0.1], [0.0, 0.2], [2 / 3, 1 / 2]])
@pytest.mark.parametrize("leave_out", [False, True])
@pytest.mark.parametrize("kind", [SumsByCell, SumsByPair])
def test_sums_means_and_moments_agree_with_all_pairs(
    kernel: str, mismatch: list[float], leave_out: bool, kind: type[MixedSums]
) -> None:
    lam = np.array(mismatch)
    sums, points, weight = make(kernel, lam, kind=kind)
    index = np.arange(40)[::-3]
    queries, itself = (points.take(index), index) if leave_out else (draw(15, 7), None)
    values = np.random.default_rng(3).normal(size=(40, 2))
    terms = pairs(kernel, queries, points, weight, lam)
    if leave_out:
        terms[np.arange(len(index)), index] = 0.0
    reached = terms.sum(axis=1) > 0
    assert reached.sum() > 8
    with np.errstate(divide="ignore", invalid="ignore"):
        if not leave_out:
            assert_allclose(sums.log_sums(queries), np.log(terms.sum(axis=1)), atol=1e-12)
        expected = terms @ values / terms.sum(axis=1, keepdims=True)
    assert_allclose(sums.means(queries, values, itself=itself), expected, atol=1e-12)
    S, T, scale = sums.local_moments(queries, values, itself=itself)
    z = np.dstack([np.ones((queries.count, 40)), points.numbers - queries.numbers[:, None]])
    grown = np.exp(scale)[:, None, None]
    assert_allclose(S * grown, np.einsum("mn,mna,mnb->mab", terms, z, z), atol=1e-12)
    assert_allclose(T * grown, np.einsum("mn,mna,nk->mak", terms, z, values), atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_terms_add_up_to_the_sum(kernel: str) -> None:
    sums, points, weight = make(kernel, np.array([0.3, 0.1]))
    queries = draw(15, 7)
    terms = sums.log_terms(queries)
    assert_allclose(np.exp(terms), pairs(kernel, queries, points, weight, np.array([0.3, 0.1])), atol=1e-12)
    assert_allclose(logsumexp(terms, axis=1), sums.log_sums(queries), atol=1e-12)


def test_with_the_largest_mismatch_categories_have_no_effect() -> None:
    sums, points, weight = make("gaussian", most_mismatch(LEVELS))
    values = np.random.default_rng(3).normal(size=(40, 1))
    plain = MixedSums(smoothing_kernel_from("gaussian"), MixedRows(points.numbers), weight)
    queries = draw(15, 7)
    assert_allclose(sums.means(queries, values), plain.means(MixedRows(queries.numbers), values), atol=1e-12)


def test_without_mismatch_only_rows_of_the_same_cell_count() -> None:
    sums, points, weight = make("gaussian", np.zeros(2))
    own = (points.codes == points.codes[0]).all(axis=1)
    alone = MixedSums(smoothing_kernel_from("gaussian"), MixedRows(points.numbers[own]), weight[own])
    values = np.random.default_rng(3).normal(size=(40, 1))
    query = points.take(slice(0, 1))
    assert_allclose(sums.means(query, values), alone.means(MixedRows(query.numbers), values[own]), atol=1e-12)


@pytest.mark.parametrize("mismatch", [[0.3, 0.1], [0.0, 0.1]])
def test_an_unseen_level_has_no_effect(mismatch: list[float]) -> None:
    """It differs from all points alike, by a factor that cancels, even if that is 0."""
    sums, points, weight = make("gaussian", np.array(mismatch))
    other = MixedSums(
        smoothing_kernel_from("gaussian"),
        MixedRows(points.numbers, points.codes[:, 1:]),
        weight,
        mismatch=np.array(mismatch[1:]),
        levels=LEVELS[1:],
    )
    values = np.random.default_rng(3).normal(size=(40, 1))
    unseen = MixedRows(np.zeros((2, 2)), np.array([[-1, 0], [-1, 1]]))
    expected = other.means(MixedRows(unseen.numbers, unseen.codes[:, 1:]), values)
    assert_allclose(sums.means(unseen, values), expected, atol=1e-12)
