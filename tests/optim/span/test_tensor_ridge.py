"""Exact kernel ridge regression of tensors, by a factor and by steps."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import DeviceMemoryError
from mercer.kernels import RBF
from mercer.kernels.tensors import TensorGram
from mercer.optim.span import tensor_ridge
from tests._ctrl_c import interrupt

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 3)), RNG.normal(size=(80, 2))
ALPHA, WEIGHT = np.array([0.5, 2.0]), RNG.uniform(0.1, 3, 80)
KERNEL, T = RBF(gamma=0.5), torch.as_tensor(X)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("rows", [0, 1000])
def test_coefficients_solve_the_equations(weight, rows):
    found = tensor_ridge.kernel_ridge(KERNEL, T, Y, weight, ALPHA, max_factored_rows=rows)
    w = np.ones(80) if weight is None else weight
    for k, alpha in enumerate(ALPHA):
        expected = np.linalg.solve(KERNEL(X) + alpha * np.diag(1 / w), Y[:, k])
        np.testing.assert_allclose(found.coef.coefficients[:, k], expected, atol=1e-7)
    assert found.certificate.holds


def test_steps_are_taken_if_a_factor_does_not_fit_in_memory(monkeypatch):
    def full(gram):
        raise DeviceMemoryError("out of memory")

    monkeypatch.setattr(TensorGram, "matrix", full)
    found = tensor_ridge.kernel_ridge(KERNEL, T, Y, None, ALPHA)
    assert "pivots" in found.coef.path
    assert found.certificate.holds


def test_ctrl_c_keeps_the_coefficients(monkeypatch):
    monkeypatch.setattr("mercer.optim.krylov._ConjugateSearch.run", interrupt)
    caught = tensor_ridge.kernel_ridge(KERNEL, T, Y, None, ALPHA, max_factored_rows=0)
    assert caught.interrupted
    assert caught.coef.coefficients.shape == Y.shape


@pytest.mark.parametrize("alpha", [1e-2, 1e-7])
def test_steps_of_float32_that_are_not_accurate_enough_are_followed_by_float64(alpha):
    """For a small penalty the kernel matrix is needed to more digits than float32 has."""
    options = {"max_factored_rows": 0, "double": False}
    found = tensor_ridge.kernel_ridge(KERNEL, T.float(), Y, None, np.full(2, alpha), **options)
    assert ("float64" in found.coef.path) == (alpha < 1e-5)
    assert found.certificate.holds
    left = (KERNEL(T.float().double().numpy()) + alpha * np.eye(80)) @ found.coef.coefficients - Y
    assert np.linalg.norm(left, axis=0).max() <= 2e-4 * np.linalg.norm(Y, axis=0).max()
