"""XᵀX and Xᵀy as a statistic."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer._errors import MergeError, UnseenRowsError
from mercer.matrices.cross_products import joined_tile_rows
from mercer.stats.normal_equations import NormalEquations
from tests.stats._draws import draw

Array = np.ndarray


def summary_of(X: Any, Y: Array, weight: Array | None = None) -> NormalEquations:
    return NormalEquations.zero(X.shape[1], Y.shape[1]).update(X, Y, weight)


def assert_alike(equations: NormalEquations, expected: NormalEquations, rtol: float = 1e-10) -> None:
    assert equations.rows == expected.rows
    np.testing.assert_allclose(equations.weight, expected.weight, rtol=rtol)
    for centred in (True, False):
        for one, other in zip(equations.products(centred=centred), expected.products(centred=centred), strict=True):
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * (1 + np.abs(other).max(initial=0.0)))
    for one, other in zip(equations.mean, expected.mean, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)


def assert_products_of(equations: NormalEquations, X: Array, Y: Array, weight: Array, rtol: float = 1e-10) -> None:
    x, y = (np.average(values, axis=0, weights=weight) for values in (X, Y))
    for centred in (True, False):
        A, B = (X - x, Y - y) if centred else (X, Y)
        heavy = weight[:, None] * A
        for one, other in zip(
            equations.products(centred=centred), (A.T @ heavy, heavy.T @ B, weight @ B**2), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * np.abs(other).max())


@pytest.mark.parametrize("weighted", [False, True])
def test_any_container_is_accepted(contained: Callable[[Array], Any], weighted: bool) -> None:
    n = 40_000
    assert n > 2 * joined_tile_rows(4)
    X, Y = draw(n, 4, 2)
    weight = np.random.default_rng(1).uniform(size=n) if weighted else None
    assert_products_of(summary_of(contained(X), Y, weight), X, Y, np.ones(n) if weight is None else weight)


@pytest.mark.parametrize("density", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_agree_with_the_dense_matrix(density: float, weighted: bool) -> None:
    rng = np.random.default_rng(2)
    X = np.where(rng.random((400, 6)) < density, rng.normal(size=(400, 6)), 0.0)
    Y = rng.normal(size=(400, 2)) + 1e6
    weight = rng.integers(0, 3, 400).astype(float) if weighted else None
    assert_alike(summary_of(sparse.csr_array(X), Y, weight), summary_of(X, Y, weight))


def test_entries_stored_twice_or_out_of_order_add_up() -> None:
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 30))
    Y = np.array([[1.0], [2.0]])
    assert_alike(summary_of(X, Y), summary_of(X.toarray(), Y))


@pytest.mark.parametrize("wrap", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_digits_are_kept_far_from_zero(wrap: Callable[[Array], Any]) -> None:
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(2000, 3)) + 1e8, rng.normal(size=(2000, 1)) - 1e8
    near = summary_of(X - 1e8, Y + 1e8).products(centred=True)
    for one, other in zip(summary_of(wrap(X), Y).products(centred=True), near, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())


def test_a_constant_column_has_exactly_zero_products() -> None:
    X, Y = draw(500, 3, 1)
    X[:, 1] = 1e8 + 0.1
    gram, moment, _ = summary_of(X[:250], Y[:250]).update(X[250:], Y[250:]).products(centred=True)
    assert not gram[1].any()
    assert not gram[:, 1].any()
    np.testing.assert_allclose(moment[1], 0.0, atol=1e-12 * np.abs(moment).max())


small = st.tuples(st.integers(1, 12), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2**32 - 1))


@settings(max_examples=40)
@given(small)
def test_normal_equations_obey_the_laws(shape: tuple[int, int, int, int]) -> None:
    n, d, t, seed = shape
    X, Y = draw(n, d, t, seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, n) / 2
    whole, half = summary_of(X, Y, weight), n // 2
    first, second = summary_of(X[:half], Y[:half], weight[:half]), summary_of(X[half:], Y[half:], weight[half:])
    assert_alike(first.merge(second), whole)
    assert_alike(second.merge(first), whole)
    assert_alike(first.update(X[half:], Y[half:], weight[half:]), whole)
    assert_alike(whole.remove(X[half:], Y[half:], weight[half:]), first)
    assert_alike(whole.merge(whole.empty()), whole)
    assert_alike(summary_of(X[weight > 0], Y[weight > 0], weight[weight > 0]), whole)
    assert_alike(pickle.loads(pickle.dumps(whole)), whole)


def test_weights_are_equivalent_to_repetitions() -> None:
    X, Y = draw(50, 3, 2)
    times = np.random.default_rng(4).integers(0, 4, 50)
    repeated = summary_of(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0)).products(centred=True)
    for one, other in zip(repeated, summary_of(X, Y, times.astype(float)).products(centred=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_rows_that_were_not_learnt_cannot_be_removed() -> None:
    X, Y = draw(20, 2, 1)
    with pytest.raises(UnseenRowsError, match="10 more rows"):
        summary_of(X[:10], Y[:10]).remove(X, Y)


def test_other_columns_cannot_be_merged() -> None:
    X, Y = draw(20, 2, 1)
    with pytest.raises(MergeError, match="same columns"):
        summary_of(X, Y).merge(summary_of(X[:, :1], Y))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_values_that_make_sums_infinite_are_reported(bad: float, wrap: Callable[[Array], Any]) -> None:
    X, Y = draw(20, 20, 1)
    X[X > -8] = 0.0
    assert summary_of(wrap(X), Y).finite
    X[3, 1] = bad
    assert not summary_of(wrap(X), Y).finite
    weight = np.ones(20)
    weight[3] = 0.0
    assert summary_of(wrap(X), Y, weight).finite
