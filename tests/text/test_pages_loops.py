"""Arrays with pages of their own are arrays like others."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.text import _term_loops as term_loops


@pytest.mark.parametrize("rows", [0, 3, term_loops.OWN_PAGES, term_loops.HUGE_PAGES])
def test_arrays_of_any_size_can_be_written_to(rows: int) -> None:
    values = term_loops.empty((rows, 2), np.uint16)
    assert values.shape == (rows, 2)
    assert values.dtype == np.uint16
    assert values.flags.c_contiguous
    values[:] = 7
    copy = term_loops.copied(values, np.int64)
    values[:] = 8
    assert copy.dtype == np.int64
    assert (copy == 7).all()
