"""Losses of tensors are those of arrays, and their slopes are derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.families import IDENTITY, LOG, LOGIT, Bernoulli, Gaussian, Poisson
from mercer.families.response import Response, SoftmaxResponse
from mercer.optim.span.losses import ClassRowLosses, ResponseLosses
from mercer.optim.span.tensor_losses import DiagonalTensorCurvature, SoftmaxTensorCurvature, TensorRowLosses

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
N = 12
ETA = RNG.normal(size=(N, 2))
RESPONSES = [Response(Gaussian(), IDENTITY), Response(Bernoulli(), LOGIT), Response(Poisson(), LOG)]


@pytest.mark.parametrize("response", RESPONSES, ids=lambda response: type(response.family).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_values_slopes_and_curvature_agree_with_arrays(response, weighted):
    y = RNG.integers(0, 2, size=(N, 2)).astype(float)
    weight, offset = (RNG.uniform(0, 2, N), RNG.normal(size=N)) if weighted else (None, None)
    arrays = ResponseLosses(response, y, weight, offset)
    tensors = TensorRowLosses.on_device_of(arrays, torch.zeros(1))
    eta = torch.as_tensor(ETA)
    assert tensors.value(eta) == pytest.approx(arrays.value(ETA), rel=1e-12)
    (first, bend), (of_arrays, bend_of_arrays) = tensors.slopes(eta), arrays.slopes(ETA)
    np.testing.assert_allclose(first.numpy(), of_arrays, atol=1e-12)
    V = RNG.normal(size=(N, 2))
    np.testing.assert_allclose(bend.matvec(torch.as_tensor(V)).numpy(), bend_of_arrays.matvec(V), atol=1e-12)
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
    torch.testing.assert_close(SoftmaxTensorCurvature(p, weight).matvec(V), weight[:, None] * moved, atol=1e-8, rtol=0)


@pytest.mark.parametrize("reference", [None, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_classes_agree_with_arrays(reference, weighted):
    response = SoftmaxResponse(3, reference)
    codes, eta = RNG.integers(0, 3, N), RNG.normal(size=(N, response.columns))
    arrays = ClassRowLosses(response, codes, RNG.uniform(0, 2, N) if weighted else None)
    tensors, eta_tensor = TensorRowLosses.on_device_of(arrays, torch.zeros(1)), torch.as_tensor(eta)
    assert (tensors.outputs, tensors.quadratic) == (arrays.outputs, arrays.quadratic)
    assert tensors.unit(2.0) == arrays.unit(2.0)
    np.testing.assert_array_equal(tensors.start(), arrays.start())
    assert tensors.value(eta_tensor) == pytest.approx(arrays.value(eta), rel=1e-12)
    (first, bend), (of_arrays, bend_of_arrays) = tensors.slopes(eta_tensor.clone()), arrays.slopes(eta)
    np.testing.assert_allclose(first.numpy(), of_arrays, atol=1e-12)
    V = RNG.normal(size=eta.shape)
    np.testing.assert_allclose(bend.matvec(torch.as_tensor(V)).numpy(), bend_of_arrays.matvec(V), atol=1e-12)
    np.testing.assert_allclose(bend.typical.numpy(), bend_of_arrays.typical, atol=1e-12)
    rows = slice(2, 7)
    torch.testing.assert_close(bend.part(rows).matvec(torch.as_tensor(V[rows])), bend.matvec(torch.as_tensor(V))[rows])
    assert tensors.part(slice(None)) is tensors
    assert tensors.part(rows).value(eta_tensor[rows]) == pytest.approx(arrays.part(np.arange(2, 7)).value(eta[rows]))


def test_a_part_of_a_curvature_agrees_with_its_rows():
    bend = DiagonalTensorCurvature(torch.as_tensor(RNG.random((N, 2))))
    V = torch.as_tensor(RNG.normal(size=(N, 2)))
    torch.testing.assert_close(bend.part(slice(3, 5)).matvec(V[3:5]), bend.matvec(V)[3:5])
