"""Kernels by name, and the parameters scikit-learn's models have for them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from mercer import kernels as k
from mercer._errors import KernelError
from mercer.kernels import kernel_from

X = np.abs(np.random.default_rng(0).normal(size=(7, 3)))


@pytest.mark.parametrize("name", PAIRWISE_KERNEL_FUNCTIONS)
def test_every_name_of_scikit_learn_is_known(name: str) -> None:
    params = {"gamma": None, "degree": 3, "coef0": 1}
    theirs = {} if name == "chi2" else params
    expected = pairwise_kernels(X, metric=name, filter_params=True, **theirs)
    np.testing.assert_allclose(kernel_from(name, **params)(X), expected, rtol=1e-12, atol=1e-14)
    params = {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    expected = pairwise_kernels(X, metric=name, filter_params=True, **params)
    np.testing.assert_allclose(kernel_from(name, **params)(X), expected, rtol=1e-12, atol=1e-14)


def test_kernels_and_functions_are_used_unchanged() -> None:
    assert kernel_from(k.RBF(gamma=1)) == k.RBF(gamma=1)
    assert kernel_from(k.RBF(gamma=1), gamma=2) == k.RBF(gamma=2)
    assert kernel_from(np.dot) == k.FromFunction(np.dot)
    assert kernel_from("matern", nu=0.5) == k.Matern(nu=0.5)


def test_an_unknown_name_is_rejected() -> None:
    with pytest.raises(KernelError, match="Did you mean 'laplacian'"):
        kernel_from("laplacien")
    with pytest.raises(KernelError, match="Did you mean 'gamma'"):
        kernel_from("rbf", gama=1)
    with pytest.raises(KernelError, match="3 is not a kernel"):
        kernel_from(3)
