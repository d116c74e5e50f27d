"""EM on moments by pattern: the same maximum as by other methods, with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer._errors import DegenerateDataError, NotConvergedWarning, SingularCovarianceError
from mercer.optim import em
from mercer.optim.em import EMLabels, EMParameters, EMShrinkage, IncompleteLikelihood, em_gaussian
from mercer.stats import PatternMoments, ScatterMoments
from tests._ctrl_c import interrupt, interrupted_at

Array = np.ndarray


def with_gaps(n: int, d: int, *, missing: float, groups: int = 1, seed: int = 0) -> tuple[Array, Array]:
    """Correlated normal rows in groups, each value missing with probability `missing`."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(groups, size=n).astype(np.int32)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)) + 2.0 * codes[:, None]
    X[rng.random((n, d)) < missing] = np.nan
    return X, codes


def moments_of(X: Array, codes: Array, weight: Array | None = None) -> PatternMoments:
    return PatternMoments.zero(int(codes.max()) + 1, X.shape[1]).update(X, codes, weight)


def log_likelihood(X: Array, mean: Array, covariance: Array) -> float:
    """Return the log likelihood of the observed values, row by row."""
    total = 0.0
    for row in X:
        o = np.flatnonzero(~np.isnan(row))
        away, sigma = row[o] - mean[o], covariance[np.ix_(o, o)]
        total -= 0.5 * (away @ np.linalg.solve(sigma, away) + np.linalg.slogdet(2 * np.pi * sigma)[1])
    return total


def shrunk(amount: float) -> Callable[[Array, float], EMShrinkage]:
    return lambda covariance, weight: EMShrinkage(
        amount, np.full(len(covariance), np.trace(covariance) / len(covariance))
    )


def test_complete_data_is_solved_by_the_moments_themselves() -> None:
    X, codes = with_gaps(200, 3, missing=0.0, groups=2)
    value = em_gaussian(moments_of(X, codes)).coef
    for g in range(2):
        rows = X[codes == g]
        np.testing.assert_allclose(value.mean[g], rows.mean(axis=0), rtol=1e-10)
        np.testing.assert_allclose(value.covariance[g], np.cov(rows.T, bias=True), rtol=1e-9)


def test_the_maximum_is_that_of_a_general_optimiser_on_the_rows() -> None:
    X, codes = with_gaps(120, 2, missing=0.3)
    value = em_gaussian(moments_of(X, codes)).coef

    def loss(theta: Array) -> float:
        root = np.array([[np.exp(theta[2]), 0.0], [theta[3], np.exp(theta[4])]])
        return -log_likelihood(X, theta[:2], root @ root.T)

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-6})
    root = np.array([[np.exp(best.x[2]), 0.0], [best.x[3], np.exp(best.x[4])]])
    np.testing.assert_allclose(value.mean[0], best.x[:2], atol=1e-5)
    np.testing.assert_allclose(value.covariance[0], root @ root.T, atol=1e-5)


def test_monotone_missingness_has_a_closed_form() -> None:
    """x observed always, y sometimes: regress y on x and put the regression on the moments of all x (Anderson 1957)."""
    X, codes = with_gaps(300, 2, missing=0.0)
    X[180:, 1] = np.nan
    both, x = X[:180], X[:, 0]
    slope = np.cov(both.T, bias=True)[0, 1] / both[:, 0].var()
    left = both[:, 1].var() - slope**2 * both[:, 0].var()
    value = em_gaussian(moments_of(X, codes), tolerance=1e-12).coef
    np.testing.assert_allclose(value.mean[0, 1], both[:, 1].mean() + slope * (x.mean() - both[:, 0].mean()), rtol=1e-10)
    expected = [[x.var(), slope * x.var()], [slope * x.var(), left + slope**2 * x.var()]]
    np.testing.assert_allclose(value.covariance[0], expected, rtol=1e-10)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("missing", [0.1, 0.4])
def test_the_log_likelihood_never_falls_and_ends_at_that_of_the_rows(shared: bool, missing: float) -> None:
    X, codes = with_gaps(400, 4, missing=missing, groups=2, seed=1)
    solution = em_gaussian(moments_of(X, codes), shared=shared)
    assert solution.certificate.holds
    assert np.diff(solution.history.objective).min() > -1e-12
    assert solution.history.objective[-1] > solution.history.objective[0] + 1e-3
    moments = solution.coef
    pooled = moments.within() / moments.weight.sum()
    covariance = [pooled, pooled] if shared else moments.covariance
    total = sum(log_likelihood(X[codes == g], moments.mean[g], covariance[g]) for g in range(2))
    assert solution.history.objective[-1] == pytest.approx(total / moments.weight.sum(), rel=1e-10)


@pytest.mark.parametrize("shared", [False, True])
def test_the_certificate_is_the_gradient_at_the_returned_point(shared: bool) -> None:
    """The gradient equals finite differences of the log likelihood, along directions scaled by the covariance."""
    X, codes = with_gaps(150, 3, missing=0.3, groups=2, seed=2)
    moments = moments_of(X, codes)
    solution = em_gaussian(moments, shared=shared, most_steps=3, tolerance=1.0)
    assert solution.certificate.kind == "stationary point"
    assert not solution.certificate.is_global
    value, d = solution.coef, 3
    share = value.weight / value.weight.sum()
    groups = [[0, 1]] if shared else [[0], [1]]
    norms = []
    for members in groups:
        inner = share[members] / share[members].sum()
        covariance = sum(w * value.covariance[g] for w, g in zip(inner, members, strict=True))
        root = np.linalg.cholesky(covariance)

        def likelihood(means: Any, sigma: Array, members: Any = members, inner: Array = inner) -> float:
            terms = [
                log_likelihood(X[codes == g], m, sigma) / value.weight[g] for g, m in zip(members, means, strict=True)
            ]
            return float(inner @ terms)

        means, h, squares = [value.mean[g] for g in members], 1e-5, 0.0
        for i, w in enumerate(inner):
            for direction in root.T:
                moved = [[m + s * h * direction * (i == j) for j, m in enumerate(means)] for s in (1, -1)]
                slope = (likelihood(moved[0], covariance) - likelihood(moved[1], covariance)) / (2 * h)
                squares += slope**2 / w
        for a in range(d):
            for b in range(a + 1):
                bump = np.zeros((d, d))
                bump[a, b] = bump[b, a] = 1.0 if a == b else np.sqrt(0.5)
                sides = [likelihood(means, covariance + s * h * root @ bump @ root.T) for s in (1, -1)]
                squares += 2 * ((sides[0] - sides[1]) / (2 * h)) ** 2
        norms.append(np.sqrt(squares))
    assert solution.certificate.value == pytest.approx(max(norms), rel=1e-4)


def test_units_do_not_matter() -> None:
    X, codes = with_gaps(200, 3, missing=0.3)
    unit, shift = np.array([1e-6, 1.0, 1e7]), np.array([3.0, -1e3, 1e9])
    plain, scaled = (em_gaussian(moments_of(data, codes)) for data in (X, X * unit + shift))
    assert len(plain.history.objective) == len(scaled.history.objective)
    np.testing.assert_allclose((scaled.coef.mean - shift) / unit, plain.coef.mean, atol=1e-6)
    np.testing.assert_allclose(scaled.coef.covariance / np.outer(unit, unit), plain.coef.covariance, rtol=1e-6)


def test_a_mean_of_1e8_keeps_ten_digits() -> None:
    X, codes = with_gaps(300, 2, missing=0.3)
    X = np.round(X * 2**20) / 2**20  # so that adding 1e8 is exact
    near, far = (em_gaussian(moments_of(data, codes), tolerance=1e-12).coef for data in (X, X + 1e8))
    np.testing.assert_allclose(far.covariance, near.covariance, rtol=1e-10)


def test_weights_are_equivalent_to_repetitions() -> None:
    X, codes = with_gaps(100, 3, missing=0.3, groups=2)
    weight = np.random.default_rng(0).integers(1, 4, size=100)
    weighted = em_gaussian(moments_of(X, codes, weight.astype(float)), tolerance=1e-11).coef
    repeated = em_gaussian(moments_of(np.repeat(X, weight, axis=0), np.repeat(codes, weight)), tolerance=1e-11).coef
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-8)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-8)


def test_data_with_many_gaps_are_solved_to_the_tolerance() -> None:
    X, codes = with_gaps(1000, 10, missing=0.6, seed=3)
    solution = em_gaussian(moments_of(X, codes))
    assert solution.certificate.holds
    assert len(solution.history.objective) < 150  # plain EM takes several times as many


def test_shares_replace_the_weights_of_the_groups() -> None:
    X, codes = with_gaps(200, 3, missing=0.0, groups=2)
    share = np.array([0.9, 0.1])
    value = em_gaussian(moments_of(X, codes), shared=True, share=share).coef
    assert (value.weight == np.bincount(codes)).all()
    X[0, 0] = X[5, 2] = np.nan
    solution = em_gaussian(moments_of(X, codes), shared=True, share=share, tolerance=1e-12)
    # weights that give each class its share pose the same problem
    weight = (share / np.bincount(codes))[codes] * len(codes)
    weighted = em_gaussian(moments_of(X, codes, weight), shared=True, tolerance=1e-12).coef
    np.testing.assert_allclose(
        np.tensordot(share, solution.coef.covariance, axes=1), weighted.within() / weighted.weight.sum(), rtol=1e-9
    )


@pytest.mark.parametrize("amount", [0.2, 1.0])
def test_shrinkage_is_consistent_with_itself(amount: float) -> None:
    """Missing values are completed with the shrunk covariance: another EM step from it changes nothing."""
    X, codes = with_gaps(40, 6, missing=0.3, seed=4)
    moments = moments_of(X, codes)
    solution = em_gaussian(moments, shrinkage=shrunk(amount), tolerance=1e-10)
    assert solution.certificate.holds
    mean, expected = solution.coef.mean[0], solution.coef.covariance[0]
    covariance = shrunk(amount)(expected, 0.0).apply(expected)
    filled, extra = X.copy(), np.zeros((6, 6))
    for row in filled:
        m = np.isnan(row)
        regression = np.linalg.solve(covariance[np.ix_(~m, ~m)], covariance[np.ix_(~m, m)])
        row[m] = mean[m] + (row[~m] - mean[~m]) @ regression
        extra[np.ix_(m, m)] += covariance[np.ix_(m, m)] - covariance[np.ix_(m, ~m)] @ regression
    np.testing.assert_allclose(filled.mean(axis=0), mean, atol=1e-8)
    np.testing.assert_allclose(np.cov(filled.T, bias=True) + extra / len(X), expected, atol=1e-8)


def test_rows_without_observed_values_have_no_effect() -> None:
    X, codes = with_gaps(100, 3, missing=0.3)
    more = np.vstack([X, np.full((20, 3), np.nan)])
    plain = em_gaussian(moments_of(X, codes)).coef
    padded = em_gaussian(moments_of(more, np.zeros(120, dtype=np.int32))).coef
    np.testing.assert_allclose(padded.covariance, plain.covariance, rtol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_groups_without_rows_stay_empty(shared: bool) -> None:
    X, codes = with_gaps(100, 3, missing=0.0, groups=2)
    X[::7, 1] = np.nan
    moments = moments_of(X, codes).regroup(np.array([0, 2]), 3)
    value = em_gaussian(moments, shared=shared).coef
    assert isinstance(value, ScatterMoments)
    assert (value.rows == [*np.bincount(codes)[:1], 0, *np.bincount(codes)[1:]]).all()
    assert (value.scatter[1] == 0).all()


def test_collinear_columns_are_rejected_by_name() -> None:
    X, codes = with_gaps(60, 3, missing=0.1)
    X[:, 2] = X[:, 0] + X[:, 1]
    with pytest.raises(SingularCovarianceError, match=r"class 'b' is singular: columns 'a', 'b', 'c' .*shrinkage"):
        em_gaussian(moments_of(X, codes), words=EMLabels(["a", "b", "c"], ["class 'b'"]))


def test_too_few_rows_are_rejected() -> None:
    X, codes = with_gaps(4, 4, missing=0.0)
    X[0, 0] = np.nan
    with pytest.raises(SingularCovarianceError, match="4 rows with gaps are too few for 4 columns"):
        em_gaussian(moments_of(X, codes))


def test_a_constant_column_is_rejected_by_name() -> None:
    X, codes = with_gaps(50, 2, missing=0.2)
    X[:, 1] = 7.0
    with pytest.raises(SingularCovarianceError, match="'x1'"):
        em_gaussian(moments_of(X, codes))


def test_a_column_that_is_missing_in_a_whole_group_is_rejected_by_name() -> None:
    X, codes = with_gaps(60, 2, missing=0.1, groups=2)
    X[codes == 1, 0] = np.nan
    with pytest.raises(DegenerateDataError, match=r"'x0' is missing in every row of group 1"):
        em_gaussian(moments_of(X, codes), shared=True)


def test_the_warning_has_cause_and_remedy() -> None:
    X, codes = with_gaps(200, 4, missing=0.5, groups=2)
    with pytest.warns(
        NotConvergedWarning, match=r"has not converged.* after 2 steps.*Column 'x\d' .*more of them"
    ) as said:
        solution = em_gaussian(moments_of(X, codes), most_steps=2)
    assert len(said) == 1
    assert not solution.certificate.holds


def test_nearly_collinear_columns_are_advised_shrinkage() -> None:
    X, codes = with_gaps(60, 3, missing=0.1)
    X[:, 2] = X[:, 0] + X[:, 1] + 1e-3 * np.random.default_rng(0).normal(size=60)
    with pytest.warns(NotConvergedWarning, match=r"likelihood may have no maximum.*Use shrinkage"):
        em_gaussian(moments_of(X, codes), most_steps=20, tolerance=1e-30)


def test_a_likelihood_without_maximum_is_rejected_unless_shrunk() -> None:
    X, codes = with_gaps(40, 8, missing=0.4)
    assert (~np.isnan(X)).all(axis=1).sum() < 3  # so that a direction exists in which these rows do not vary at all
    with pytest.raises(SingularCovarianceError, match="the likelihood has no maximum"):
        em_gaussian(moments_of(X, codes))
    assert em_gaussian(moments_of(X, codes), shrinkage=shrunk(0.1)).certificate.holds


def test_an_interruption_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = with_gaps(200, 3, missing=0.3, groups=2)
    moments = moments_of(X, codes)
    monkeypatch.setattr(em.EMProblem, "at", interrupted_at(5, em.EMProblem.at))
    solution = em_gaussian(moments)
    assert solution.interrupted
    assert not solution.certificate.holds
    assert np.isfinite(solution.coef.covariance).all()
    assert (solution.coef.weight > 80).all()


def test_an_interruption_is_not_hidden_by_a_group_that_cannot_be_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = with_gaps(120, 3, missing=0.3, groups=2)
    X[(codes == 1) & ~np.isnan(X[:, 0]), 0] = 7.0
    monkeypatch.setattr(em.EMAscent, "_next_state", interrupt)
    with pytest.raises(KeyboardInterrupt):
        em_gaussian(moments_of(X, codes))


def test_shrinkage_of_zero_leaves_collinear_columns_collinear() -> None:
    X, codes = with_gaps(60, 3, missing=0.1)
    X[:, 2] = X[:, 0] + X[:, 1]
    with pytest.raises(SingularCovarianceError, match="collinear"):
        em_gaussian(moments_of(X, codes), shrinkage=lambda covariance, weight: EMShrinkage(0.0, np.zeros(3)))


def test_an_indefinite_covariance_has_no_likelihood() -> None:
    X, codes = with_gaps(60, 3, missing=0.2)
    cells, _ = IncompleteLikelihood.of(moments_of(X, codes))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cells.slope(EMParameters(np.zeros((1, 3)), -np.eye(3)))
