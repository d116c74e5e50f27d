"""Steps by the compiled loops that read each row once: the same as by products of tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.families import IDENTITY, LOG, LOGIT, PROBIT, Bernoulli, Gamma, Gaussian, Poisson
from mercer.families.response import Response
from mercer.matrices import DenseMatrix
from mercer.stats.quadratic import GRADIENT, HESSIAN, QuadraticExpansion

RESPONSES = {
    "gaussian": Response(Gaussian(), IDENTITY),
    "logistic": Response(Bernoulli(), LOGIT),
    "poisson": Response(Poisson(), LOG),
    "gamma": Response(Gamma(), LOG),
}


def both_ways(
    zero: QuadraticExpansion, X: Any, rows: tuple[Any, Any, Any], *, intercept: bool
) -> tuple[QuadraticExpansion, QuadraticExpansion]:
    """Data stored by columns go by tiles."""
    by_rows, by_columns = (
        DenseMatrix.of(X, intercept=intercept),
        DenseMatrix.of(np.asfortranarray(X), intercept=intercept),
    )
    once = zero._in_one_pass(by_rows, *rows)
    assert once is not None
    assert zero._in_one_pass(by_columns, *rows) is None
    return once, zero.update(by_columns, *rows)


@pytest.mark.parametrize("order", [GRADIENT, HESSIAN])
@pytest.mark.parametrize("name", RESPONSES)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), n=st.integers(9, 300), d=st.integers(2, 25), weighted=st.booleans())
def test_one_pass_agrees_with_the_sum_over_tiles(
    name: str, order: int, seed: int, n: int, d: int, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    y = rng.integers(0, 2, n) + (0.5 if name == "gamma" else 0.0)
    weight, intercept = rng.uniform(size=n) if weighted else None, bool(rng.integers(2))
    offset = rng.normal(size=n) if order == HESSIAN and weighted else None
    zero = QuadraticExpansion.at(RESPONSES[name], rng.normal(size=d + intercept) / 4, order)
    once, tiles = both_ways(zero, X, (y, weight, offset), intercept=intercept)
    assert once.loss == pytest.approx(tiles.loss, rel=1e-11)
    np.testing.assert_allclose(once.gradient, tiles.gradient, rtol=1e-9, atol=1e-9 * n)
    np.testing.assert_allclose(once.hessian, tiles.hessian, rtol=1e-9, atol=1e-9 * n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_from_zero_the_hessian_keeps_its_digits(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 3)) + (1e8 if dtype == np.float64 else 1e3)).astype(dtype)
    zero = QuadraticExpansion.at(RESPONSES["gaussian"], np.zeros(4), HESSIAN)
    design = DenseMatrix.of(X)
    once = zero.update(design, np.ones(500))
    centred = (X.astype(float) - design.coordinates.shift) / design.coordinates.scale
    np.testing.assert_allclose(once.hessian[:3, :3], centred.T @ centred, rtol=1e-12, atol=1e-10)


def test_a_value_that_is_not_finite_is_left_to_the_tiles() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[4, 1] = np.nan
    design, y = DenseMatrix.of(X), np.ones(50)
    zero = QuadraticExpansion.at(RESPONSES["logistic"], np.ones(4), GRADIENT)
    assert zero._in_one_pass(design, y, None, None) is None
    assert not np.isfinite(zero.update(design, y).gradient).all()


def test_a_link_without_a_loop_uses_tiles() -> None:
    design = DenseMatrix.of(np.random.default_rng(0).normal(size=(50, 3)))
    zero = QuadraticExpansion.at(Response(Bernoulli(), PROBIT), np.ones(4), GRADIENT)
    assert zero._in_one_pass(design, np.ones(50), None, None) is None
    assert np.isfinite(zero.update(design, np.ones(50)).gradient).all()
