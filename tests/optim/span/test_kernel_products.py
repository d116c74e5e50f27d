"""Products with K and preconditioners: exact where claimed, and self-adjoint in the inner product of the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer._errors import KernelError, TooLargeError
from mercer.kernels import RBF, Gram, Linear
from mercer.optim.span._factors import FactorPreconditioner
from mercer.optim.span.losses import DiagonalCurvature, LossCurvature, SoftmaxCurvature
from mercer.optim.span.products import StoredMatrix, TiledMatrix, make_products

N, LAMBDA = 40, 0.3
X = np.random.default_rng(0).normal(size=(N, 3))
GRAM = Gram(RBF(gamma=0.4), X)
K = GRAM.matrix()


def bends() -> dict[str, LossCurvature]:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), size=N)
    return {
        "one": DiagonalCurvature(rng.uniform(0.1, 2, size=(N, 1))),
        "classes": SoftmaxCurvature(p, rng.uniform(0.5, 2, size=N), symmetric=True),
        "reference": SoftmaxCurvature(p[:, 1:], None, symmetric=False),
    }


BENDS = bends()
EACH = pytest.mark.parametrize("name", BENDS)
INTERCEPT = pytest.mark.parametrize("intercept", [True, False])


def hessian(bend: LossCurvature, V: Any, *, intercept: bool) -> Any:
    KV = K @ V
    if intercept:
        KV = KV - bend.level(bend.matvec(KV).sum(axis=0))
    return LAMBDA * V + bend.matvec(KV)


def vectors(name: str, seed: int) -> Any:
    outputs = {"one": 1, "classes": 3, "reference": 2}[name]
    V = np.random.default_rng(seed).normal(size=(N, outputs))
    return V - V.mean(axis=1, keepdims=True) if name == "classes" else V


@EACH
@INTERCEPT
def test_factors_give_the_inverse(name: str, intercept: bool) -> None:
    bend, V = BENDS[name], vectors(name, 2)
    P = StoredMatrix(K).preconditioner(bend, LAMBDA, intercept=intercept, better=True)
    np.testing.assert_allclose(P.matvec(hessian(bend, V, intercept=intercept)), V, atol=1e-9)


@EACH
@INTERCEPT
@pytest.mark.parametrize("pivots", [5, N])
def test_a_low_rank_factor_is_self_adjoint_and_with_all_pivots_the_inverse(
    name: str, intercept: bool, pivots: int
) -> None:
    bend, U, V = BENDS[name], vectors(name, 2), vectors(name, 3)
    P = TiledMatrix(GRAM, most_pivots=pivots, least_left=0.0).preconditioner(bend, LAMBDA, intercept=intercept)
    np.testing.assert_allclose(np.vdot(P.matvec(U), K @ V), np.vdot(K @ U, P.matvec(V)), rtol=1e-9)
    assert np.vdot(P.matvec(U), K @ U) > 0
    if pivots == N and name == "one":
        np.testing.assert_allclose(P.matvec(hessian(bend, V, intercept=intercept)), V, atol=1e-7)


def test_a_factor_in_single_precision_is_nearly_as_good() -> None:
    bend, V = BENDS["one"], vectors("one", 2)
    P = FactorPreconditioner(K, bend.typical, LAMBDA, intercept=True, single_rows=1)
    error = np.abs(P.matvec(hessian(bend, V, intercept=True)) - V).max()
    assert 1e-9 < error < 1e-4  # single precision was used


def test_rows_without_curvature_are_accepted() -> None:
    h = np.ones((N, 1))
    h[::3] = 0.0
    P = StoredMatrix(K).preconditioner(DiagonalCurvature(h), LAMBDA, intercept=False)
    V = vectors("one", 2)
    np.testing.assert_allclose(P.matvec(LAMBDA * V + h * (K @ V)), V, atol=1e-6)


def test_a_penalty_below_rounding_still_gives_a_factor() -> None:
    low = Gram(Linear(), X).matrix()
    P = StoredMatrix(low).preconditioner(BENDS["one"], 1e-18, intercept=True)
    assert np.isfinite(P.matvec(vectors("one", 2))).all()


def test_an_indefinite_matrix_is_rejected() -> None:
    with pytest.raises(KernelError, match="not positive definite"):
        StoredMatrix(-K).preconditioner(BENDS["one"], 1e-3, intercept=False)


def test_values_that_are_not_finite_are_rejected() -> None:
    with pytest.raises(KernelError, match="not finite"):
        StoredMatrix(np.full((2, 2), np.inf))


def test_tiles_and_stored_matrices_have_the_same_products() -> None:
    V = vectors("classes", 5)
    np.testing.assert_allclose(
        make_products(GRAM, in_memory=True).matvec(V), make_products(GRAM, in_memory=False).matvec(V), rtol=1e-12
    )


def test_a_matrix_that_does_not_fit_in_memory_is_computed_by_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(make_products(GRAM), StoredMatrix)
    monkeypatch.setattr("mercer.optim.span.products.available_bytes", lambda: 1000)
    assert isinstance(make_products(GRAM), TiledMatrix)
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 1000)
    with pytest.raises(TooLargeError, match="newton-cg"):
        make_products(GRAM, in_memory=True)
