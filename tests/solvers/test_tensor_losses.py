"""Losses of tensors are those of arrays, and their slopes are derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.families import IDENTITY, LOG, LOGIT, Bernoulli, Gaussian, Poisson
from mercer.families.response import Response
from mercer.solvers._kernel_losses import OfResponse
from mercer.solvers._tensor_losses import OnDevice, SoftmaxTensors

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
N = 12
ETA = RNG.normal(size=(N, 2))
RESPONSES = [Response(Gaussian(), IDENTITY), Response(Bernoulli(), LOGIT), Response(Poisson(), LOG)]


@pytest.mark.parametrize("response", RESPONSES, ids=lambda response: type(response.family).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_values_slopes_and_curvature(response, weighted):
    y = RNG.integers(0, 2, size=(N, 2)).astype(float)
    weight, offset = (RNG.uniform(0, 2, N), RNG.normal(size=N)) if weighted else (None, None)
    arrays = OfResponse(response, y, weight, offset)
    tensors = OnDevice.beside(arrays, torch.zeros(1))
    eta = torch.as_tensor(ETA)
    assert tensors.value(eta) == pytest.approx(arrays.value(ETA), rel=1e-12)
    (first, bend), (of_arrays, bend_of_arrays) = tensors.slopes(eta), arrays.slopes(ETA)
    np.testing.assert_allclose(first.numpy(), of_arrays, atol=1e-12)
    V = RNG.normal(size=(N, 2))
    np.testing.assert_allclose(bend.times(torch.as_tensor(V)).numpy(), bend_of_arrays.times(V), atol=1e-12)
    step = 1e-6 * torch.as_tensor(V)
    slope = (tensors.value(eta + step) - tensors.value(eta - step)) / 2e-6
    assert slope == pytest.approx(float((first * torch.as_tensor(V)).sum()), rel=1e-6, abs=1e-7)
    few = tensors.part(np.array([0, 3]))
    assert few.value(eta[[0, 3]]) == pytest.approx(arrays.part(np.array([0, 3])).value(ETA[[0, 3]]))


def test_the_curvature_of_a_softmax_is_the_derivative_of_its_slopes():
    p = torch.softmax(torch.as_tensor(ETA), dim=1)
    V, weight = torch.as_tensor(RNG.normal(size=(N, 2))), torch.as_tensor(RNG.uniform(0, 2, N))
    moved = (
        torch.softmax(torch.as_tensor(ETA) + 1e-6 * V, 1) - torch.softmax(torch.as_tensor(ETA) - 1e-6 * V, 1)
    ) / 2e-6
    torch.testing.assert_close(SoftmaxTensors(p, weight).times(V), weight[:, None] * moved, atol=1e-8, rtol=0)
