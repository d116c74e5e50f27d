"""A factor to which columns are added, and from which they are removed, solves the present system."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.optim._working_sets import ColumnFactor

Array = np.ndarray


def gram(p: int, rows: int, seed: int = 0) -> Array:
    X = np.random.default_rng(seed).normal(size=(rows, p))
    return X.T @ X


def bring(factor: ColumnFactor, G: Array, ids: Array, ridge: Array) -> None:
    keep = np.zeros(len(G), dtype=bool)
    keep[ids] = True
    factor.drop(keep, ridge)
    factor.extend(G, ids, ridge)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.sampled_from([3, 30, 300]))
def test_columns_are_added_and_removed(seed: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    G, ridge, factor = gram(p, 2 * p, seed), np.zeros(p), ColumnFactor()
    for _ in range(5):
        ids = np.flatnonzero(rng.random(p) < rng.random())
        changes = factor.changes(ids, ridge)
        assert changes == len(np.setxor1d(ids, factor.ids))
        bring(factor, G, ids, ridge)
        assert set(factor.ids) == set(ids)
        b = rng.normal(size=len(ids))
        np.testing.assert_allclose(G[np.ix_(factor.ids, factor.ids)] @ factor.solve(b), b, rtol=1e-6, atol=1e-8)


def test_another_ridge_gives_another_factor() -> None:
    G, factor, ids = gram(5, 20), ColumnFactor(), np.arange(5)
    bring(factor, G, ids, np.zeros(5))
    ridge = np.arange(5.0)
    assert factor.changes(ids, ridge) == 5
    bring(factor, G, ids, ridge)
    b = np.ones(5)
    M = G + np.diag(ridge)
    np.testing.assert_allclose(M[np.ix_(factor.ids, factor.ids)] @ factor.solve(b), b, rtol=1e-8)


def test_columns_that_depend_on_others_are_left_out() -> None:
    G, factor = gram(40, 10), ColumnFactor()
    bring(factor, G, np.arange(40), np.zeros(40))
    assert len(factor) == 10
    assert np.linalg.cond(G[np.ix_(factor.ids, factor.ids)]) < 1e12


def test_a_ridge_makes_all_of_them_independent() -> None:
    G, factor, ridge = gram(40, 10), ColumnFactor(), np.ones(40)
    bring(factor, G, np.arange(40), ridge)
    assert len(factor) == 40
    M = (G + np.eye(40))[np.ix_(factor.ids, factor.ids)]
    np.testing.assert_allclose(M @ factor.solve(np.ones(40)), 1.0, rtol=1e-8)


def test_an_empty_factor_is_valid() -> None:
    factor = ColumnFactor()
    bring(factor, np.eye(3), np.zeros(0, dtype=np.intp), np.zeros(3))
    assert len(factor) == 0
    assert factor.solve(np.zeros(0)).shape == (0,)
