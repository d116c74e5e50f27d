"""Losses on tensors agree with the compiled loops to all digits."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._gpu import losses
from mercer.families import loss_loops as compiled
from mercer.families.response import SoftmaxResponse

torch = pytest.importorskip("torch")

LOSSES = [
    compiled.GaussianIdentity(),
    compiled.BernoulliLogit(),
    compiled.PoissonLog(),
    compiled.GammaLog(),
    compiled.NegativeBinomialLog(1.7, float(np.log(1.7))),
    compiled.TweedieLog.of(1.5),
]


def responses(loss, rng):
    if isinstance(loss, compiled.BernoulliLogit):
        return (rng.random(400) < 0.4).astype(float)
    if isinstance(loss, compiled.GammaLog):
        return rng.gamma(2.0, size=400)
    return rng.poisson(2.0, size=400).astype(float)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("size", [0.01, 1.0, 20.0])
def test_losses_agree_with_the_compiled_loops(loss, size):
    rng = np.random.default_rng(0)
    y, eta, weight = responses(loss, rng), size * rng.normal(size=400), rng.random(400)
    first, second = np.empty(400), np.empty(400)
    total = compiled.slopes(loss, y, eta, weight, first, second)
    found = losses.slopes(loss, *(torch.as_tensor(part) for part in (y, eta, weight)))
    assert found.loss == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(found.first.numpy(), first, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(found.second.numpy(), second, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_slopes_agree_with_finite_differences(loss):
    rng = np.random.default_rng(1)
    y, eta = (torch.as_tensor(part) for part in (responses(loss, rng), rng.normal(size=400)))
    step = 1e-6
    difference = (losses.rows(loss, y, eta + step)[0] - losses.rows(loss, y, eta - step)[0]) / (2 * step)
    assert torch.allclose(losses.rows(loss, y, eta)[1], difference, rtol=1e-6, atol=1e-8)


def test_a_fit_that_is_nearly_perfect_keeps_its_digits():
    y = torch.tensor([1e6, 3.0, 0.5], dtype=torch.float64)
    off = 1e-7
    value = losses.rows(compiled.PoissonLog(), y, y.log() + off)[0]
    assert torch.allclose(value, y * off * off / 2, rtol=1e-6)


def test_a_row_of_weight_zero_has_no_effect_and_one_without_a_mean_has_infinite_loss():
    y, eta = torch.tensor([1.0, 2.0]).double(), torch.tensor([0.5, 800.0]).double()
    spoilt = losses.slopes(compiled.PoissonLog(), y, eta)
    assert spoilt.loss == np.inf
    assert spoilt.first[1] == 0
    weightless = losses.slopes(compiled.PoissonLog(), y, eta, torch.tensor([1.0, 0.0]).double())
    assert np.isfinite(weightless.loss)
    assert np.isnan(losses.slopes(compiled.PoissonLog(), y, torch.tensor([0.5, np.nan]).double()).loss)


@pytest.mark.parametrize("reference", [None, 0, 2])
def test_softmax_agrees_with_arrays(reference):
    rng = np.random.default_rng(2)
    response = SoftmaxResponse(4, reference)
    codes, weight = rng.integers(0, 4, 100), rng.random(100)
    eta = 10 * rng.normal(size=(100, response.columns))
    loss, slopes = response.slopes(codes, eta.copy(), weight)
    found, on_tensors = response.slopes(*(torch.as_tensor(part) for part in (codes, eta, weight)))
    assert found == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(on_tensors.numpy(), slopes, rtol=1e-9, atol=1e-16)
    probabilities = response.probabilities(torch.as_tensor(eta)).numpy()
    np.testing.assert_allclose(probabilities, response.probabilities(eta), rtol=1e-12)
