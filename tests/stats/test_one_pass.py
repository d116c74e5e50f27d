"""Loss and gradient by the compiled loop that reads each row once: the same as by products of tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.designs import DenseDesign
from mercer.families import IDENTITY, LOG, LOGIT, PROBIT, Bernoulli, Gamma, Gaussian, Poisson
from mercer.families.response import Response
from mercer.stats.quadratic import GRADIENT, Quadratic

RESPONSES = {
    "gaussian": Response(Gaussian(), IDENTITY),
    "logistic": Response(Bernoulli(), LOGIT),
    "poisson": Response(Poisson(), LOG),
    "gamma": Response(Gamma(), LOG),
}


def both_ways(name: str, X: Any, y: Any, weight: Any, w: Any, *, intercept: bool) -> tuple[Quadratic, Quadratic]:
    """Data stored by columns go by tiles."""
    zero = Quadratic.at(RESPONSES[name], w, GRADIENT)
    by_rows, by_columns = (
        DenseDesign.of(X, intercept=intercept),
        DenseDesign.of(np.asfortranarray(X), intercept=intercept),
    )
    once = zero._in_one_pass(by_rows, y, weight)
    assert once is not None
    assert zero._in_one_pass(by_columns, y, weight) is None
    return once, zero.update(by_columns, y, weight)


@pytest.mark.parametrize("name", RESPONSES)
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32), n=st.integers(9, 300), d=st.integers(2, 9), weighted=st.booleans())
def test_it_is_the_sum_over_tiles(name: str, seed: int, n: int, d: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    y = rng.integers(0, 2, n) + (0.5 if name == "gamma" else 0.0)
    weight, intercept = rng.uniform(size=n) if weighted else None, bool(rng.integers(2))
    w = rng.normal(size=d + intercept) / 4
    once, tiles = both_ways(name, X, y, weight, w, intercept=intercept)
    assert once.loss == pytest.approx(tiles.loss, rel=1e-11)
    np.testing.assert_allclose(once.gradient, tiles.gradient, rtol=1e-9, atol=1e-9 * n)


def test_a_value_that_is_not_finite_is_left_to_the_tiles() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[4, 1] = np.nan
    design, y = DenseDesign.of(X), np.ones(50)
    zero = Quadratic.at(RESPONSES["logistic"], np.ones(4), GRADIENT)
    assert zero._in_one_pass(design, y, None) is None
    assert not np.isfinite(zero.update(design, y).gradient).all()


def test_a_link_without_a_loop_goes_by_tiles() -> None:
    design = DenseDesign.of(np.random.default_rng(0).normal(size=(50, 3)))
    zero = Quadratic.at(Response(Bernoulli(), PROBIT), np.ones(4), GRADIENT)
    assert zero._in_one_pass(design, np.ones(50), None) is None
    assert np.isfinite(zero.update(design, np.ones(50)).gradient).all()
