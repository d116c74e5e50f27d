"""Directions are standard normal rows that are evenly spread together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mercer.kernel_approximation.fourier import DIRECTIONS, Hadamard, draw_orthogonal


@pytest.mark.parametrize("sampling", DIRECTIONS)
@pytest.mark.parametrize("columns", [1, 2, 5, 64, 70])
def test_every_row_is_standard_normal(sampling: str, columns: int) -> None:
    rng = np.random.default_rng(2)
    rows = np.array([DIRECTIONS[sampling](3, columns, rng)[-1] for _ in range(1000)])  # rows of one draw depend
    along = rows @ np.full(columns, columns**-0.5)
    assert stats.kstest(along, "norm").pvalue > 0.001
    assert stats.kstest(rows[:, 0], "norm").pvalue > 0.001
    np.testing.assert_allclose(np.square(rows).sum(axis=1).mean(), columns, rtol=0.1)


@pytest.mark.parametrize("count", [1, 3, 5, 12])
def test_blocks_are_orthogonal(count: int) -> None:
    rows = draw_orthogonal(count, 5, np.random.default_rng(0))
    for start in range(0, count, 5):
        block = rows[start : start + 5]
        products = block @ block.T
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)


def test_hadamard_blocks_without_padding_are_orthogonal() -> None:
    rows = DIRECTIONS["hadamard"](128, 128, np.random.default_rng(0))
    products = rows @ rows.T
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-10)


@pytest.mark.parametrize(("columns", "count"), [(8, 5), (64, 64), (100, 300)])
def test_products_are_computed_without_forming_the_rows(columns: int, count: int) -> None:
    chain = Hadamard.draw(count, columns, np.random.default_rng(0)).scale_rows(np.arange(1.0, count + 1))
    X = np.random.default_rng(1).normal(size=(20, columns))
    found = np.empty((20, count))
    chain.put_products(X, found)
    np.testing.assert_allclose(found, X @ chain.rows().T, atol=1e-10 * np.abs(found).max())


def test_the_transform_is_used_for_many_columns() -> None:
    rng = np.random.default_rng(0)
    assert Hadamard.draw(1024, 1024, rng).is_faster
    assert not Hadamard.draw(1000, 20, rng).is_faster
    assert not Hadamard.draw(1, 1024, rng).is_faster
