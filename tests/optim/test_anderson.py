"""Anderson's acceleration: exact for linear iterations, harmless for degenerate ones."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.optim._anderson import AndersonAcceleration


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_linear_iteration_is_solved_in_as_many_steps_as_it_has_dimensions(d: int) -> None:
    rng = np.random.default_rng(d)
    contraction = 0.99 * np.linalg.qr(rng.normal(size=(d, d)))[0]
    target = rng.normal(size=d)
    acceleration, x = AndersonAcceleration(memory=d), np.zeros(d)
    for _ in range(d + 2):
        x = acceleration.propose(x, contraction @ (x - target) + target - x)
    np.testing.assert_allclose(x, target, rtol=1e-7, atol=1e-9)


def test_a_repeated_point_is_accepted() -> None:
    acceleration, x, step = AndersonAcceleration(memory=3), np.ones(2), np.array([0.5, 0.0])
    for _ in range(4):
        np.testing.assert_allclose(acceleration.propose(x, step), x + step)
