"""Products of tiles with themselves agree with NumPy, for every width and any number of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._jit import gram

ALL_ONES = np.zeros(0)


@settings(max_examples=60)
@given(columns=st.integers(0, 70), rows=st.integers(0, 130), seed=st.integers(0, 2**32), weighted=st.booleans())
def test_the_lower_triangle_agrees_with_the_product(columns: int, rows: int, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    targets = int(rng.integers(0, columns + 1))
    values, shift, inverse_scale = rng.normal(size=(rows, columns)), rng.normal(size=columns), rng.uniform(size=columns)
    weight = rng.uniform(size=rows) if weighted else ALL_ONES
    total = np.zeros((gram.padded(columns + 1),) * 2)
    x, y = np.split(values, [columns - targets], axis=1)
    gram.add_gram(x.copy(), y.copy(), weight, shift, inverse_scale, total)
    z = np.column_stack([(values - shift) * inverse_scale, np.ones(rows)])
    expected = z.T @ (z * weight[:, None] if weighted else z)
    lower = np.tril_indices(columns + 1)
    np.testing.assert_allclose(total[: columns + 1, : columns + 1][lower], expected[lower], atol=1e-11)


@pytest.mark.parametrize("width", [8, 16, 24, 32, 40, 64])
def test_some_rows_of_a_tile_are_added_to_existing_values(width: int) -> None:
    tile = np.random.default_rng(0).normal(size=(30, width))
    total = np.ones((width, width))
    gram.add_square(tile, 7, 22, total, tile)
    lower = np.tril_indices(width)
    np.testing.assert_allclose(total[lower], (1 + tile[7:22].T @ tile[7:22])[lower], atol=1e-12)
    before = total.copy()
    gram.add_square(tile, 5, 5, total, tile)
    np.testing.assert_array_equal(total, before)


@pytest.mark.parametrize("vectors", [1, 2, 3])
def test_a_panel_without_a_compiler_is_the_same(vectors: int) -> None:
    add_panel: Any = (gram.add_panel_1, gram.add_panel_2, gram.add_panel_3)[vectors - 1]
    tile, total = np.random.default_rng(0).normal(size=(9, 40)), np.zeros((40, 40))
    add_panel(tile, (2 * 40 + 8, 40, 1), tile, (2 * 40, 40), 7, total, (8 * 40, 40), tile, 0)
    np.testing.assert_allclose(total[8:16, : 8 * vectors], tile[2:, 8:16].T @ tile[2:, : 8 * vectors])


def test_single_precision_is_accumulated_in_double() -> None:
    X = np.full((100, 1), 0.1, dtype=np.float32)
    total = np.zeros((8, 8))
    gram.add_gram(X, np.zeros((100, 0)), ALL_ONES, np.zeros(1), np.ones(1), total)
    assert total[0, 0] == pytest.approx(100 * float(X[0, 0]) ** 2, rel=1e-14)


def test_tiles_are_aligned_to_cache_lines() -> None:
    for columns in (0, 1, 8, 50, 300):
        tile = gram.new_tile(columns, 5)
        assert tile.ctypes.data % 64 == 0
        assert tile.shape[0] >= 5
        assert tile.shape[1] == gram.padded(columns)
        assert not tile.any()
