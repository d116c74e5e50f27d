"""Coordinate descent by the slopes of rows has the minimum of that by the slopes of columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mercer.matrices.columns import DenseColumns, SparseColumns
from mercer.optim._working_sets import ResidualWorkingSet
from mercer.optim.duality import GapPenalty
from tests.optim._lasso_cases import regression, strengths, violation


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("positive", [False, True])
def test_the_minimum_is_found(kind: str, positive: bool) -> None:
    X, y = regression(80, 30, correlated=1.0)
    h = np.random.default_rng(0).uniform(0.5, 2, 80)
    columns = (
        DenseColumns(X, np.zeros(30), np.ones(30))
        if kind == "dense"
        else SparseColumns(sparse.csc_array(X), np.zeros(30), np.ones(30))
    )
    rows = ResidualWorkingSet(columns, np.arange(30), h, centred=False)
    rows.load(np.zeros(30), h * y)
    penalty = GapPenalty(np.full(30, 4.0), np.full(30, 0.5), positive)
    sweeps = rows.solve(penalty, 1e-14, 5000)
    assert sweeps < 5000
    np.testing.assert_allclose(rows.v, h * (y - X @ rows.w), atol=1e-8)
    assert penalty.violations(rows.w, X.T @ rows.v).max() < 1e-4


def test_an_intercept_keeps_the_slopes_at_zero_in_sum() -> None:
    X, y = regression(80, 30)
    rows = ResidualWorkingSet(
        DenseColumns(X + 3.0, np.zeros(30), np.ones(30)), np.arange(30), np.ones(80), centred=True
    )
    rows.load(np.zeros(30), y - y.mean())
    rows.solve(GapPenalty(np.full(30, 4.0), np.zeros(30)), 1e-15, 5000)
    level = float(np.mean(y - (X + 3.0) @ rows.w))
    assert abs(rows.v.sum()) < 1e-9
    assert violation(X + 3.0, y, rows.w, level, strengths(4.0)) < 1e-6


@pytest.mark.compiled("takes minutes as plain Python")
def test_acceleration_saves_sweeps() -> None:
    X, y = regression(80, 30, correlated=5.0)
    columns, spent = DenseColumns(X, np.zeros(30), np.ones(30)), []
    for memory in (5, 0):
        rows = ResidualWorkingSet(columns, np.arange(30), np.ones(80), centred=False, memory=memory)
        rows.load(np.zeros(30), y)
        spent.append(rows.solve(GapPenalty(np.full(30, 0.01), np.zeros(30)), 1e-12, 100_000))
    assert spent[0] < spent[1]


def test_sweeps_are_limited_and_none_is_needed_at_the_minimum() -> None:
    X, y = regression(20, 40, correlated=1.0)
    rows = ResidualWorkingSet(DenseColumns(X, np.zeros(40), np.ones(40)), np.arange(40), np.ones(20), centred=False)
    rows.load(np.zeros(40), y)
    penalty = GapPenalty(np.full(40, 0.5), np.full(40, 0.1))
    assert rows.solve(penalty, 0.0, 3) == 3
    rows.solve(penalty, 1e-18, 5000)
    best = rows.w.copy()
    rows._newton(penalty)
    np.testing.assert_allclose(rows.w, best, atol=1e-7)
