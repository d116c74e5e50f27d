"""Exact kernel ridge regression of tensors, by a factor and by steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mercer._errors import DeviceMemoryError, FitInterrupted
from mercer.kernels import RBF
from mercer.optim.span import tensor_ridge
from tests._ctrl_c import interrupt

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 3)), RNG.normal(size=(80, 2))
ALPHA, WEIGHT = np.array([0.5, 2.0]), RNG.uniform(0.1, 3, 80)
KERNEL, T = RBF(gamma=0.5), torch.as_tensor(X)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("rows", [0, 1000])
def test_coefficients_solve_the_equations(weight, rows, monkeypatch):
    monkeypatch.setattr(tensor_ridge, "ON_CPU", rows)
    found = tensor_ridge.kernel_ridge(KERNEL, T, Y, weight, ALPHA)
    w = np.ones(80) if weight is None else weight
    for k, alpha in enumerate(ALPHA):
        expected = np.linalg.solve(KERNEL(X) + alpha * np.diag(1 / w), Y[:, k])
        np.testing.assert_allclose(found.value.coefficients[:, k], expected, atol=1e-7)
    assert found.certificate.holds


def test_without_room_for_a_factor_steps_are_taken(monkeypatch):
    def full(*_):
        raise DeviceMemoryError("no room")

    monkeypatch.setattr(tensor_ridge, "_solve_by_cholesky", full)
    found = tensor_ridge.kernel_ridge(KERNEL, T, Y, None, ALPHA)
    assert "pivots" in found.value.path
    assert found.certificate.holds


def test_ctrl_c_keeps_what_there_is(monkeypatch):
    monkeypatch.setattr(tensor_ridge, "ON_CPU", 0)
    monkeypatch.setattr("mercer.optim.krylov._ConjugateSearch.run", interrupt)
    with pytest.raises(FitInterrupted) as caught:
        tensor_ridge.kernel_ridge(KERNEL, T, Y, None, ALPHA)
    assert caught.value.solution.value.coefficients.shape == Y.shape


def test_steps_of_float32_that_do_not_arrive_go_on_in_float64(monkeypatch):
    """Rows of float32 that lie far from zero: their distances are known to few digits only."""
    monkeypatch.setattr(tensor_ridge, "ON_CPU", 0)
    monkeypatch.setattr(tensor_ridge, "worth_double", lambda X, n: False)
    single = T.float()
    plain = tensor_ridge.kernel_ridge(KERNEL, single, Y, None, ALPHA)
    steps, dtypes = tensor_ridge._solve_by_steps, []

    def noted(gram, *given):
        dtypes.append(gram.dtype)
        found = steps(gram, *given)
        spoilt = replace(found.certificate, value=1.0) if len(dtypes) == 1 else found.certificate
        return replace(found, certificate=spoilt)

    monkeypatch.setattr(tensor_ridge, "_solve_by_steps", noted)
    again = tensor_ridge.kernel_ridge(KERNEL, single, Y, None, ALPHA)
    assert dtypes == [torch.float32, torch.float64]
    assert again.certificate.holds
    np.testing.assert_allclose(again.value.coefficients, plain.value.coefficients, atol=1e-3)
