"""The solutions along a path of penalties are those of separate fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.optim import lasso
from mercer.optim.lasso import solve_path
from tests._ctrl_c import interrupted_at
from tests.optim._lasso_cases import regression, strengths, violation

SHAPES = [(60, 30), (30, 400), (4000, 20)]
MULTIPLIERS = np.geomspace(1, 1e-3, 25)


def largest(X: Any, y: Any) -> float:
    return float(np.abs(X.T @ (y - y.mean())).max())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_every_point_agrees_with_a_single_fit(shape: tuple[int, int], l2: float) -> None:
    X, y = regression(*shape)
    top = largest(X, y)
    penalty = strengths(top, l2 * top, columns=shape[1])
    together = solve_path(X, y, penalty, MULTIPLIERS, tolerance=1e-11)
    assert len(together) == len(MULTIPLIERS)
    assert (together[0].coef.coefficients == 0).all()
    for multiplier, solution in zip(MULTIPLIERS[::4], together[::4], strict=True):
        alone = lasso.solve(X, y, strengths(multiplier * top, multiplier * l2 * top, columns=shape[1]), tolerance=1e-11)
        assert solution.certificate.holds
        np.testing.assert_allclose(solution.coef.coefficients, alone.coef.coefficients, atol=2e-4)


@pytest.mark.parametrize("layout", [np.asfortranarray, np.ascontiguousarray, sparse.csc_array])
def test_every_point_is_optimal(layout: Any) -> None:
    X, y = regression(30, 400, correlated=0.5)
    penalty = strengths(largest(X, y), columns=400)
    for m, solution in zip(MULTIPLIERS, solve_path(layout(X), y, penalty, MULTIPLIERS, tolerance=1e-12), strict=True):
        at = strengths(m * penalty.l1, columns=400)
        assert solution.certificate.holds
        assert violation(X, y, *solution.coef[:2], at) < 1e-5


def test_screening_does_not_change_the_path() -> None:
    X, y = regression(50, 600)
    penalty = strengths(largest(X, y), columns=600)
    screened, plain = (
        solve_path(X, y, penalty, MULTIPLIERS, tolerance=1e-12, screening=screening) for screening in (True, False)
    )
    for one, other in zip(screened, plain, strict=True):
        np.testing.assert_allclose(one.coef.coefficients, other.coef.coefficients, atol=1e-5)


def test_screening_skips_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = regression(50, 600)
    counts: list[int] = []
    plain = lasso.LassoPath._screen

    def counted(self: Any, *args: Any) -> Any:
        ids = plain(self, *args)
        counts.append(len(ids))
        return ids

    monkeypatch.setattr(lasso.LassoPath, "_screen", counted)
    solve_path(X, y, strengths(largest(X, y), columns=600), np.geomspace(1, 0.5, 10))
    assert min(counts) < 300


def test_one_pass_checks_several_penalties(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = regression(50, 600)
    passes: list[int] = []
    plain = lasso.LassoPath._check_on_data

    def counted(self: Any, multipliers: Any, *args: Any) -> Any:
        passes.append(len(multipliers))
        return plain(self, multipliers, *args)

    monkeypatch.setattr(lasso.LassoPath, "_check_on_data", counted)
    solve_path(X, y, strengths(largest(X, y), columns=600), np.geomspace(1, 0.1, 60))
    assert len(passes) < 35


def test_known_products_are_used() -> None:
    X, y = regression(200, 30)
    Z = X - X.mean(axis=0)
    penalty = strengths(largest(X, y))
    given = solve_path(X, y, penalty, MULTIPLIERS, gram=Z.T @ Z, tolerance=1e-11)
    found = solve_path(X, y, penalty, MULTIPLIERS, tolerance=1e-11)
    for one, other in zip(given, found, strict=True):
        np.testing.assert_allclose(one.coef.coefficients, other.coef.coefficients, atol=1e-5)


def test_the_last_point_is_checked_against_the_data() -> None:
    """Products that are not those of the data are detected."""
    X, y = regression(200, 30)
    solutions = solve_path(X, y, strengths(largest(X, y)), MULTIPLIERS, gram=np.eye(30) * 200, tolerance=1e-8)
    last = solutions[-1]
    at = strengths(MULTIPLIERS[-1] * largest(X, y))
    assert last.certificate.holds == (violation(X, y, *last.coef[:2], at) < 1e-4)


def test_penalties_in_any_order() -> None:
    X, y = regression(30, 100)
    penalty = strengths(largest(X, y), columns=100)
    mixed = np.array([0.1, 0.5, 0.02, 0.9])
    forth = {
        m: s.coef.coefficients for m, s in zip(mixed, solve_path(X, y, penalty, mixed, tolerance=1e-12), strict=True)
    }
    down = np.sort(mixed)[::-1]
    back = {m: s.coef.coefficients for m, s in zip(down, solve_path(X, y, penalty, down, tolerance=1e-12), strict=True)}
    for m in mixed:
        np.testing.assert_allclose(forth[m], back[m], atol=1e-5)


def test_an_interruption_keeps_the_finished_points(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = regression(30, 400)
    monkeypatch.setattr(lasso.LassoPath, "_predict_columns", interrupted_at(3, lasso.LassoPath._predict_columns))
    *found, last = solve_path(X, y, strengths(largest(X, y), columns=400), MULTIPLIERS)
    assert last.interrupted
    assert len(found) >= 2
    assert all(solution.certificate.holds for solution in found)
    assert not last.certificate.holds


@pytest.mark.parametrize("seed", range(3))
def test_skipped_columns_enter_with_the_slopes_of_the_current_point(seed: int) -> None:
    """With few rows, many columns enter at once; slopes of an earlier point would make them wrong for good."""
    rng = np.random.default_rng(seed)
    X, y = 1.0 * rng.poisson(2.0, size=(12, 26)), rng.normal(size=12)
    penalty, multipliers = strengths(largest(X, y), columns=26), np.geomspace(0.7, 1e-3, 5)
    for multiplier, solution in zip(multipliers, solve_path(X, y, penalty, multipliers, tolerance=1e-8), strict=True):
        w, b, _ = solution.coef
        assert solution.certificate.holds
        assert violation(X, y, w, b, strengths(multiplier * largest(X, y), columns=26)) < 1e-6
