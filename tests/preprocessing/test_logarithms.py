"""log(1 + x) and its odd continuation."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.preprocessing._logarithms import signed_log


@given(arrays(np.float64, st.integers(0, 20), elements=st.floats(-1e300, 1e300)))
def test_it_is_odd_increasing_and_has_an_inverse(x: np.ndarray) -> None:
    logarithms = signed_log(x)
    np.testing.assert_array_equal(signed_log(-x), -logarithms)
    assert (np.diff(logarithms[np.argsort(x)]) >= 0).all()
    back = np.copysign(np.expm1(np.abs(logarithms)), x)
    np.testing.assert_allclose(back, x, rtol=1e-12 * 700)


def test_small_numbers_keep_their_digits() -> None:
    np.testing.assert_allclose(signed_log(np.array([1e-300, -1e-17])), [1e-300, -1e-17], rtol=1e-15)


def test_missing_values_and_precision_are_kept() -> None:
    found = signed_log(np.array([np.nan, 1.0], np.float32))
    assert found.dtype == np.float32
    assert np.isnan(found[0])
