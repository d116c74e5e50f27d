"""Least squares of a source: sums of chunks are sums of all rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from mercer._errors import DataError, NonFiniteError, TooManyColumnsError
from mercer.data.sources.base import Chunk
from mercer.data.sources.memory import MemorySource
from mercer.matrices import Observations, observations_of
from mercer.matrices.base import add_high_low
from mercer.optim.least_squares import is_direct_cheap, least_squares, normal_equations, triangle_factor
from mercer.optim.least_squares_source import SourceObservations, check_total_weight

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)) + np.array([0.0, 1e6, 0.0, 3.0])
Y = RNG.normal(size=(200, 3)) + X[:, :1]
W = RNG.integers(0, 3, 200).astype(float)


def read(chunk: Chunk) -> Observations:
    return observations_of(chunk.X, chunk.y, chunk.weight)


def streamed(rows: int = 30, X: Any = X) -> SourceObservations:
    return SourceObservations.of(MemorySource(X, Y, W, rows=rows), read)


def gradient_of_part(shift: np.ndarray, v: np.ndarray, rows: Observations) -> tuple[np.ndarray, np.ndarray]:
    return rows.design.residual_gradient(rows.y, rows.weight, shift, v)


def gradient(rows: Observations, shift: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return rows.fold(partial(gradient_of_part, shift, v), add_high_low)


def test_shape_and_weights_agree_with_rows_in_memory() -> None:
    mine, theirs = streamed(), observations_of(X, Y, W)
    assert (mine.shape, mine.targets, mine.design.dtype) == (theirs.shape, 3, theirs.design.dtype)
    assert not mine.has_rows
    assert not mine.has_cheap_products
    assert (mine.total_weight, mine.heavy) == (theirs.total_weight, theirs.heavy)
    assert is_direct_cheap(mine)


@pytest.mark.parametrize("rows", [1, 30, 500])
def test_sums_and_gradients_agree_with_rows_in_memory(rows: int) -> None:
    mine, theirs = streamed(rows), observations_of(X, Y, W)
    for one, other in zip(
        normal_equations(mine).products(centred=True),
        normal_equations(theirs).products(centred=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-9)
    one, other = triangle_factor(mine), triangle_factor(theirs)
    np.testing.assert_allclose(np.abs(one.triangle(centred=True).R), np.abs(other.triangle(centred=True).R), rtol=1e-8)
    shift, v = np.concatenate([X.mean(axis=0), Y.mean(axis=0)]), RNG.normal(size=(5, 3))
    for one, other in zip(gradient(mine, shift, v), gradient(theirs, shift, v), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-9)


def test_some_of_the_targets_are_selected() -> None:
    chosen = np.array([True, False, True])
    mine, theirs = streamed().select_targets(chosen), observations_of(X, Y, W).select_targets(chosen)
    assert mine.targets == 2
    shift, v = np.zeros(6), np.ones((5, 2))
    np.testing.assert_allclose(gradient(mine, shift, v)[0], gradient(theirs, shift, v)[0])
    np.testing.assert_allclose(normal_equations(mine).mean[1], normal_equations(theirs).mean[1], rtol=1e-12)
    last = mine.select_targets(np.array([False, True]))
    np.testing.assert_allclose(normal_equations(last).mean[1], np.average(Y[:, 2:], axis=0, weights=W))


def test_the_solution_agrees_with_rows_in_memory() -> None:
    alpha = np.array([0.0, 1.0, 2.0])
    mine, theirs = least_squares(streamed(), alpha).coef, least_squares(observations_of(X, Y, W), alpha).coef
    np.testing.assert_allclose(mine.coefficients, theirs.coefficients, rtol=1e-10)
    np.testing.assert_allclose(mine.intercept, theirs.intercept, rtol=1e-8, atol=1e-8)


def test_values_that_are_not_finite_are_found_in_their_chunk() -> None:
    broken = X.copy()
    broken[100, 1] = np.nan
    with pytest.raises(NonFiniteError, match="not finite"):
        streamed(X=broken)


def test_too_many_columns_are_rejected() -> None:
    with pytest.raises(TooManyColumnsError, match="too many for 4 columns"):
        SourceObservations.of(MemorySource(X, Y, W, rows=30), read, max_columns=3)


def test_rows_are_counted_and_read_by_the_source() -> None:
    rows = streamed()
    assert len(rows) == rows.shape[0]
    assert rows.blocks() == []
    np.testing.assert_allclose(rows.fold(column_sums, np.add), X.sum(axis=0))


def column_sums(rows: Observations) -> np.ndarray:
    return np.asarray(rows.design.data.sum(axis=0))


def test_rows_without_any_weight_are_rejected() -> None:
    check_total_weight(1)
    with pytest.raises(DataError, match="Every row weighs 0"):
        check_total_weight(0)
