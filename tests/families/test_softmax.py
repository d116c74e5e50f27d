"""One of several classes: slopes by finite differences, certainty, and the reference class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import families as f

seeds = st.integers(0, 2**32 - 1)


def problem(seed: int, reference: int | None = None) -> tuple[f.SoftmaxResponse, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 12))
    response = f.SoftmaxResponse(k, None if reference is None else reference % k)
    return (
        response,
        rng.integers(0, k, 30),
        rng.normal(scale=rng.choice([0.1, 3.0, 100.0]), size=(30, response.columns)),
    )


@pytest.mark.parametrize("reference", [None, 0, 1, 2])
@settings(max_examples=25)
@given(seed=seeds)
def test_loss_and_slopes_agree_with_the_probabilities(reference: int | None, seed: int) -> None:
    response, codes, eta = problem(seed, reference)
    weight = np.random.default_rng(seed).random(30)
    expected = -response.log_probabilities(eta)[np.arange(30), codes] @ weight
    p = response.probabilities(eta) - np.eye(response.levels)[codes]
    p = p if response.reference is None else np.delete(p, response.reference, axis=1)
    assert response.loss(codes, eta, weight) == pytest.approx(expected, rel=1e-12)
    loss, slopes = response.slopes(codes, eta.copy(), weight)
    assert loss == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(slopes, weight[:, None] * p, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("reference", [None, 1])
def test_slopes_are_the_derivatives_of_the_loss(reference: int | None) -> None:
    response, codes, eta = problem(3, reference)
    eta /= np.abs(eta).max()
    _, slopes = response.slopes(codes, eta.copy())
    for i, c in [(0, 0), (5, response.columns - 1), (29, 0)]:
        step = np.zeros(eta.shape)
        step[i, c] = 1e-6
        difference = response.loss(codes, eta + step) - response.loss(codes, eta - step)
        assert difference / 2e-6 == pytest.approx(slopes[i, c], abs=1e-7)


def test_slopes_overwrite_eta() -> None:
    response, codes, eta = problem(0)
    _, slopes = response.slopes(codes, eta)
    assert slopes is eta
    other = np.asfortranarray(np.zeros((30, response.levels)))
    response.slopes(codes, other)
    assert not other.any()


def test_the_reference_class_takes_the_differences_of_the_symmetric_predictors() -> None:
    symmetric, codes, eta = problem(7)
    reference = f.SoftmaxResponse(symmetric.levels, reference=1)
    differences = np.delete(eta, 1, axis=1) - eta[:, [1]]
    np.testing.assert_allclose(reference.probabilities(differences), symmetric.probabilities(eta), atol=1e-12)
    assert reference.loss(codes, differences) == pytest.approx(symmetric.loss(codes, eta), rel=1e-12)


def test_two_classes_agree_with_bernoulli() -> None:
    rng = np.random.default_rng(0)
    y, eta = rng.integers(0, 2, 20), rng.normal(size=20) * 30
    loss, slopes = f.SoftmaxResponse(2, reference=0).slopes(y, eta[:, None].copy())
    bernoulli = f.Response(f.Bernoulli(), f.LOGIT).slopes(y.astype(float), eta)
    assert loss == pytest.approx(bernoulli.loss, rel=1e-13)
    np.testing.assert_allclose(slopes[:, 0], bernoulli.first, rtol=1e-12)


def test_certain_classes_keep_their_digits() -> None:
    eta = np.array([[0.0, -50.0, -60.0], [900.0, -900.0, 0.0], [1e300, 0.0, -1e300]])
    loss, slopes = f.SoftmaxResponse(3).slopes(np.array([0, 1, 2]), eta.copy())
    unlikely = np.exp(-50.0) + np.exp(-60.0)
    assert slopes[0, 0] == pytest.approx(-unlikely, rel=1e-13)
    np.testing.assert_allclose(slopes[1:], [[1.0, -1.0, 0.0], [1.0, 0.0, -1.0]])
    assert f.SoftmaxResponse(3).loss(np.array([0]), eta[:1]) == pytest.approx(unlikely, rel=1e-13)
    assert loss == pytest.approx(1800 + 2e300)


def test_ties_and_a_single_column() -> None:
    loss, slopes = f.SoftmaxResponse(4).slopes(np.array([2]), np.full((1, 4), 7.0))
    assert loss == pytest.approx(np.log(4))
    np.testing.assert_allclose(slopes, [[0.25, 0.25, -0.75, 0.25]])
    loss, slopes = f.SoftmaxResponse(2, reference=1).slopes(np.array([1, 0]), np.zeros((2, 1)))
    assert loss == pytest.approx(2 * np.log(2))
    np.testing.assert_allclose(slopes, [[0.5], [-0.5]])


def test_nan_in_predictors_is_propagated() -> None:
    loss, _ = f.SoftmaxResponse(3).slopes(np.array([0]), np.array([[0.0, np.nan, 1.0]]))
    assert np.isnan(loss)


@pytest.mark.parametrize("reference", [None, 0, 2])
def test_loss_slopes_and_probabilities_of_tensors_agree_with_arrays(reference: int | None) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    response = f.SoftmaxResponse(4, reference)
    codes, eta, weight = rng.integers(0, 4, 20), rng.normal(size=(20, response.columns)), rng.random(20)
    tensors = [torch.as_tensor(part) for part in (codes, eta, weight)]
    loss, slopes = response.slopes(codes, eta.copy(), weight)
    found = response.slopes(tensors[0], tensors[1].clone(), tensors[2])
    assert found[0] == pytest.approx(loss, rel=1e-12)
    assert response.loss(tensors[0], tensors[1].clone(), tensors[2]) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(found[1].numpy(), slopes, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(response.probabilities(tensors[1]).numpy(), response.probabilities(eta), rtol=1e-12)
    np.testing.assert_allclose(
        response.log_probabilities(tensors[1]).numpy(), response.log_probabilities(eta), rtol=1e-12
    )
