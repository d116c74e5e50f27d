"""The part of the rows in the duality gap, for each loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.families.response import Slopes
from mercer.matrices import DenseMatrix, Observations
from mercer.optim.proximal_newton import ProximalLosses
from tests.optim._proximal_cases import RESPONSES, drawn


@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson", "gamma", "negative binomial"])
@given(share=st.floats(0, 1), seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_the_row_part_of_the_gap_is_a_bregman_divergence(response: str, share: float, seed: int) -> None:
    """Return f(η) − f(η') − f'(η')(η − η') for f'(η') = s f'(η), by bisection."""
    how, rng = RESPONSES[response], np.random.default_rng(seed)
    eta = rng.normal(size=1)
    y = drawn(how, rng.normal(size=1), rng) + (0.1 if response == "gamma" else 0.0)

    def at(z: float) -> Slopes:
        return how.slopes(y, np.array([z]))

    wanted = share * at(eta[0]).first[0]
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).first[0] < wanted else (low, middle)
    terms = at((low + high) / 2)
    divergence = at(eta[0]).loss - terms.loss - wanted * (eta[0] - (low + high) / 2)
    losses = ProximalLosses(Observations(DenseMatrix.of(np.zeros((1, 1))), y), how)
    if abs(low) < 59:  # a share of 0 has no finite η where the response is at the edge
        assert losses.dual_part(eta)(share) == pytest.approx(divergence, abs=1e-7)
