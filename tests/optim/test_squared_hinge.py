"""The squared hinge as a response."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.optim.squared_hinge import SquaredHinge


def test_the_slopes_of_a_squared_hinge_are_its_derivatives() -> None:
    y, eta, weight = np.array([1.0, 1.0, -1.0, -1.0]), np.array([0.3, 1.7, -0.2, -2.0]), np.array([1.0, 2.0, 0.5, 3.0])
    loss, first, second = SquaredHinge().slopes(y, eta, weight)
    step = 1e-6
    above, below = (SquaredHinge().slopes(y, eta + sign * step, weight) for sign in (1, -1))
    assert loss == pytest.approx(weight @ np.square([0.7, 0.0, 0.8, 0.0]))
    assert loss == pytest.approx(SquaredHinge().loss(y, eta, weight))
    np.testing.assert_allclose((above.first - below.first) / (2 * step), second, atol=1e-8)
    assert (above.loss - below.loss) / (2 * step) == pytest.approx(first.sum(), abs=1e-8)
