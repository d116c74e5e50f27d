"""Scores of tensors: densities known to SciPy, and Bayes' rule."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from mercer._gpu import scores

torch = pytest.importorskip("torch")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_normal_columns(rng, dtype):
    X, mean, deviation = rng.normal(size=(20, 3)), rng.normal(size=(4, 3)), 0.1 + rng.random((4, 3))
    X = torch.as_tensor(X).to(dtype)
    constants = -0.5 * np.log(2 * np.pi) - np.log(deviation)
    expected = norm(mean, deviation).logpdf(X.double().numpy()[:, None, :])
    got = scores.gaussian_columns(X, mean, 1 / deviation, constants.sum(axis=1))
    assert got.dtype == torch.float64
    np.testing.assert_allclose(got, expected.sum(axis=2), rtol=1e-12)
    X[3, 1] = np.nan
    assert torch.isnan(scores.gaussian_columns(X, mean, 1 / deviation, constants.sum(axis=1)))[3].all()
    expected[3, :, 1] = 0.0
    np.testing.assert_allclose(
        scores.observed_gaussian_columns(X, mean, 1 / deviation, constants), expected.sum(axis=2), rtol=1e-12
    )


def test_full_covariances(rng):
    X, centre, away = rng.normal(size=(20, 3)) + 1e6, np.full(3, 1e6), rng.normal(size=(2, 3))
    whitening = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
    shift = np.einsum("kj,kjr->kr", away, whitening)
    constant = np.linalg.slogdet(whitening)[1] - 1.5 * np.log(2 * np.pi)
    got = scores.quadratic_scores(torch.as_tensor(X), centre, whitening, shift, constant)
    for c in range(2):
        covariance = np.linalg.inv(whitening[c] @ whitening[c].T)
        expected = multivariate_normal(away[c], covariance).logpdf(X - centre)
        np.testing.assert_allclose(got[:, c], expected, rtol=1e-9)


def test_linear_scores(rng):
    X, centre, weights, intercept = (rng.normal(size=size) for size in ((20, 3), 3, (3, 5), 5))
    got = scores.linear_scores(torch.as_tensor(X), centre, weights, intercept)
    np.testing.assert_allclose(got, (X - centre) @ weights + intercept, rtol=1e-12, atol=1e-14)


def test_ties_go_to_the_first_largest_score():
    inf = float("inf")
    table = torch.tensor([[0.0, 2.0, 2.0], [3.0, 3.0, 3.0], [-inf, -inf, 0.0], [1.0, -inf, 1.0]])
    assert scores.largest_of_row(table).tolist() == [1, 0, 2, 0]


def test_impossible_rows_are_replaced():
    inf = float("inf")
    table = torch.tensor([[-inf, -inf], [0.0, -inf]], dtype=torch.float64)
    assert scores.with_row_for_impossible(table, np.array([-1.0, -2.0])).tolist() == [[-1.0, -2.0], [0.0, -inf]]
