"""Ridge regression on features for many penalties: errors of rows left out are those of fits without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer._errors import NotPositiveDefiniteError
from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import RBF, Linear
from mercer.matrices.mapped import MappedMatrix
from mercer.optim.leave_one_out import candidate_penalties
from mercer.optim.span.mapped_ridge import MappedRidge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * RNG.normal(size=(60, 2))
KERNEL = RBF(gamma=0.5)
MAPS = {
    "nystroem": NystroemMap.of(KERNEL, X[:15]),
    "fourier": FourierMap.draw(KERNEL.spectrum(2), 80, np.random.default_rng(0)),  # more than rows
}
ALPHAS = np.array([1e-3, 0.1, 10.0])
EACH = pytest.mark.parametrize("kind", MAPS)
WEIGHTS = pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2, size=60)], ids=["equal", "weighted"])


def ridge(kind: str, weight: Any) -> MappedRidge:
    map = MAPS[kind]
    return MappedRidge(MappedMatrix(map.tiles(X), map.back, intercept=False), Y, weight)


def fitted(Z: Any, y: Any, weight: Any, alpha: float) -> Any:
    return np.linalg.solve(Z.T @ (weight[:, None] * Z) + alpha * np.eye(Z.shape[1]), Z.T @ (weight[:, None] * y))


@EACH
@WEIGHTS
def test_leave_one_out_errors_agree_with_refits(kind: str, weight: Any) -> None:
    parts = list(ridge(kind, weight).decompose().leave_one_out().errors(ALPHAS, lambda found: found))
    errors = np.concatenate([part.values for part in parts])
    Z, w = MAPS[kind](X), np.ones(60) if weight is None else weight
    for row in (0, 17, 59):
        rest = np.delete(np.arange(60), row)
        for position, alpha in enumerate(ALPHAS):
            without = Y[row] - Z[row] @ fitted(Z[rest], Y[rest], w[rest], alpha)
            np.testing.assert_allclose(errors[row, :, position], without, atol=1e-8)


@EACH
@WEIGHTS
def test_generalised_cross_validation_follows_its_formula(kind: str, weight: Any) -> None:
    found = ridge(kind, weight).decompose().leave_one_out().generalised_errors(ALPHAS)
    Z, w = MAPS[kind](X), np.ones(60) if weight is None else weight
    S = np.sqrt(w)[:, None] * Z
    for position, alpha in enumerate(ALPHAS):
        H = S @ np.linalg.solve(S.T @ S + alpha * np.eye(S.shape[1]), S.T)
        residual = np.sqrt(w)[:, None] * Y - H @ (np.sqrt(w)[:, None] * Y)
        expected = 60 * np.sum(residual**2, axis=0) / (60 - np.trace(H)) ** 2
        np.testing.assert_allclose(found[position], expected, rtol=1e-7)


@EACH
@WEIGHTS
def test_coefficients_of_any_penalty(kind: str, weight: Any) -> None:
    alpha = np.array([0.1, 3.0])
    found = ridge(kind, weight).decompose().coefficients(alpha)
    Z, w = MAPS[kind](X), np.ones(60) if weight is None else weight
    for target in range(2):
        expected = fitted(Z, Y[:, [target]], w, alpha[target])[:, 0]
        np.testing.assert_allclose(Z @ found[:, target], Z @ expected, atol=1e-9)


def test_eigenvalues_agree_with_the_kernel_matrix() -> None:
    map = NystroemMap.of(KERNEL, X)
    found = MappedRidge(MappedMatrix(map.tiles(X), map.back, intercept=False), Y).decompose()
    expected = np.linalg.eigvalsh(KERNEL(X))
    np.testing.assert_allclose(found.values[-20:], expected[-20:], rtol=1e-10)
    assert len(candidate_penalties(found.leave_one_out())) > 20


def test_squares_beyond_float64_are_rejected() -> None:
    rows = 1e150 * X
    map = NystroemMap(Linear(), rows[:2], np.eye(2))
    with pytest.raises(NotPositiveDefiniteError, match="divide the columns"):
        MappedRidge(MappedMatrix(map.tiles(rows), map.back, intercept=False), Y).decompose()


def test_features_that_are_all_zero_explain_nothing() -> None:
    map = NystroemMap(Linear(), X[:2], np.zeros((2, 2)))
    nothing = MappedRidge(MappedMatrix(map.tiles(X), map.back, intercept=False), Y)
    assert len(nothing) == 60
    parts = list(nothing.decompose().leave_one_out().errors(ALPHAS, lambda found: found))
    errors = np.concatenate([part.values for part in parts])
    np.testing.assert_allclose(errors, np.repeat(Y[:, :, None], len(ALPHAS), axis=2))
