"""eˣ for x ≤ 0 to all digits of its type, and the ends of its range."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._jit.kernel_tiles import Exponential, each

X = np.concatenate([np.linspace(-750, 0, 40_001), -np.logspace(-300, 2, 5000), [-0.0]])


@pytest.mark.parametrize(("dtype", "least"), [(np.float64, -708.0), (np.float32, -87.3)])
def test_all_digits_down_to_the_least_normal_number(dtype: type[np.floating], least: float) -> None:
    x = X.astype(dtype)
    found = x.copy()[None]
    each(Exponential(dtype(-1.0)), found)
    with np.errstate(under="ignore"):
        expected = np.exp(x.astype(np.longdouble))
    normal = x > dtype(least)
    np.testing.assert_allclose(found[0][normal], expected[normal].astype(float), rtol=2.5 * np.finfo(dtype).eps)
    assert (found[0][~normal] == 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nan_comes_through(dtype: type[np.floating]) -> None:
    found = np.full((1, 3), np.nan, dtype)
    each(Exponential(dtype(1.0)), found)
    assert np.isnan(found).all()
