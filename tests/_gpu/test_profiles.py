"""Kernel profiles of tensors agree with those of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._gpu.profiles import ENDING, FORMULAS, TensorProfile
from mercer.density import smoothing_kernel_from
from mercer.kernels import RBF, Matern, RationalQuadratic
from mercer.kernels.tensors import get_profile

torch = pytest.importorskip("torch")
R = np.linspace(0, 3, 61)


@pytest.mark.parametrize("name", [*ENDING, "gaussian", "exponential"])
def test_smoothing_kernels(name):
    profile = TensorProfile(name, 0.5 if name == "gaussian" else 1.0)
    expected = smoothing_kernel_from(name).profile(R)
    np.testing.assert_allclose(profile.of(torch.as_tensor(R**2)).numpy(), expected, atol=1e-15)


@pytest.mark.parametrize(
    "kernel", [RBF(gamma=0.3), Matern(nu=0.5), Matern(2.0, 1.5), Matern(nu=2.5), RationalQuadratic(0.7, 1.3)], ids=repr
)
def test_kernels_of_the_distance(kernel):
    profile = get_profile(kernel, 1)
    expected = kernel(np.zeros((1, 1)), R[:, None])[0]
    np.testing.assert_allclose(profile.of(torch.as_tensor(R**2)).numpy(), expected, rtol=1e-13)


@pytest.mark.parametrize("name", FORMULAS)
def test_logarithms(name):
    profile, s = TensorProfile(name, 0.8, 1.2), torch.linspace(0.01, 0.9, 9, dtype=torch.float64)
    np.testing.assert_allclose(profile.log(s.clone()).numpy(), profile.of(s.clone()).log().numpy(), atol=1e-13)


@pytest.mark.parametrize("name", ["gaussian", "exponential"])
def test_logarithms_do_not_underflow(name):
    assert float(TensorProfile(name).log(torch.tensor([1e8]))) < -1e3
