"""Sums in twice the working precision."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.matrices import _gradient_loops as loops

NUMBERS = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)


@given(NUMBERS, NUMBERS)
def test_a_product_is_exact(a: float, b: float) -> None:
    high, low = loops.product(a, b)
    assert high == a * b
    assert Fraction(high) + Fraction(low) == Fraction(a) * Fraction(b)


@given(NUMBERS, NUMBERS)
def test_a_sum_compensates_rounding(a: float, b: float) -> None:
    high, low = loops.plus(a, 0.0, b, 0.0)
    assert Fraction(high) + Fraction(low) == Fraction(a) + Fraction(b)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_has_twice_the_digits(weighted: bool) -> None:
    """At the solution the terms cancel: the gradient is far below their rounding errors."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), 1e6 * rng.normal(size=(30, 2))
    weight = rng.integers(0, 3, 30).astype(float) if weighted else np.zeros(0)
    shift, v = rng.normal(size=5), rng.normal(size=(4, 2))
    high, low = loops.gradient(X, Y, weight, shift, v)
    exact = np.zeros((4, 2), dtype=object)
    for i in range(30):
        w = Fraction(weight[i]) if weighted else Fraction(1)
        away = [Fraction(1), *(Fraction(X[i, j] - shift[j]) for j in range(3))]
        for k in range(2):
            r = Fraction(Y[i, k] - shift[3 + k]) - sum(a * Fraction(c) for a, c in zip(away, v[:, k], strict=True))
            exact[:, k] += [w * a * r for a in away]
    size = np.abs(exact.astype(float)).max()
    for j in range(4):
        for k in range(2):
            error = Fraction(high[j, k]) + Fraction(low[j, k]) - exact[j, k]
            assert abs(float(error)) <= 1e-27 * size
