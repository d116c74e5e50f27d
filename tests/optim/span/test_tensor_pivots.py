"""Columns of a kernel matrix from randomly chosen pivots."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import RBF
from mercer.kernels.tensors import TensorGram
from mercer.optim.span._tensor_curvature import pivoted_factor

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(80, 3))
KERNEL, T = RBF(gamma=0.5), torch.as_tensor(X)


def test_pivots_leave_little_and_never_too_much():
    K = KERNEL(X)
    L = pivoted_factor(TensorGram(KERNEL, T), 1e-3).numpy()
    assert -1e-9 <= np.trace(K - L @ L.T) <= 1e-4 * 80 + 1e-9
    assert np.linalg.eigvalsh(K - L @ L.T).min() > -1e-9
    few = pivoted_factor(TensorGram(KERNEL, torch.cat([T[:4]] * 5)), 1e-12)
    assert few.shape[1] <= 20


def test_no_pivots_are_drawn_from_rounding_errors():
    """Twenty rows, three times each: twenty pivots explain them all, and more are not drawn for any alpha."""
    L = pivoted_factor(TensorGram(KERNEL, torch.cat([T[:20]] * 3)), 1e-25, block=1).numpy()
    assert L.shape[1] == 20
    np.testing.assert_allclose(L @ L.T, np.tile(KERNEL(X[:20]), (3, 3)), atol=1e-12)
