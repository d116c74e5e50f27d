"""Sweeps of coordinate descent: each coefficient goes to its lowest point, whatever is kept up to date meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer.matrices import descent_loops
from mercer.optim import _gram_descent_loops as gram_loops

NUMBERS = st.floats(-10, 10)
STRENGTHS = st.floats(0, 5)


def problem(seed: int = 0, n: int = 30, p: int = 7) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.5)
    return {
        "X": X,
        "h": rng.uniform(0.1, 2, n),
        "r": rng.normal(size=n),
        "l1": rng.uniform(0, 3, p),
        "l2": rng.uniform(0, 2, p),
        "w": rng.normal(size=p) * (rng.random(p) < 0.5),
    }


def objective(data: dict[str, Any], w: np.ndarray) -> float:
    """½ Σ h (r − X (w − w₀))² + penalty."""
    left = data["r"] - data["X"] @ (w - data["w"])
    return float(0.5 * data["h"] @ left**2 + data["l1"] @ np.abs(w) + 0.5 * data["l2"] @ w**2)


@settings(max_examples=50)
@given(NUMBERS, st.floats(0.1, 5), STRENGTHS, STRENGTHS, st.booleans())
def test_no_point_is_lower_than_the_lowest(z: float, a: float, l1: float, l2: float, positive: bool) -> None:
    def height(w: Any) -> Any:
        return 0.5 * (a + l2) * w**2 - z * w + l1 * np.abs(w)

    lowest = descent_loops.lowest(z, a, l1, l2, positive)
    others = np.linspace(0 if positive else -110, 110, 2001)
    assert not (positive and lowest < 0)
    assert height(lowest) <= height(others).min() + 1e-9


@pytest.mark.parametrize("positive", [False, True])
def test_all_sweeps_take_the_same_steps(positive: bool) -> None:
    data = problem()
    X, h, l1, l2 = (data[name] for name in ("X", "h", "l1", "l2"))
    start = np.maximum(data["w"], 0.0) if positive else data["w"]
    G, v = (X.T * h) @ X, h * data["r"]
    c, p, ids = X.T @ v, len(l1), np.arange(len(l1))
    csc = sparse.csc_array(X)
    entries = csc.indptr.astype(np.uint64), csc.indices.astype(np.uint32), csc.data

    by_gram, by_rows, by_entries = (start.copy() for _ in range(3))
    slopes, of_rows, of_entries = c.copy(), v.copy(), v.copy()
    falls = [
        gram_loops.gram_sweep(G, p, ids, l1, l2, positive, by_gram, slopes),
        descent_loops.dense_sweep(
            np.ascontiguousarray(4 * X.T + 3),
            ids,
            np.full(p, 3.0),
            np.full(p, 4.0),
            np.zeros(p),
            h,
            G.diagonal().copy(),
            l1,
            l2,
            positive,
            by_rows,
            of_rows,
        ),
        descent_loops.sparse_sweep(
            *entries, ids, np.ones(p), np.zeros(p), h, G.diagonal().copy(), l1, l2, positive, by_entries, of_entries
        ),
    ]
    np.testing.assert_allclose(by_rows, by_gram, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(by_entries, by_gram, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(falls, falls[0], rtol=1e-10)
    np.testing.assert_allclose(slopes, c - G @ (by_gram - start), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(of_rows, v - h * (X @ (by_gram - start)), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(of_entries, of_rows, rtol=1e-10, atol=1e-12)


@settings(max_examples=50)
@given(st.integers(0, 1000))
def test_the_decrease_bounds_the_fall_of_the_objective_from_below(seed: int) -> None:
    data = problem(seed)
    X, h, w = data["X"], data["h"], data["w"].copy()
    G = (X.T * h) @ X
    fall = gram_loops.gram_sweep(G, len(w), np.arange(len(w)), data["l1"], data["l2"], False, w, X.T @ (h * data["r"]))
    assert 0 <= fall <= objective(data, data["w"]) - objective(data, w) + 1e-9


def test_scales_divide_the_columns_of_a_sparse_matrix() -> None:
    data = problem()
    X, h, scale = data["X"], data["h"], np.exp2(np.arange(7))
    found = []
    for matrix, divisor in ((X / scale, np.ones(7)), (X, scale)):
        csc, w, v = sparse.csc_array(matrix), np.zeros(7), h * data["r"]
        curvature = h @ (X / scale) ** 2
        descent_loops.sparse_sweep(
            csc.indptr.astype(np.uint64), csc.indices.astype(np.uint32), csc.data, np.arange(7), divisor, np.zeros(7),
            h, curvature, data["l1"] / 10, data["l2"], False, w, v,
        )  # fmt: skip
        found.append(w)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


def test_the_coefficient_of_a_column_of_zeros_does_not_change() -> None:
    w, c = np.array([3.0]), np.array([1.0])
    assert gram_loops.gram_sweep(np.zeros((1, 1)), 1, np.arange(1), np.zeros(1), np.zeros(1), False, w, c) == 0.0
    assert w[0] == 3.0
