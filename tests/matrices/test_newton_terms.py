"""Compiled loops that read each row once: the same terms as by products of tiles, which are the default."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.families import IDENTITY, LOG, LOGIT, PROBIT, Bernoulli, Gamma, Gaussian, Poisson
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import DenseMatrix, Matrix
from mercer.matrices.newton_terms import GRADIENT, HESSIAN, LOSS, NewtonTerms

RESPONSES = {
    "gaussian": Response(Gaussian(), IDENTITY),
    "logistic": Response(Bernoulli(), LOGIT),
    "poisson": Response(Poisson(), LOG),
    "gamma": Response(Gamma(), LOG),
}


class WithoutTiles(DenseMatrix):
    """A matrix that raises an error if it is read by tiles."""

    def tiles(self) -> Any:
        raise AssertionError("read by tiles")


def assert_alike(found: NewtonTerms, expected: NewtonTerms, n: int) -> None:
    assert found.loss == pytest.approx(expected.loss, rel=1e-11)
    for mine, other in zip(found[1:], expected[1:], strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9 * n)


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
    given = RESPONSES[name], rng.normal(size=d + intercept) / 4, y, weight, offset
    matrix = DenseMatrix.of(X, intercept=intercept)
    found = WithoutTiles(X, matrix.coordinates).newton_terms(*given, order=order)
    assert_alike(found, Matrix.newton_terms(matrix, *given, order=order), n)
    by_columns = DenseMatrix(np.asfortranarray(X), matrix.coordinates)
    assert_alike(found, by_columns.newton_terms(*given, order=order), n)


@pytest.mark.parametrize("reference", [None, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_pass_agrees_with_the_sum_over_tiles_for_several_classes(weighted: bool, reference: int | None) -> None:
    rng = np.random.default_rng(0)
    X, y, response = (
        rng.normal(size=(90, 3)) + 1,
        rng.integers(0, 4, 90).astype(np.int32),
        SoftmaxResponse(4, reference),
    )
    given = response, rng.normal(size=(4, response.columns)), y, rng.uniform(size=90) if weighted else None
    matrix = DenseMatrix.of(X)
    found = WithoutTiles(X, matrix.coordinates).newton_terms(*given, order=GRADIENT)
    assert_alike(found, Matrix.newton_terms(matrix, *given, order=GRADIENT), 90)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_from_zero_the_hessian_keeps_its_digits(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 3)) + (1e8 if dtype == np.float64 else 1e3)).astype(dtype)
    matrix = DenseMatrix.of(X)
    hessian = matrix.newton_terms(RESPONSES["gaussian"], np.zeros(4), np.ones(500)).hessian
    assert hessian is not None
    centred = (X.astype(float) - matrix.coordinates.shift) / matrix.coordinates.scale
    np.testing.assert_allclose(hessian[:3, :3], centred.T @ centred, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("case", ["a value that is not finite", "a link without a loop", "only the loss"])
def test_what_loops_cannot_compute_is_left_to_the_tiles(case: str) -> None:
    X, link, order = np.random.default_rng(0).normal(size=(50, 3)), LOGIT, GRADIENT
    if case == "a value that is not finite":
        X[4, 1] = np.nan
    elif case == "a link without a loop":
        link = PROBIT
    else:
        order = LOSS
    matrix, given = DenseMatrix.of(X), (Response(Bernoulli(), link), np.ones(4), np.ones(50))
    with pytest.raises(AssertionError, match="read by tiles"):
        WithoutTiles(X, matrix.coordinates).newton_terms(*given, order=order)
    terms = matrix.newton_terms(*given, order=order)
    assert (terms.gradient is None) == (order == LOSS)
    assert np.isfinite(terms.loss if terms.gradient is None else terms.gradient).all() == np.isfinite(X).all()
