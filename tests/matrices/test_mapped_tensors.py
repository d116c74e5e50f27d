"""Mapped rows of tensors: products agree with explicit features."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import RBF
from mercer.matrices.mapped_tensors import LANDMARK_JITTER, FeatureTensors, LandmarkTensors, landmark_factor
from mercer.optim.span.tensor_losses import DiagonalTensorCurvature

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
KERNEL = RBF(gamma=0.5)
T = torch.as_tensor(X)


def matrix_of(kind, rows=T, **options):
    landmarks = rows[:15]
    if kind == "fourier":
        map = FourierMap.draw(KERNEL.spectrum(3), 20, np.random.default_rng(0))
        return FeatureTensors(rows, True, map, map.n_features)
    back = NystroemMap.of(KERNEL, landmarks.double().numpy()).back if kind == "eigenvalues" else None
    return LandmarkTensors.of(KERNEL, rows, landmarks, back, intercept=True, **options)


@pytest.mark.parametrize("kind", ["fourier", "eigenvalues", "triangle", "kernels"])
def test_products_agree_with_explicit_features(kind):
    design = matrix_of(kind, **({"max_factored": 0} if kind == "kernels" else {}))
    Z = np.column_stack([design.rows(slice(None)).numpy(), np.ones(len(X))])
    w, h = RNG.normal(size=(design.n_columns, 2)), RNG.uniform(size=(len(X), 2))
    np.testing.assert_allclose(design.matvec(w).numpy(), Z @ w, atol=1e-9)
    np.testing.assert_allclose(design.rmatvec(torch.as_tensor(h)), Z.T @ h, atol=1e-9)
    curved = design.curved(DiagonalTensorCurvature(torch.as_tensor(h)), w)
    np.testing.assert_allclose(curved, Z.T @ (h * (Z @ w)), atol=1e-7)
    np.testing.assert_allclose(design.take(np.array([3, 1])).matvec(w).numpy(), (Z @ w)[[3, 1]], atol=1e-9)
    metric = design.metric_matrix().numpy()
    np.testing.assert_allclose(design.metric(w)[:-1], metric @ w[:-1], atol=1e-9)
    assert not design.metric(w)[-1].any()
    if kind != "fourier":  # the penalty is the norm of the function
        c = design.landmark_coefficients(w[:-1])
        K = KERNEL(X[:15])
        np.testing.assert_allclose(np.sum(c * (K @ c)), np.sum(w[:-1] * (metric @ w[:-1])), rtol=1e-8)


def test_float32_with_jitter():
    design = matrix_of("kernels", T.float(), double=False)
    assert design.is_single
    assert design.jitter > 0
    assert design.back is None
    largest = np.linalg.eigvalsh(KERNEL(X[:15])).max()
    assert design.jitter == pytest.approx(LANDMARK_JITTER * largest, rel=0.2)
    w = RNG.normal(size=(design.n_columns, 1))
    Z = np.column_stack([KERNEL(X, X[:15]), np.ones(len(X))])
    np.testing.assert_allclose(design.matvec(w).numpy(), Z @ w, atol=1e-5)
    assert not matrix_of("kernels", T).is_single


def test_a_factor_of_duplicate_landmarks():
    L = landmark_factor(KERNEL, torch.cat([T[:10], T[:10]])).numpy()
    np.testing.assert_allclose(L @ L.T, np.tile(KERNEL(X[:10]), (2, 2)), atol=1e-10)
