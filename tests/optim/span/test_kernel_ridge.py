"""The equations of kernel ridge regression: every path leads to their solution, with a certificate."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer._errors import (
    KernelError,
    LongFitWarning,
    MercerError,
    NotPositiveDefiniteError,
    TooLargeError,
)
from mercer.kernels import RBF, FromFunction, Kernel, Linear, Polynomial
from mercer.kernels.gram import GivenMatrix
from mercer.optim.span import ridge
from mercer.optim.span import steps as kernel_steps
from mercer.optim.span.ridge import (
    bytes_at_least,
    bytes_needed,
    solve_by_cholesky,
    solve_by_eigenvalues,
    solve_by_least_squares,
)
from mercer.optim.span.spectrum import decompose_kernel
from mercer.optim.span.steps import Deflation, KeptTriangle, solve_beyond_memory, solve_by_steps
from mercer.optim.span.system import RidgeSystem
from tests._ctrl_c import interrupted_at

Array = np.ndarray
ALPHA = np.array([0.5, 2.0])


def draw(n: int = 480, d: int = 3, *, weighted: bool = True, kernel: Kernel | None = None) -> RidgeSystem:
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(n, d)), rng.uniform(0.3, 2, n) if weighted else None
    return RidgeSystem.of(kernel or RBF(gamma=0.02), X, np.sin(X[:, :2]) + 0.1 * rng.normal(size=(n, 2)), weight)


def whole(system: RidgeSystem) -> Array:
    """Return S K S, by its products."""
    return system.matvec(np.eye(len(system)))


def exact(system: RidgeSystem) -> Array:
    root = np.ones(len(system)) if system.root is None else system.root
    A = [whole(system) + alpha * np.eye(len(system)) for alpha in ALPHA]
    c = np.column_stack([np.linalg.solve(one, root * y) for one, y in zip(A, system.Y.T, strict=True)])
    return np.asarray(root[:, None] * c)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "kernel", [RBF(gamma=0.02), Linear(), FromFunction(lambda X, Z: (1 + X @ Z.T) ** 2, by_rows=False)], ids=str
)
def test_every_path_finds_the_same_coefficients(weighted: bool, kernel: Kernel) -> None:
    system = draw(weighted=weighted, kernel=kernel)
    expected = exact(system)
    size = np.abs(expected).max()
    direct = solve_by_cholesky(system, ALPHA)
    assert direct is not None
    known = solve_by_eigenvalues(system, ALPHA, decompose_kernel(system))
    squares = solve_by_least_squares(system, ALPHA)
    for solution in (direct, known, squares):
        assert_allclose(solution.coef.coefficients, expected, atol=1e-9 * size)
        assert solution.certificate.holds
    steps = solve_by_steps(system, ALPHA, 1e-9)
    assert steps is not None
    assert_allclose(system.apply_roots(steps.value), expected, atol=1e-6 * size)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2), 2 * Linear() + 1], ids=str)
def test_few_features_use_the_short_cut(weighted: bool, kernel: Kernel) -> None:
    system = draw(weighted=weighted, kernel=kernel)
    solution = ridge.solve_by_features(system, ALPHA)
    assert solution is not None
    expected = exact(system)
    assert_allclose(solution.coef.coefficients, expected, atol=1e-9 * np.abs(expected).max())
    assert solution.certificate.value < 1e-10


def test_many_rows_use_the_short_cut() -> None:
    system = without_square(draw(kernel=Linear()))
    solution, short = ridge.kernel_ridge(system, ALPHA, many_rows=400), ridge.solve_by_features(system, ALPHA)
    assert short is not None
    assert solution.coef.path == short.coef.path
    assert_allclose(solution.coef.coefficients, short.coef.coefficients, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_errors_agree_with_refits(weighted: bool) -> None:
    system, alphas = draw(40, weighted=weighted), np.array([0.1, 2.0])
    loo = decompose_kernel(system).leave_one_out()
    errors = np.concatenate([part.values for part in loo.errors(alphas, lambda found: found)])
    X, weight = np.random.default_rng(0).normal(size=(40, 3)), system.weight
    K, w = RBF(gamma=0.02)(X), np.ones(40) if weight is None else weight
    for left_out in (0, 17):
        rest = np.arange(40) != left_out
        for k, alpha in enumerate(alphas):
            a = np.linalg.solve(K[np.ix_(rest, rest)] + alpha * np.diag(1 / w[rest]), system.Y[rest])
            expected = system.Y[left_out] - K[left_out, rest] @ a
            assert_allclose(np.abs(errors[left_out, ..., k].ravel()), np.abs(expected), rtol=1e-7)


def test_leave_one_out_errors_of_an_indefinite_matrix_are_rejected() -> None:
    indefinite = RidgeSystem.of_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones((2, 1)))
    with pytest.raises(NotPositiveDefiniteError, match="the eigenvalue -1"):
        decompose_kernel(indefinite).leave_one_out()


def test_the_short_cut_is_not_used_with_many_features_or_without_penalty() -> None:
    assert ridge.solve_by_features(draw(kernel=Polynomial(degree=9)), ALPHA) is None
    assert ridge.solve_by_features(draw(kernel=RBF()), ALPHA) is None
    assert ridge.solve_by_features(draw(kernel=Linear()), 0 * ALPHA) is None


def test_a_short_cut_that_lost_its_digits_is_not_taken() -> None:
    assert ridge.solve_by_features(draw(kernel=1e15 * Linear()), 1e-6 * ALPHA) is None


def test_the_certificate_is_the_residual() -> None:
    system = draw(weighted=False)
    solution = ridge.kernel_ridge(system, ALPHA)
    K, a = whole(system), solution.coef.coefficients
    left = np.linalg.norm(K @ a + ALPHA * a - system.Y, axis=0) / np.linalg.norm(system.Y, axis=0)
    assert solution.certificate.value < 1e-12
    assert left.max() < 1e-12


def test_the_certificate_of_steps_is_computed_without_rough_tiles() -> None:
    system = draw(weighted=False)
    steps = solve_by_steps(system, ALPHA, 1e-9)
    assert steps is not None
    left = np.linalg.norm(whole(system) @ steps.value + ALPHA * steps.value - system.Y, axis=0)
    assert_allclose(steps.error, np.max(left / np.linalg.norm(system.Y, axis=0)), rtol=1e-2)
    assert "float32" in steps.path


def test_one_triangle_of_the_matrix_suffices() -> None:
    system = draw(2000)
    kept, v = KeptTriangle.of(system.K), np.random.default_rng(1).normal(size=(len(system), 2))
    assert sum(tile.size for _, _, tile in kept.tiles) < 0.6 * len(system) ** 2
    assert_allclose(kept.matvec(v), system.K.matvec(v), rtol=1e-12)
    with mercer.engine(threads=1):
        assert np.array_equal(kept.matvec(v), _on(2, kept, v))


def _on(threads: int, kept: KeptTriangle, v: Array) -> Array:
    with mercer.engine(threads=threads):
        return kept.matvec(v)


def test_the_pivots_give_the_inverse_of_a_matrix_of_low_rank() -> None:
    """A linear kernel of three columns has three pivots, and a remainder of 0."""
    system = draw(kernel=Linear())
    deflation = Deflation.of(system, 0.5, 40)
    v = np.random.default_rng(1).normal(size=(len(system), 2))
    assert deflation.L.shape[1] == 3
    assert deflation.left < 1e-10
    assert_allclose(deflation.inverse(ALPHA)(whole(system) @ v + ALPHA * v), v, atol=1e-8)


def fail_if_computed(*_: Any) -> Any:
    pytest.fail("the matrix was computed")


class SystemWithoutSquare(RidgeSystem):
    """Equations whose matrix must not be written to a square of memory."""

    def triangle(self) -> Array:
        return fail_if_computed()


def without_square(system: RidgeSystem) -> RidgeSystem:
    return SystemWithoutSquare(**vars(system))


def test_steps_are_not_begun_where_they_would_take_too_long() -> None:
    slow, unpenalised = (
        replace(system, rough=fail_if_computed) for system in (draw(d=15, kernel=RBF(gamma=3)), draw())
    )
    assert solve_by_steps(slow, 1e-6 * ALPHA, 1e-9) is None
    assert solve_by_steps(unpenalised, np.zeros(2), 1e-9) is None


def test_steps_that_do_not_converge_are_given_up() -> None:
    """The rows are so close in units of alpha that a rough matrix is not positive definite."""
    system = draw(kernel=Polynomial(degree=3, constant=5))
    steps = solve_by_steps(system, 1e-6 * ALPHA, 1e-9, tile_error=1e9, rows_per_step=1)
    assert steps is None or steps.error <= 1e-9


def test_an_indefinite_matrix_is_solved_by_least_squares() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    K = (Q * np.linspace(-3, 4, 30)) @ Q.T
    system = RidgeSystem.of_matrix((K + K.T) / 2, rng.normal(size=(30, 2)))
    solution = ridge.kernel_ridge(system, ALPHA)
    assert solution.coef.singular
    assert_allclose(solution.coef.coefficients, exact(system), rtol=1e-8)


def test_one_square_of_memory_is_taken_below_the_diagonal() -> None:
    system = draw(400)
    assert_allclose(np.tril(system.triangle()), np.tril(whole(system)), rtol=1e-12)


def test_a_matrix_in_memory_has_the_same_interface() -> None:
    system = draw(400, weighted=False)
    given = GivenMatrix(whole(system))
    assert_allclose(KeptTriangle.of(given).matvec(system.Y), system.matvec(system.Y), rtol=1e-10)
    assert_allclose(given.rows([3, 7]), whole(system)[[3, 7]])


def test_memory_is_checked_before_it_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 1_000_000)
    system = without_square(draw())
    with pytest.raises(TooLargeError, match=r"480 rows needs 0.00184 GB"):
        ridge.kernel_ridge(system, ALPHA)
    with pytest.raises(TooLargeError, match="eigenvalues of the kernel matrix of 480 rows"):
        decompose_kernel(system)
    allow(monkeypatch, 200_000)  # not even the vectors of conjugate gradients fit
    with pytest.raises(TooLargeError, match=r"480 rows needs 0.000\d+ GB"):
        ridge.kernel_ridge(system, ALPHA, many_rows=400)


def allow(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Simulate a machine with `size` free bytes."""
    for room in ("mercer._memory", "mercer.optim.span.ridge", "mercer.optim.span.steps"):
        monkeypatch.setattr(f"{room}.available_bytes", lambda: size)


@pytest.mark.compiled("takes minutes as plain Python")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [800_000, 1_200_000])
def test_beyond_memory_tiles_are_recomputed_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch, weighted: bool, size: int
) -> None:
    system = draw(1000, weighted=weighted)
    expected = exact(system)
    allow(monkeypatch, size)
    solution = ridge.kernel_ridge(without_square(system), ALPHA, many_rows=400)
    assert solution.certificate.holds
    assert "made again in each step" in solution.coef.path
    assert_allclose(solution.coef.coefficients, expected, atol=1e-6 * np.abs(expected).max())


def test_beyond_memory_rough_tiles_that_do_not_help_are_replaced_by_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    system = draw(1000, kernel=Polynomial(degree=2, constant=3), weighted=False)
    allow(monkeypatch, 400_000)
    steps = solve_beyond_memory(system, 10 * ALPHA, 1e-9, tile_error=1e9, worth_another=0.0)
    assert steps is not None
    assert "float64" in steps.path
    assert steps.error <= 1e-9


def test_without_a_penalty_the_square_is_needed_although_it_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, 1_000_000)
    with pytest.raises(TooLargeError, match="480 rows"):
        ridge.kernel_ridge(draw(), np.zeros(2), many_rows=400)


def test_the_square_is_needed_if_the_penalty_is_negligible_next_to_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    system = replace(draw(1000), weight=np.full(1000, 1e150))
    allow(monkeypatch, 800_000)
    with pytest.raises(TooLargeError, match="1,000 rows"):
        ridge.kernel_ridge(system, ALPHA, many_rows=400)


@pytest.mark.parametrize("columns", [(), (1,), (3,)])
@pytest.mark.parametrize("room", [np.inf, 900_000.0, -1.0])
def test_products_do_not_depend_on_which_tiles_are_kept(columns: tuple[int, ...], room: float) -> None:
    system = draw(1000, weighted=False)
    v = np.random.default_rng(1).normal(size=(1000, *columns))
    kept = KeptTriangle.of(system.K, room)
    assert kept.share == (1.0 if room == np.inf else pytest.approx(0.1) if room > 0 else 0.0)
    assert_allclose(kept.matvec(v), system.K.matvec(v), rtol=1e-10, atol=1e-10)


def test_long_computations_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    system = draw(120)
    allow(monkeypatch, 50_000)
    with pytest.warns(LongFitWarning, match=r"120 rows.*hours: \d+ steps.*Raise alpha"):
        solve_beyond_memory(system, ALPHA, 1e-9, long_seconds=1e-9)


@pytest.mark.parametrize("size", [2.0**-500, 2.0**500])
@pytest.mark.parametrize("many", [400, 10_000])
def test_weights_may_be_of_any_size(size: float, many: int) -> None:
    system = draw()
    assert system.weight is not None
    plain = ridge.kernel_ridge(system, ALPHA, many_rows=many)
    other = ridge.kernel_ridge(replace(system, weight=size * system.weight), size * ALPHA, many_rows=many)
    assert_allclose(other.coef.coefficients, plain.coef.coefficients, rtol=1e-12)
    assert other.coef.path == plain.coef.path
    assert other.certificate == plain.certificate


def test_huge_weights_give_a_finite_certificate() -> None:
    system = draw(weighted=False)
    for weight in (np.full(480, 1e150), np.where(np.arange(480) % 3 > 0, 1.0, 1e150)):
        solution = ridge.kernel_ridge(replace(system, weight=weight), ALPHA)
        assert solution.certificate.value < 1e-3
        assert np.isfinite(solution.coef.coefficients).all()


@pytest.mark.filterwarnings("error")
def test_the_announced_steps_do_not_exceed_those_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, 400_000)
    with pytest.raises(LongFitWarning) as announced:  # before the first step
        solve_beyond_memory(replace(draw(1000), weight=np.full(1000, 1e9)), ALPHA, 1e-9, long_seconds=1e-9)
    steps = re.search(r"(\d+) steps", str(announced.value))
    assert steps is not None
    assert int(steps[1]) <= max(1000, kernel_steps.LEAST_STEP_LIMIT)


def test_ctrl_c_beyond_memory_keeps_the_coefficients(monkeypatch: pytest.MonkeyPatch) -> None:
    system = draw(1000)
    monkeypatch.setattr(KeptTriangle, "matvec", interrupted_at(6, KeptTriangle.matvec))
    allow(monkeypatch, 800_000)
    stop = ridge.kernel_ridge(system, ALPHA, many_rows=400)
    assert stop.interrupted
    assert 0 < stop.certificate.value < 1
    assert not stop.certificate.holds
    assert np.isfinite(stop.coef.coefficients).all()


@pytest.mark.parametrize("look", [1, 2])
def test_ctrl_c_during_the_residual_keeps_the_steps(monkeypatch: pytest.MonkeyPatch, look: int) -> None:
    system = draw(120)
    expected = exact(system)
    monkeypatch.setattr(RidgeSystem, "compute_residual", interrupted_at(look, RidgeSystem.compute_residual))
    allow(monkeypatch, 100_000)
    stop = ridge.kernel_ridge(system, ALPHA, many_rows=100)
    assert stop.interrupted
    assert not stop.certificate.holds
    away = np.abs(stop.coef.coefficients - expected).max() / np.abs(expected).max()
    assert away < 1e-3**look


def test_a_kernel_that_overflows_is_rejected() -> None:
    with pytest.raises(MercerError, match="beyond float64"):
        draw(kernel=Polynomial(degree=900, constant=9))
    with pytest.raises(KernelError, match="too large for float64"):  # its squares would be none
        draw(kernel=Polynomial(degree=50, constant=1000))


def test_the_minimum_memory_is_a_square_matrix_for_few_rows_only() -> None:
    assert bytes_at_least(100) == bytes_needed(100) == 80_000
    assert bytes_at_least(100_000) < 0.1 * bytes_needed(100_000)


def test_steps_that_rounding_stops_are_given_up_if_there_is_another_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a factor fits in memory it takes over; else the steps found are kept, with their residual."""
    system = draw(120)
    assert solve_by_steps(system, ALPHA, 1e-30, worth_another=0.0) is None
    allow(monkeypatch, 50_000)
    kept = solve_beyond_memory(system, ALPHA, 1e-30, worth_another=0.0)
    assert kept is not None
    assert 1e-30 < kept.error < 1e-8
