"""Tests of the triangle of [1, X, y]: it has the information of the rows and can be merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._errors import MergeError
from mercer.matrices.cross_products import joined_tile_rows
from mercer.stats.normal_equations import RFactor
from tests.stats._draws import draw

Array = np.ndarray


def factor_of(X: Any, Y: Array, weight: Array | None = None) -> RFactor:
    return RFactor.zero(X.shape[1], Y.shape[1]).update(X, Y, weight)


def assert_same_rows(factor: RFactor, X: Array, Y: Array, weight: Array | None = None, rtol: float = 1e-10) -> None:
    """Products of the columns of a triangle are those of the rows."""
    every = np.ones(len(X)) if weight is None else weight
    root, both = np.sqrt(every)[:, None], np.column_stack([X, Y])
    d = X.shape[1]
    for centred in (True, False):
        A = root * (both - np.average(both, axis=0, weights=every) if centred else both)
        R, z, rest = factor.triangle(centred=centred)
        whole = np.block([[R, z], [np.zeros((len(rest), d)), rest]])
        np.testing.assert_allclose(whole.T @ whole, A.T @ A, rtol=rtol, atol=rtol * np.abs(A.T @ A).max())
        assert (np.tril(R, -1) == 0).all()
    np.testing.assert_allclose(factor.weight, every.sum())
    np.testing.assert_allclose(np.concatenate(factor.mean), np.average(both, axis=0, weights=every), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_any_container_is_accepted(contained: Callable[[Array], Any], weighted: bool) -> None:
    n = 20_000
    assert n > 2 * joined_tile_rows(7)
    X, Y = draw(n, 4, 2)
    weight = np.random.default_rng(1).integers(0, 3, n).astype(float) if weighted else None
    assert_same_rows(factor_of(contained(X), Y, weight), X, Y, weight)


@settings(max_examples=40)
@given(st.tuples(st.integers(2, 12), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2**32 - 1)))
def test_blocks_merge_in_any_order(shape: tuple[int, int, int, int]) -> None:
    n, d, t, seed = shape
    X, Y = draw(n, d, t, seed)
    weight = np.random.default_rng(seed).integers(1, 4, n) / 2
    half = n // 2
    first, second = factor_of(X[:half], Y[:half], weight[:half]), factor_of(X[half:], Y[half:], weight[half:])
    for merged in (first.merge(second), second.merge(first), first.update(X[half:], Y[half:], weight[half:])):
        assert merged.rows == n
        assert_same_rows(merged, X, Y, weight)
    assert_same_rows(first.merge(second).merge(first.empty()), X, Y, weight)


def test_least_squares_of_the_triangle_agree_with_the_rows() -> None:
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(100, 3)), rng.normal(size=(100, 1))
    R, z, rest = factor_of(X, Y).triangle(centred=False)
    for w in rng.normal(size=(5, 3, 1)):
        np.testing.assert_allclose(np.sum((X @ w - Y) ** 2), np.sum((R @ w - z) ** 2) + np.sum(rest**2))


def test_it_keeps_digits_that_normal_equations_lose() -> None:
    """Läuchli's columns: their Gram matrix is singular in double precision, they are not."""
    tiny = 1e-9
    X = np.vstack([np.ones(2), np.diag([tiny, tiny])])
    R, _, _ = factor_of(X, np.zeros((3, 1))).triangle(centred=False)
    values = np.linalg.svd(R, compute_uv=False)
    np.testing.assert_allclose(values, [np.sqrt(2), tiny], rtol=1e-6)
    assert np.linalg.matrix_rank(X.T @ X) == 1


def test_digits_are_kept_far_from_zero() -> None:
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(500, 3)) + 1e8, rng.normal(size=(500, 1)) - 1e8
    triangles = [factor_of(*rows).triangle(centred=True).R for rows in ((X, Y), (X - 1e8, Y + 1e8))]
    np.testing.assert_allclose(triangles[0].T @ triangles[0], triangles[1].T @ triangles[1], rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_extreme_scales(scale: float) -> None:
    X, Y = draw(50, 3, 1)
    plain, scaled = factor_of(X, Y).triangle(centred=True).R, factor_of(scale * X, Y).triangle(centred=True).R
    np.testing.assert_allclose(np.abs(scaled / scale), np.abs(plain), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_is_reported_and_cannot_be_forgotten(bad: float) -> None:
    X, Y = draw(40, 2, 1)
    good = factor_of(X, Y)
    X[5, 1] = bad
    spoilt = factor_of(X, Y)
    assert good.finite
    for merged in (spoilt, spoilt.merge(good), good.merge(spoilt), spoilt.empty().merge(spoilt).merge(good)):
        assert not merged.finite


def test_some_of_the_targets_are_selected() -> None:
    X, Y = draw(40, 3, 3)
    assert_same_rows(factor_of(X, Y).only(np.array([True, False, True])), X, Y[:, [0, 2]])


def test_other_columns_cannot_be_merged() -> None:
    X, Y = draw(20, 2, 1)
    with pytest.raises(MergeError, match="same columns"):
        factor_of(X, Y).merge(factor_of(X[:, :1], Y))
