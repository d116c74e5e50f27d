"""Preconditioners on tensors: approximate inverses of the Hessian."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import NotPositiveDefiniteError
from mercer.kernels import RBF
from mercer.matrices.mapped_tensors import LandmarkTensors
from mercer.optim.span._tensor_curvature import TensorInverse, cholesky, square_of_triangle
from mercer.optim.span.mapped_curvature import sampled_inverse
from mercer.optim.span.tensor_losses import DiagonalTensorCurvature

torch = pytest.importorskip("torch")

X = torch.as_tensor(np.random.default_rng(0).normal(size=(60, 3)))
STRENGTHS = np.array([0.5, 3.0])


BEND = DiagonalTensorCurvature(torch.full((60, 2), 0.7, dtype=torch.float64))


def hessians(design):
    eye = np.eye(design.n_columns)
    product = design.curved(DiagonalTensorCurvature(torch.tensor(0.7)), eye)
    return [product + strength * design.metric(eye) for strength in STRENGTHS]


def test_the_preconditioner_of_all_rows_is_the_inverse():
    design = LandmarkTensors.of(RBF(gamma=0.5), X, X[:20], None, intercept=True)
    inverse, exact = sampled_inverse(design, np.arange(60), BEND, STRENGTHS), hessians(design)
    assert isinstance(inverse, TensorInverse)
    R = np.random.default_rng(1).normal(size=(21, 2))
    for k, H in enumerate(exact):
        np.testing.assert_allclose(inverse.matvec(R)[:, k], np.linalg.solve(H, R[:, k]), rtol=1e-7, atol=1e-9)
    swapped = inverse.with_penalties(STRENGTHS[::-1].copy())
    np.testing.assert_allclose(swapped.matvec(R)[:, 0], np.linalg.solve(exact[1], R[:, 0]), rtol=1e-7, atol=1e-9)
    assert 1 < inverse.used_degrees() < 21


def test_with_all_rows_as_landmarks_falkon_is_the_inverse_except_for_the_intercept():
    design = LandmarkTensors(X, True, RBF(gamma=0.5), X)
    inverse, H = TensorInverse(design, np.arange(60), BEND, STRENGTHS, max_sampled=0), hessians(design)[0][:60, :60]
    R = np.zeros((61, 2))
    R[:60] = H @ np.random.default_rng(1).normal(size=(60, 2))
    np.testing.assert_allclose(H @ inverse.matvec(R)[:60, 0], R[:60, 0], rtol=0, atol=1e-6 * np.abs(R).max())
    assert np.isnan(inverse.used_degrees())  # landmarks alone do not determine them


@pytest.mark.parametrize("block", [7, 20, 100])
def test_squares_of_triangles(block):
    T = torch.tril(torch.randn(20, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    torch.testing.assert_close(square_of_triangle(T, block=block).tril(), (T.T @ T).tril())


def test_factors_of_singular_and_empty_matrices():
    one = torch.ones(5, 5, dtype=torch.float64)
    L = cholesky(one.clone())
    torch.testing.assert_close(L @ L.T, one, atol=1e-10, rtol=0)
    for matrix in (-torch.eye(3), torch.full((3, 3), torch.nan)):
        with pytest.raises(NotPositiveDefiniteError, match="has no factor"):
            cholesky(matrix)
