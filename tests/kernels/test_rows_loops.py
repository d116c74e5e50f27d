"""Sums of rows of a kernel matrix."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import row_loops as loops


@settings(max_examples=50)
@given(st.integers(0, 12), st.integers(0, 1000))
def test_rows_added_four_at_a_time_agree_with_rows_added_singly(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kept, total, factors = rng.normal(size=(20, 20)), rng.normal(size=15), rng.normal(size=count)
    slots = rng.permutation(20)[:count]
    expected = total + factors @ kept[slots, :15]
    loops.add_rows(total, 0, 15, kept, slots, factors)
    np.testing.assert_allclose(total, expected, rtol=1e-10, atol=1e-12)
