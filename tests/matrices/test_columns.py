"""Columns of any layout are the same columns: about their centres, in their units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.matrices import as_matrix
from mercer.matrices.columns import DenseColumns, MatrixColumns, SparseColumns
from mercer.matrices.working_columns import WorkingColumns
from mercer.optim.duality import GapPenalty

Array = np.ndarray
KINDS = ["C", "F", "float32", "strided", "csc", "csr", "stored twice"]


def values(n: int = 50) -> Array:
    rng = np.random.default_rng(0)
    return (rng.normal(2.0, 1.0, size=(n, 9)) * (rng.random((n, 9)) < 0.6)).astype(np.float32).astype(float)


def made(kind: str, X: Array, *, centred: bool, weight: Array, **options: int) -> tuple[MatrixColumns, Array]:
    """Return columns of a kind; the options are those of `DenseColumns`."""
    match kind:
        case "csc" | "csr":
            return SparseColumns.standardise(sparse.csr_array(X).asformat(kind), weight, centred=centred)
        case "stored twice":
            rows, columns = np.nonzero(X)
            halves = np.tile(X[rows, columns] / 2, 2), (np.tile(rows, 2), np.tile(columns, 2))
            return SparseColumns.standardise(sparse.coo_array(halves, shape=X.shape), weight, centred=centred)
        case "float32":
            return DenseColumns.standardise(X.astype(np.float32), weight, centred=centred, **options)
        case "strided":
            return DenseColumns.standardise(np.repeat(X, 2, axis=0)[::2], weight, centred=centred, **options)
        case _:
            ordered = np.asarray(X, order=kind)  # type: ignore[call-overload]
            return DenseColumns.standardise(ordered, weight, centred=centred, **options)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_all_products_agree_with_the_matrix(kind: str, centred: bool) -> None:
    X, rng = values(600), np.random.default_rng(1)
    weight = rng.random(600)
    columns, squares = made(kind, X, centred=centred, weight=weight, copied=4096)  # several blocks
    Z = (X - (np.average(X, axis=0, weights=weight) if centred else 0.0)) / columns.scale
    np.testing.assert_allclose(squares, weight @ Z**2, rtol=1e-9)
    assert (squares > 0.4).all()
    assert (squares < 2.1).all()
    V, ids, h = rng.normal(size=(6, 600)), np.array([8, 0, 3]), rng.random(600)
    W = rng.normal(size=(2, 3))
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(columns.products(V), V @ Z, **close)
    np.testing.assert_allclose(columns.products(V[:1], ids), V[:1] @ Z[:, ids], **close)
    np.testing.assert_allclose(columns.combination(ids, W), W @ Z[:, ids].T, **close)
    np.testing.assert_allclose(columns.gram(ids, np.arange(9), h), (Z[:, ids].T * h) @ Z, **close)
    np.testing.assert_allclose(columns.gram(ids, ids, h), (Z[:, ids].T * h) @ Z[:, ids], **close)


@pytest.mark.parametrize("far", [1e4, 1e8])
def test_a_sparse_column_far_from_zero_keeps_its_digits(far: float) -> None:
    """Products about zero would leave nothing of its spread; a row of weight 0 need not have it stored."""
    X, rng = values(600), np.random.default_rng(1)
    X[:, 0], X[:, 1] = far + rng.normal(size=600), far
    X[-1] = 0.0
    weight = np.append(rng.random(599), 0.0)
    columns, squares = made("csc", X, centred=True, weight=weight)
    Z = (X - X[0]) - np.average(X - X[0], axis=0, weights=weight)
    Z /= columns.scale
    np.testing.assert_allclose(squares[2:], weight @ Z[:, 2:] ** 2, rtol=1e-9)
    assert squares[0] == pytest.approx(weight @ Z[:, 0] ** 2, rel=1e-7)
    assert squares[1] == 0.0
    V, ids = weight * rng.normal(size=(2, 600)), np.array([0, 4])
    np.testing.assert_allclose(columns.products(V, ids), V @ Z[:, ids], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(columns.gram(ids, ids, weight), (Z[:, ids].T * weight) @ Z[:, ids], rtol=1e-6, atol=1e-6)
    assert columns.centre[0] == pytest.approx(np.average(X[:, 0], weights=weight), rel=1e-14)


def test_a_zero_of_tiny_weight_does_not_move_the_centre_of_a_column() -> None:
    X, weight = np.array([[5.0], [5.0], [0.0]]), np.array([1.0, 1.0, 1e-7])
    columns, squares = made("csc", X, centred=True, weight=weight)
    away = X[:, 0] - np.average(X[:, 0], weights=weight)
    assert squares[0] * columns.scale[0] ** 2 == pytest.approx(weight @ away**2, rel=1e-6)
    np.testing.assert_allclose(columns.combination(np.array([0]), np.ones((1, 1)))[0], away / columns.scale[0])


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("kind", ["C", "F", "csc", "working C", "working csr"])
def test_a_sweep_agrees_with_single_column_updates(kind: str, known: bool) -> None:
    """The slopes at the start are those of the rows, or `known` slopes of the columns."""
    X, rng = values(), np.random.default_rng(1)
    h = rng.random(50)
    columns, _ = made(kind.removeprefix("working "), X, centred=False, weight=np.ones(50))
    Z, ids, v = X / columns.scale, np.array([2, 5, 1]), rng.normal(size=50)
    if kind.startswith("working"):
        columns = WorkingColumns(as_matrix(sparse.csr_array(Z) if kind.endswith("csr") else Z))
    penalty = GapPenalty(np.full(3, 0.1), np.full(3, 0.2))
    w, curvature = np.zeros(3), columns.squares(ids, h)
    np.testing.assert_allclose(curvature, h @ Z[:, ids] ** 2, rtol=1e-10)
    rows, slopes = (np.zeros(50), v @ Z[:, ids]) if known else (v.copy(), None)
    columns.sweep(ids, h, curvature, penalty, w, rows, slopes)
    expected, rest = np.zeros(3), v.copy()
    for t, j in enumerate(ids):
        z = Z[:, j] @ rest
        expected[t] = np.sign(z) * max(abs(z) - 0.1, 0.0) / (curvature[t] + 0.2)
        rest -= expected[t] * h * Z[:, j]
    np.testing.assert_allclose(w, expected, rtol=1e-9)
    np.testing.assert_allclose(rows + v if known else rows, rest, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(columns.curved(ids, h, w), (Z[:, ids].T * h) @ (Z[:, ids] @ w), rtol=1e-10)
    np.testing.assert_allclose(columns.gather(ids), Z[:, ids].T, rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_in_either_order_is_not_copied(order: Any) -> None:
    X = np.asarray(values(), order=order)
    assert np.shares_memory(DenseColumns(X, np.zeros(9), np.ones(9)).X, X)


@pytest.mark.parametrize("kind", ["C", "F", "csc"])
def test_a_constant_column_has_length_zero(kind: str) -> None:
    X = values()
    X[:, 4] = 0.1
    _, squares = made(kind, X, centred=True, weight=np.random.default_rng(0).random(50))
    assert squares[4] == 0
    assert (np.delete(squares, 4) > 0).all()


def test_threads_give_identical_results() -> None:
    X, weight = values(), np.ones(50)
    alone, together = (made("C", X, centred=True, weight=weight, serial=serial) for serial in (10**6, 0))
    np.testing.assert_array_equal(together[1], alone[1])
    np.testing.assert_array_equal(together[0].scale, alone[0].scale)


def test_entries_stored_twice_are_added() -> None:
    X = values()
    halves = sparse.csc_array(X)
    halves = sparse.csc_array(
        (np.repeat(halves.data / 2, 2), np.repeat(halves.indices, 2), 2 * halves.indptr), shape=X.shape
    )
    assert not halves.has_canonical_format
    twice, once = (SparseColumns.standardise(data, np.ones(50), centred=True) for data in (halves, sparse.csc_array(X)))
    np.testing.assert_allclose(twice[0].scale, once[0].scale, rtol=1e-14)
    np.testing.assert_allclose(twice[1], once[1], rtol=1e-14)
