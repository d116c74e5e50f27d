"""Certificates whose gradients are of float32: what they say holds in float64, on all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mercer.families import IDENTITY, Gaussian
from mercer.families.response import Response
from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import RBF, Kernel, Linear, Polynomial
from mercer.matrices.mapped import KeptTiles, MappedMatrix, TileOptions
from mercer.optim.descent import descend
from mercer.optim.span.losses import ResponseLosses
from mercer.optim.span.mapped_curvature import SampledInverse
from mercer.optim.span.mapped_newton import (
    ROUNDING_SAMPLE,
    MappedNewtonDescent,
    MappedProblem,
    estimate_rounding,
    is_even,
)

N, M, STRENGTH = 16_384, 30, 0.5
#: what a fit may be off by, in standard errors
TOLERANCE = 1e-4 * np.sqrt(N)

Array = Any
Rows = tuple[Array, Array, Array | None]
MAPS: dict[str, Kernel] = {"nystroem": RBF(gamma=0.3), "fourier": RBF(gamma=0.3), "linear": Linear()}


#: tiles of float32, of as many rows in a sample as among all
SINGLE = TileOptions(bytes=4 * M * 256, single_from=0, largest_single_error=1.0)


def drawn(seed: int, noise: Callable[[Any, Array], Array] = lambda rng, X: rng.normal(size=N)) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + noise(rng, X), None


def changed(rows: Rows, size: float, *, column: int) -> Rows:
    """One row has a number of another size: of X, of y or among the weights."""
    X, y, weight = rows[0].copy(), rows[1].copy(), np.ones(N)
    (X, y, weight)[column][77] *= size
    return X, y, weight


CASES: dict[str, Callable[[int], Rows]] = {
    "noise of one size": drawn,
    "noise of another size in each row": lambda seed: drawn(
        seed, lambda rng, X: rng.normal(size=N) * np.exp(0.5 * X[:, 2])
    ),
    "hardly any noise": lambda seed: drawn(seed, lambda rng, X: 1e-4 * rng.normal(size=N)),
    "weights": lambda seed: (*drawn(seed)[:2], np.random.default_rng(seed).uniform(0, 2, size=N)),
    "rows without weight": lambda seed: (*drawn(seed)[:2], (np.arange(N) % 40 == 0).astype(float)),
    "y far from all others": lambda seed: changed(drawn(seed), 1e4, column=1),
    "x far from all others": lambda seed: changed(drawn(seed), 1e3, column=0),
    "one heavy row": lambda seed: changed(drawn(seed), 1e4, column=2),
}
UNEVEN = ("y far from all others", "one heavy row")


def posed(
    name: str, rows: Rows, kernel: Kernel | None = None, options: TileOptions = SINGLE
) -> tuple[MappedProblem, Array]:
    """The problem, and its features written out."""
    X, y, weight = rows
    kernel, rng = kernel or MAPS[name], np.random.default_rng(5)
    map: Any = (
        FourierMap.draw(kernel.spectrum(3), M, rng) if name == "fourier" else NystroemMap.of(kernel, X[100 : 100 + M])
    )
    losses = ResponseLosses(Response(Gaussian(), IDENTITY), y[:, None], weight)
    problem = MappedProblem(MappedMatrix(map.tiles(X), map.back, options=options), losses, np.array([STRENGTH]))
    return problem, np.column_stack([map(X), np.ones(N)])


def solved(problem: MappedProblem) -> MappedNewtonDescent:
    descent = MappedNewtonDescent(problem, TOLERANCE)
    descend(descent, max_iter=50)
    return descent


def true_length(descent: MappedNewtonDescent, problem: MappedProblem, Z: Array) -> float:
    """√(gᵀH⁻¹g) of the features written out in float64, in standard errors."""
    w = descent.point.w
    slopes, bend = problem.losses.slopes(Z @ w)
    g = (Z.T @ slopes + problem.pull(w)).ravel()
    penalty = np.append(np.full(Z.shape[1] - 1, STRENGTH), 0.0)
    H = Z.T @ (bend.typical[:, None] * Z) + np.diag(penalty)
    return float(np.sqrt(g @ np.linalg.solve(H, g)) / descent._unit)


@pytest.mark.compiled("takes minutes as plain Python")
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("case", CASES)
def test_certificates_hold_in_float64(name: str, case: str) -> None:
    for seed in range(3):
        problem, Z = posed(name, CASES[case](seed))
        descent = solved(problem)
        certificate = descent.certificate()
        assert certificate.holds, certificate
        assert true_length(descent, problem, Z) <= min(TOLERANCE, 1.02 * certificate.value + 1e-3 * TOLERANCE)
        counted = descent.point.rounded > 0
        assert ("float32" in certificate.sentence) == counted
        assert not (counted and case in UNEVEN)


def test_float32_suffices_for_similar_rows() -> None:
    for name in ("fourier", "linear"):
        descent = solved(posed(name, drawn(0))[0])
        assert descent.point.rounded > 0
        assert f"one in {ROUNDING_SAMPLE} rows" in str(descent.certificate())


def test_one_row_with_large_kernel_values_forces_float64() -> None:
    """The slope of the row is no larger than others, but its float32 error would be."""
    for seed in (1, 3):
        problem, Z = posed("cubic", changed(drawn(seed), 20.0, column=0), Polynomial(degree=3, constant=1.0))
        descent = solved(problem)
        assert descent.point.rounded == 0
        assert true_length(descent, problem, Z) <= TOLERANCE


@pytest.mark.compiled("takes minutes as plain Python")
def test_the_estimated_rounding_bounds_the_error_of_all_rows() -> None:
    for name in MAPS:
        for seed in range(5):
            problem, _ = posed(name, drawn(seed))
            descent = solved(problem)
            problem, w = descent._problem, descent.point.w
            rough, exact = (problem.design.swept(w, problem.slopes, exactly=exactly)[1] for exactly in (False, True))
            assert descent._inverse is not None
            error = float(np.sqrt(np.vdot(rough - exact, descent._inverse.matvec(rough - exact))))
            assert 0 < error <= estimate_rounding(problem, descent._inverse, w) < np.inf


def test_rounding_is_unknown_for_rows_that_are_not_kept() -> None:
    descent = solved(posed("fourier", drawn(0), options=replace(SINGLE, stored_share=0.0))[0])
    problem = descent._problem
    assert not isinstance(problem.design.tiles, KeptTiles)  # type: ignore[union-attr]
    assert not is_even(problem, descent.point.eta)
    assert estimate_rounding(problem, descent._inverse, descent.point.w) == np.inf
    assert descent.point.rounded == 0


@pytest.mark.parametrize("squares", [0.0, 1e-320, 1e306, np.inf, np.nan])
def test_rounding_is_unknown_for_sizes_that_overflow(squares: float) -> None:
    descent = solved(posed("fourier", drawn(0))[0])
    problem, design = descent._problem, descent._problem.design
    assert is_even(problem, descent.point.eta)
    tiles = replace(design.tiles, squares=np.full(N, squares))  # type: ignore[union-attr]
    assert is_even(replace(problem, design=replace(design, tiles=tiles)), descent.point.eta) == (0 < squares < 1e-300)


@pytest.mark.parametrize("strength", [0.0, 1e-300])
def test_a_singular_curvature_is_regularised_until_invertible(strength: float) -> None:
    inverse = SampledInverse(np.ones((3, 3)), 3, np.array([strength]))
    moved = inverse.matvec(np.ones((3, 1)))
    np.testing.assert_allclose(np.ones((3, 3)) @ moved, np.ones((3, 1)), rtol=1e-4)


def test_rounding_is_unknown_without_a_curvature_or_with_a_tiny_sample() -> None:
    descent = solved(posed("fourier", drawn(0))[0])
    problem, w = descent._problem, descent.point.w
    assert estimate_rounding(problem, descent._inverse, w) < np.inf
    assert estimate_rounding(problem, None, w) == np.inf
    all_in_single = replace(problem.design, options=replace(SINGLE, single_from=N * M))  # type: ignore[type-var]
    assert all_in_single.rough == np.float32
    assert estimate_rounding(replace(problem, design=all_in_single), descent._inverse, w) == np.inf
