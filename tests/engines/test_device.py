"""A reduction of tensors is that of arrays, whatever the blocks, and takes smaller ones where memory is short."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import DeviceMemoryError
from mercer.data.blocks import RowBlocks
from mercer.engines import device, reducing
from mercer.stats import ColumnMoments

torch = pytest.importorskip("torch")

ROWS = 1000


def source(block_rows: int, *, limit: int = ROWS, tensors: bool = True) -> RowBlocks:
    """Rows of which a limited number can be read at once."""
    rng = np.random.default_rng(0)
    given = rng.normal(size=(ROWS, 3)) + 1e6, rng.integers(2, size=ROWS), rng.random(ROWS)
    x, groups, weight = map(torch.as_tensor, given) if tensors else given

    def read(rows: slice):
        if rows.stop - rows.start > limit:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return x[rows]

    return RowBlocks(read, groups, weight, block_rows)


@pytest.mark.parametrize(("block_rows", "limit"), [(ROWS, ROWS), (10 * ROWS, ROWS), (64, ROWS), (ROWS, 100), (ROWS, 1)])
def test_blocks_do_not_matter(block_rows, limit):
    zero = ColumnMoments.zero(2, 3)
    expected = reducing.reduce(zero, source(ROWS, tensors=False)).contents()
    got = device.reduce(zero, source(block_rows, limit=limit)).contents()
    np.testing.assert_array_equal(got["rows"], expected["rows"])
    for name in ("weight", "mean", "scatter"):
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-9, err_msg=name)


def test_earlier_rows_of_the_statistic_are_kept():
    zero = ColumnMoments.zero(2, 3)
    twice = device.reduce(device.reduce(zero, source(64)), source(ROWS))
    np.testing.assert_array_equal(twice.rows, 2 * device.reduce(zero, source(ROWS)).rows)


def test_a_row_that_does_not_fit_is_an_error():
    with pytest.raises(DeviceMemoryError, match="sums of squares"):
        device.reduce(ColumnMoments.zero(2, 3), source(ROWS, limit=0))
