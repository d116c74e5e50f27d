"""Both products of a tile agree with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.kernels.row_loops import add_both


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (8, 5), (321, 320)])
def test_both_products(shape: tuple[int, int], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    tile = rng.normal(size=shape).astype(dtype)
    right, left = rng.normal(size=shape[1]).astype(dtype), rng.normal(size=shape[0]).astype(dtype)
    direct, mirrored = np.ones(shape[0]), np.ones(shape[1])
    add_both(tile, right, left, direct, mirrored)
    error = 100 * np.finfo(dtype).eps * max(shape)
    np.testing.assert_allclose(direct, 1 + tile.astype(float) @ right, atol=error)
    np.testing.assert_allclose(mirrored, 1 + tile.T.astype(float) @ left, atol=error)
