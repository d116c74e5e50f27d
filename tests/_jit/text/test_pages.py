"""Arrays with pages of their own are arrays like others."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._jit.text import pages


@pytest.mark.parametrize("rows", [0, 3, pages.OWN_PAGES, pages.LARGE])
def test_arrays_of_any_size_can_be_written_to(rows: int) -> None:
    values = pages.empty((rows, 2), np.uint16)
    assert values.shape == (rows, 2)
    assert values.dtype == np.uint16
    assert values.flags.c_contiguous
    values[:] = 7
    copy = pages.copied(values, np.int64)
    values[:] = 8
    assert copy.dtype == np.int64
    assert (copy == 7).all()
