"""Interleaved columns equal those stacked by NumPy, for any strides."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.data._loops import INTERLEAVED_ROWS, interleave


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 8), (INTERLEAVED_ROWS + 5, 19)])
def test_columns_may_have_their_own_strides(rows: int, columns: int, dtype: type) -> None:
    rng = np.random.default_rng(0)
    apart = [rng.normal(size=(rows, 1 + j % 3)).astype(dtype)[:, 0] for j in range(columns)]
    apart[0] = apart[0][::-1]
    addresses = np.array([column.__array_interface__["data"][0] for column in apart], dtype=np.intp)
    steps = np.array([column.strides[0] for column in apart], dtype=np.intp)
    for run in (interleave, interleave.plain):
        out = np.empty((rows, columns), dtype=dtype)
        run(addresses, steps, out)
        np.testing.assert_array_equal(out, np.stack(apart, axis=1))
