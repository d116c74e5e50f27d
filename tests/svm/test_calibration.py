"""Leave-one-out distances from the span of support vectors, and the scale of scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax

from mercer.svm.calibration import SMALLEST_SCORE_SCALE, SupportSpan, _factorize, _find_scale, fit_scale, fit_sigmoid

Array = np.ndarray


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def distance_to_span(x: Array, others: Array, *, affine: bool) -> float:
    """‖x − Σ λ z‖² at its least, with Σ λ = 1 where `affine`: solved as least squares."""
    if affine:
        x, others = x - others[0], others[1:] - others[0]
    if not len(others):
        return float(x @ x)
    away = x - others.T @ np.linalg.lstsq(others.T, x, rcond=None)[0]
    return float(away @ away)


@pytest.mark.parametrize("affine", [True, False])
def test_distances_agree_with_explicit_features(rng: np.random.Generator, affine: bool) -> None:
    free, other = rng.normal(size=(4, 7)), rng.normal(size=(3, 7))
    span = SupportSpan.of(free @ free.T, intercept=affine)
    own = [distance_to_span(free[i], np.delete(free, i, axis=0), affine=affine) for i in range(4)]
    np.testing.assert_allclose(span.squared_distances, own, rtol=1e-6)
    found = span.squared_distances_of((other**2).sum(axis=1), other @ free.T)
    np.testing.assert_allclose(found, [distance_to_span(x, free, affine=affine) for x in other], rtol=1e-6)


def test_a_duplicate_row_is_spanned() -> None:
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    assert np.all(SupportSpan.of(X @ X.T, intercept=True).squared_distances[:2] < 1e-6)


def test_a_single_vector_is_not_spanned() -> None:
    assert SupportSpan.of(np.array([[4.0]]), intercept=True).squared_distances.tolist() == [4.0]


def test_an_indefinite_matrix_still_gives_distances() -> None:
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, -1.0]])
    assert np.isfinite(SupportSpan.of(K, intercept=True).squared_distances).all()


def test_the_scale_has_the_greatest_likelihood(rng: np.random.Generator) -> None:
    scores, weight = rng.normal(size=(400, 3)), rng.uniform(0.5, 2, 400)
    log = log_softmax(1.7 * scores, axis=1)
    codes = np.array([rng.choice(3, p=np.exp(row)) for row in log])
    n = len(codes)
    target = np.full((n, 3), 0.5 / (n + 2))
    target[np.arange(n), codes] = (n + 1) / (n + 2)

    def loss(tau: float) -> float:
        return -float(weight @ (target * log_softmax(tau * scores, axis=1)).sum(axis=1))

    best = minimize_scalar(loss, bounds=(0.1, 10), method="bounded", options={"xatol": 1e-10}).x
    assert fit_scale(scores, codes, weight).coef == pytest.approx(best, rel=1e-5)
    assert best == pytest.approx(1.7, rel=0.25)


def test_the_scale_does_not_depend_on_units(rng: np.random.Generator) -> None:
    scores, codes = rng.normal(size=(50, 2)), rng.integers(2, size=50)
    scores[np.arange(50), codes] += 1
    assert fit_scale(1e6 * scores, codes).coef == pytest.approx(1e-6 * fit_scale(scores, codes).coef, rel=1e-8)


def test_scores_without_a_mistake_have_a_finite_scale() -> None:
    codes = np.arange(20) % 2
    scores = np.where(codes[:, None] == np.arange(2), 1.0, -1.0)
    assert np.log(21) / 2 == pytest.approx(fit_scale(scores, codes).coef, rel=1e-6)


@pytest.mark.parametrize("scores", [np.zeros((4, 2)), np.array([[0.0, 1], [0, 1], [1, 0], [1, 0]])])
def test_uninformative_and_reversed_scores_are_flattened(scores: Array) -> None:
    assert 0 < fit_scale(scores, np.array([0, 0, 1, 1])).coef <= SMALLEST_SCORE_SCALE / 0.5


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("unit", [2.0**-900, 2.0**900])
def test_distances_have_the_unit_of_the_kernel(rng: np.random.Generator, unit: float, affine: bool) -> None:
    free, other = rng.normal(size=(4, 7)), rng.normal(size=(3, 7))
    K, across, own = free @ free.T, other @ free.T, (other**2).sum(axis=1)
    original, scaled = SupportSpan.of(K, intercept=affine), SupportSpan.of(unit * K, intercept=affine)
    np.testing.assert_allclose(scaled.squared_distances / unit, original.squared_distances, rtol=1e-12)
    found = scaled.squared_distances_of(unit * own, unit * across) / unit
    np.testing.assert_allclose(found, original.squared_distances_of(own, across), rtol=1e-12)


@pytest.mark.parametrize("affine", [True, False])
def test_a_matrix_of_an_indefinite_kernel_has_distances_too(affine: bool) -> None:
    assert np.isfinite(SupportSpan.of(-np.ones((5, 5)), intercept=affine).squared_distances).all()


def test_the_certificate_of_the_scale_holds_for_scores_of_any_size(rng: np.random.Generator) -> None:
    scores, codes = rng.normal(size=(300, 3)), rng.integers(3, size=300)
    scores[np.arange(300), codes] += 1.0
    for size in (1e-150, 1.0, 1e150):
        found = fit_scale(size * scores, codes)
        assert found.certificate.holds
        np.testing.assert_allclose(size * found.coef, fit_scale(scores, codes).coef, rtol=1e-9)
    assert fit_scale(-scores, codes).certificate.holds
    assert fit_scale(np.zeros((5, 2)), np.zeros(5, dtype=int)).coef == SMALLEST_SCORE_SCALE


def test_integer_weights_are_equivalent_to_repetitions(rng: np.random.Generator) -> None:
    scores, codes, count = rng.normal(size=(80, 2)), rng.integers(2, size=80), rng.integers(1, 4, 80)
    scores[np.arange(80), codes] += 1.0
    weighted = fit_scale(scores, codes, count.astype(float), rows=float(count.sum()))
    repeated = fit_scale(np.repeat(scores, count, axis=0), np.repeat(codes, count))
    np.testing.assert_allclose(weighted.coef, repeated.coef, rtol=1e-9)


def test_the_sigmoid_has_the_greatest_likelihood(rng: np.random.Generator) -> None:
    scores, weight = rng.normal(size=200), rng.uniform(0.5, 2, 200)
    targets = np.where(rng.random(200) < expit(2 * scores - 1), 0.98, 0.03)

    def loss(ab: Array) -> float:
        eta = ab[0] * scores + ab[1]
        return float(weight @ (np.logaddexp(0, eta) - targets * eta))

    found = fit_sigmoid(scores, targets, weight)
    assert found.certificate.holds
    np.testing.assert_allclose(found.coef, minimize(loss, [0, 0], tol=1e-12).x, rtol=1e-4)
    far = fit_sigmoid(1e8 + scores, targets, weight)
    np.testing.assert_allclose(far.coef[0], found.coef[0], rtol=1e-6)


def test_equal_scores_have_the_mean_target() -> None:
    slope, level = fit_sigmoid(np.full(4, 7.0), np.array([0.9, 0.9, 0.9, 0.1])).coef
    assert slope == 0
    assert expit(level) == pytest.approx(0.7)


def test_a_matrix_of_nan_ends_the_factorisation() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        _factorize(np.full((2, 2), -np.inf))


def test_a_step_beyond_the_bounds_is_halved() -> None:
    """Scores far apart do not vary, and Newton's method would leave the line: 100 p = 60."""
    tau = _find_scale(np.array([[0.0, 100.0]]), np.ones(1), 60.0)
    assert tau == pytest.approx(np.log(1.5) / 100.0, rel=1e-12)


def test_free_vectors_of_no_length_span_nothing() -> None:
    """Their length is not a unit for the lengths of others, which would overflow."""
    span = SupportSpan.of(np.zeros((2, 2)), intercept=False)
    np.testing.assert_allclose(span.squared_distances_of(np.array([9.0]), np.zeros((1, 2))), [9.0])
