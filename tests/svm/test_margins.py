"""Linear support vector machines: primal = dual at the optimum, by either solver, and KKT conditions hold there."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from mercer.optim.descent import Step
from mercer.svm._crammer_singer import ClassLosses, ClassProblem, CrammerSingerDescent, CrammerSingerNewton
from mercer.svm._dual_descent import DualDescent
from mercer.svm._margin_newton import MarginNewton, newton_step
from mercer.svm._margins import THREADED_SIZE, MarginLosses, MarginProblem, MarginRows, run_descents

LOSSES = ["hinge", "squared hinge", "tube", "squared tube"]
SOLVERS = {"Newton": MarginNewton, "dual descent": DualDescent}


def losses(kind: str, t: Any, weight: Any) -> MarginLosses:
    squared = kind.startswith("squared")
    if kind.endswith("hinge"):
        return MarginLosses.for_classes(np.where(t > 0, 1.0, -1.0), weight, squared=squared)
    return MarginLosses.for_numbers(t, weight, 0.3, squared=squared)


def written_out(kind: str, t: Any, weight: Any, eta: Any) -> float:
    """The losses as the textbook has them."""
    short = np.where(t > 0, 1 - eta, 1 + eta) if kind.endswith("hinge") else np.abs(t - eta) - 0.3
    short = np.maximum(short, 0.0)
    return float(weight @ (short**2 if kind.startswith("squared") else short))


def problem(kind: str, seed: int = 0, n: int = 60, d: int = 4, stored: bool = False) -> tuple[MarginProblem, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    t, weight = X.sum(axis=1) + rng.normal(size=n), rng.uniform(0.2, 3.0, n)
    rows = MarginRows.of(sparse.csr_array(X) if stored else X, 2.0)
    return MarginProblem(rows, losses(kind, t, weight)), t, weight


def solved(made: MarginProblem, solver: str, gap: float = 1e-9, **options: Any) -> Any:
    descent = SOLVERS[solver](made, gap, 100_000, **options)
    run_descents([descent], 0)
    return descent.solution()


@pytest.mark.parametrize("stored", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", LOSSES)
def test_primal_and_dual_agree_and_the_gap_is_their_difference(kind: str, solver: str, stored: bool) -> None:
    made, t, weight = problem(kind, stored=stored)
    solution = solved(made, solver)
    w, beta, _ = solution.coef
    box = made.losses
    X = np.column_stack([made.rows.X.toarray() if stored else made.rows.X, np.full(len(t), 2.0)])
    primal = 0.5 * w @ w + written_out(kind, t, weight, X @ w)
    v = X.T @ beta
    dual = beta @ box.target - box.epsilon * np.abs(beta).sum() - 0.5 * box.bend @ beta**2 - 0.5 * v @ v
    assert solution.certificate.holds
    assert (box.lower <= beta).all()
    assert (beta <= box.upper).all()
    assert primal == pytest.approx(solution.certificate.primal, rel=1e-12)
    assert dual == pytest.approx(solution.certificate.dual, rel=1e-12)
    assert 0 <= primal - dual + 1e-12 * primal <= 2e-9 * primal


@pytest.mark.parametrize("kind", LOSSES)
def test_dual_coefficients_satisfy_the_optimality_conditions(kind: str) -> None:
    """β is at its bound beyond the margin or tube, 0 within, and w = Σ β x (KKT)."""
    made, _, weight = problem(kind)
    w, beta, _ = solved(made, "Newton", 1e-12).coef
    residual = made.losses.target - made.rows.matvec(w)
    np.testing.assert_allclose(made.rows.rmatvec(beta), w, atol=1e-7)
    if kind.endswith("hinge"):
        beta, residual = beta * made.losses.target, residual * made.losses.target
    else:
        beta, residual = beta * np.sign(residual), np.abs(residual) - 0.3
    beyond, within = residual > 1e-6, residual < -1e-6
    expected = 2 * weight * residual if kind.startswith("squared") else weight
    np.testing.assert_allclose(beta[beyond], expected[beyond], atol=1e-6)
    np.testing.assert_allclose(beta[within], 0.0, atol=1e-7)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_row_of_weight_zero_has_no_effect(kind: str, solver: str) -> None:
    made, t, weight = problem(kind)
    kept = np.arange(len(t)) % 3 > 0
    few = MarginProblem(MarginRows.of(made.rows.X[kept], 2.0), losses(kind, t[kept], weight[kept]))
    all_rows = MarginProblem(made.rows, losses(kind, t, np.where(kept, weight, 0.0)))
    np.testing.assert_allclose(
        solved(all_rows, solver, 1e-12).coef.w, solved(few, solver, 1e-12).coef.w, rtol=1e-5, atol=1e-6
    )


@settings(max_examples=25)
@given(st.sampled_from(LOSSES), st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 4), st.floats(-2, 2))
def test_no_point_that_scipy_finds_is_better(kind: str, seed: int, n: int, d: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    X, t, weight = rng.normal(size=(n, d)), rng.normal(size=n), np.full(n, 10.0**exponent)
    made = MarginProblem(MarginRows.of(X, 1.0), losses(kind, t, weight))
    certificate = solved(made, "Newton").certificate
    with_one = np.column_stack([X, np.ones(n)])
    theirs = minimize(
        lambda w: 0.5 * w @ w + written_out(kind, t, weight, with_one @ w),
        np.zeros(d + 1),
        method="Powell",
        options={"maxiter": 200},
    ).fun
    assert certificate.holds
    assert certificate.primal <= theirs * (1 + 1e-8)


@pytest.mark.parametrize("kind", LOSSES)
def test_newton_works_in_the_space_of_few_rows(kind: str) -> None:
    """Woodbury's identity: the optimum is that of dual descent."""
    made, _, _ = problem(kind, n=30, d=200)
    ours, theirs = (solved(made, solver, 1e-8).certificate for solver in SOLVERS)
    assert ours.holds
    assert ours.primal == pytest.approx(theirs.primal, rel=2e-8)


@pytest.mark.parametrize("kind", LOSSES)
def test_conjugate_gradients_find_the_same_minimum(kind: str) -> None:
    made, _, _ = problem(kind, stored=True)
    factorised = solved(made, "Newton").coef.w
    np.testing.assert_allclose(solved(made, "Newton", max_factorized=0).coef.w, factorised, rtol=1e-5, atol=1e-6)


def test_unfinished_searches_are_reported() -> None:
    for solver in SOLVERS.values():
        descent = solver(problem("hinge")[0], 1e-9, 2)
        run_descents([descent], 0)
        solution = descent.solution()
        assert not solution.certificate.holds
        assert solution.coef.n_iter == 2


def all_classes(solver: str, rows: MarginRows, codes: Any, weight: Any) -> Any:
    if solver == "Newton":
        return CrammerSingerNewton(ClassProblem(rows, ClassLosses(codes, weight, 3)), 1e-8, 100)
    return CrammerSingerDescent(rows, codes, weight, 3, 1e-8, 100_000)


@pytest.mark.parametrize("solver", ["Newton", "dual descent"])
def test_primal_and_dual_of_crammer_and_singer_agree(solver: str) -> None:
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(80, 3)), rng.uniform(0.5, 2.0, 80)
    X[7], weight[8] = 0.0, 0.0
    codes = np.argmax(X + rng.normal(size=(80, 3)), axis=1).astype(np.int32)
    for rows in (MarginRows.of(X, 0.0), MarginRows.of(sparse.csr_array(X), 0.0)):
        descent = all_classes(solver, rows, codes, weight)
        run_descents([descent], 0)
        W, alpha, _ = descent.solution().coef
        own = np.arange(3) == codes[:, None]
        scores = X @ W[:-1]
        primal = 0.5 * np.sum(W**2) + weight @ ((scores + ~own).max(axis=1) - scores[own])
        dual = -0.5 * np.sum((X.T @ alpha) ** 2) - np.sum(alpha * ~own)
        np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12)
        assert (alpha <= np.where(own, weight[:, None], 0.0) + 1e-12).all()
        assert descent.solution().certificate.holds
        assert 0 <= primal - dual + 1e-12 * primal <= 2e-8 * primal


def test_entries_stored_twice_and_wide_numbers_of_columns() -> None:
    X = sparse.csr_array(np.array([[1.0, 0.0], [2.0, 4.0]]))
    halves = np.repeat(X.data / 2, 2), np.repeat(X.indices, 2).astype(np.int64), 2 * X.indptr.astype(np.int64)
    twice = sparse.csr_array(halves, shape=X.shape)
    rows = MarginRows.of(twice, 1.0)
    assert rows.X.indices.dtype == np.int32
    np.testing.assert_array_equal(rows.X.toarray(), X.toarray())
    assert not twice.has_canonical_format  # which is the caller's


def test_machines_solved_together_agree_with_single_ones() -> None:
    problems = [problem("squared hinge", seed)[0] for seed in (0, 1)]
    alone = [MarginNewton(one, 1e-9, 100) for one in problems]
    run_descents(alone, 1)
    reports: list[Step] = []
    together = [MarginNewton(one, 1e-9, 100) for one in problems]
    run_descents(together, THREADED_SIZE, callback=reports.append)
    for mine, yours in zip(alone, together, strict=True):
        np.testing.assert_array_equal(mine.solution().coef.w, yours.solution().coef.w)
    assert [step.iteration for step in reports] == list(range(1, len(reports) + 1))
    assert reports[-1].objective == pytest.approx(sum(one.objectives.primal for one in together))
    assert reports[-1].distance <= 1e-9


def test_a_design_of_rows_has_the_rows_and_the_constant() -> None:
    X, w = np.random.default_rng(0).normal(size=(5, 2)), np.array([1.0, -2.0, 0.5])
    for kind in (np.asarray, sparse.csr_array):
        np.testing.assert_allclose(MarginRows.of(kind(X), 1.0).design.matvec(w), X @ w[:2] + 0.5)


def test_a_descent_stopped_between_two_checks_has_the_gap_of_its_point() -> None:
    made, t, weight = problem("hinge")
    descent = DualDescent(made, 1e-12, 1000, values_per_step=1)
    descent.step()
    solution = descent.solution()
    w = solution.coef.w
    X = np.column_stack([made.rows.X, np.full(len(t), 2.0)])
    assert solution.certificate.primal == pytest.approx(0.5 * w @ w + written_out("hinge", t, weight, X @ w), rel=1e-12)
    assert not solution.certificate.holds


def test_classes_without_a_common_boundary_share_no_curvature() -> None:
    """On a line, the first and the last of three classes do not meet."""
    x = np.linspace(-3.0, 3.0, 60)
    codes = np.digitize(x, [-1.0, 1.0]).astype(np.int32)
    X = np.column_stack([x, x**2])
    descent = all_classes("Newton", MarginRows.of(X, 1.0), codes, np.full(60, 10.0))
    run_descents([descent], 0)
    assert descent.solution().certificate.holds
    assert (np.argmax(np.column_stack([X, np.ones(60)]) @ descent.solution().coef[0], axis=1) == codes).all()


def test_a_curvature_that_overflows_ends_the_search() -> None:
    assert np.isnan(newton_step(np.array([[np.inf]]), np.ones(1))).all()
    rng = np.random.default_rng(0)
    rows = MarginRows.of(1e82 * rng.normal(size=(60, 4)), 2.0)
    tubes = MarginLosses.for_numbers(1e-149 * rng.normal(size=60), np.ones(60), 3e-150, squared=False)
    with np.errstate(over="ignore", invalid="ignore"):
        descent = MarginNewton(MarginProblem(rows, tubes), 1e-9, 100, start=np.full(60, 1e-316))
        before = descent.point
        assert before.w.any()
        descent.step()
    assert descent.finished
    np.testing.assert_array_equal(descent.point.w, before.w)


def exact(values: Any) -> list[Any]:
    return [exact(row) for row in values] if np.ndim(values) else Fraction(float(values))


def exact_gap(X: Any, t: Any, w: Any, beta: Any) -> float:
    """Primal − dual of tubes of width 0.3 with C = 1, as a portion of the primal, in rational numbers."""
    rows, targets, w, beta = exact(np.column_stack([X, np.ones(len(X))])), exact(t), exact(w), exact(beta)
    eta = [sum(a * b for a, b in zip(row, w, strict=True)) for row in rows]
    tube = Fraction(0.3)
    primal = sum(a * a for a in w) / 2 + sum(max(abs(y - e) - tube, 0) for y, e in zip(targets, eta, strict=True))
    sums = [sum(b * row[j] for b, row in zip(beta, rows, strict=True)) for j in range(len(w))]
    dual = sum(y * b - tube * abs(b) for y, b in zip(targets, beta, strict=True)) - sum(a * a for a in sums) / 2
    return float((primal - dual) / primal)


@pytest.mark.parametrize("columns", [2, 5])
@pytest.mark.parametrize("far", [0.0, 1e2, 1e4, 1e6])
def test_far_from_the_origin_the_gap_includes_its_own_rounding(far: float, columns: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, columns)) + far
    t = X[:, 0] - 2 * X[:, 1] + rng.normal(size=40)
    made = MarginProblem(MarginRows.of(X, 1.0), MarginLosses.for_numbers(t, np.ones(40), 0.3, squared=False))
    descent = MarginNewton(made, 1e-8, 300)
    run_descents([descent], 0)
    solution = descent.solution()
    true = exact_gap(X, t, solution.coef.w, solution.coef.beta)
    assert solution.certificate.value >= true
    assert solution.certificate.value <= 2 * true + 1e-15 * (1 + far) * columns


def exact_class_gap(X: Any, codes: Any, W: Any, alpha: Any) -> float:
    """The same of Crammer and Singer's losses with C = 1."""
    rows, W, alpha = exact(np.column_stack([X, np.ones(len(X))])), exact(W), exact(alpha)
    classes, primal, dual = range(len(W[0])), sum(a * a for row in W for a in row) / 2, Fraction(0)
    for x, own, a in zip(rows, codes, alpha, strict=True):
        scores = [sum(x[j] * W[j][m] for j in range(len(x))) for m in classes]
        primal += max(scores[m] + int(m != own) for m in classes) - scores[own]
        dual -= sum(a[m] for m in classes if m != own)
    sums = [[sum(a[m] * x[j] for a, x in zip(alpha, rows, strict=True)) for m in classes] for j in range(len(W))]
    return float((primal - dual + sum(a * a for row in sums for a in row) / 2) / primal)


@pytest.mark.parametrize("far", [0.0, 1e2, 1e3])
def test_far_from_the_origin_the_gap_of_several_classes_includes_its_rounding(far: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    codes = (X[:, 0] > 0).astype(np.intp) + (X[:, 1] > 0.3)
    X += far
    rows = MarginRows.of(X, 1.0)
    newton = CrammerSingerNewton(ClassProblem(rows, ClassLosses(codes, np.ones(30), 3)), 1e-8, 500)
    descent = CrammerSingerDescent(rows, codes, np.ones(30), 3, 1e-8, 300)
    run_descents([newton, descent], 0)
    for solution in (newton.solution(), descent.solution()):
        true = exact_class_gap(X, codes, solution.coef.w, solution.coef.beta)
        assert solution.certificate.value >= true
        assert solution.certificate.value <= 2 * true + 1e-14 * (1 + far)
