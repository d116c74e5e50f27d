"""One table: every matrix × every operation equals NumPy, whatever the storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer._gpu import to_numpy
from mercer.families import LOGIT, Bernoulli
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import CategoricalMatrix, Coordinates, Encoded, Matrix, as_matrix, standardize
from mercer.matrices.encoded import CodePart, NumberPart, SparsePart
from mercer.matrices.mapped import TileMatrix
from mercer.matrices.newton_terms import GRADIENT, HESSIAN
from mercer.matrices.working_columns import WorkingColumns

Array = np.ndarray
N = 90
RNG = np.random.default_rng(0)
CODES = [RNG.integers(-1, 3, N).astype(np.int32), RNG.integers(0, 2, N).astype(np.int32)]
NUMBERS = RNG.normal(size=(N, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
SPARSE = sparse.random(N, 4, 0.1, format="csr", random_state=0)
ONE_HOT = np.hstack([(c[:, None] == np.arange(k)).astype(float) for c, k in zip(CODES, (3, 2), strict=True)])
RIGHT = RNG.normal(size=(N, 2))
WEIGHT = RNG.integers(0, 3, N).astype(float)
CLASSES = RNG.integers(0, 3, N).astype(np.int32)


class Tiles:
    """Rows that are computed on demand."""

    rough = np.float64

    def __init__(self, X: Array) -> None:
        self.X, self.shape = X, X.shape

    def fill(self, rows: slice, out: Array) -> None:
        out[...] = self.X[rows]

    def take(self, rows: Array) -> Tiles:
        return Tiles(self.X[rows])


def encoded() -> Encoded:
    parts = [NumberPart(NUMBERS), CodePart(CODES[0], 3), SparsePart(SPARSE), CodePart(CODES[1], 2)]
    return Encoded.of(parts)


def tensor() -> Matrix:
    torch = pytest.importorskip("torch")
    return as_matrix(torch.as_tensor(NUMBERS))


EVERY = np.hstack([NUMBERS, ONE_HOT[:, :3], SPARSE.toarray(), ONE_HOT[:, 3:]])
#: matrices in the units of the data, with their values
STORAGES: dict[str, tuple[Callable[[], Matrix], Array]] = {
    "dense": (lambda: as_matrix(NUMBERS), NUMBERS),
    "dense by columns": (lambda: as_matrix(np.asfortranarray(NUMBERS)), NUMBERS),
    "dense integers": (lambda: as_matrix(np.rint(NUMBERS).astype(np.int32)), np.rint(NUMBERS)),
    "far from zero": (lambda: as_matrix(NUMBERS + 1e6), NUMBERS + 1e6),
    "sparse": (lambda: as_matrix(SPARSE), SPARSE.toarray()),
    "sparse by columns": (lambda: as_matrix(SPARSE.tocsc()), SPARSE.toarray()),
    "full sparse": (lambda: as_matrix(sparse.csr_array(NUMBERS)), NUMBERS),
    "rows of a sparse matrix": (
        lambda: as_matrix(sparse.vstack([SPARSE, SPARSE]).tocsr()).rows(slice(N, 2 * N)),
        SPARSE.toarray(),
    ),
    "codes": (lambda: CategoricalMatrix.of(CODES, [3, 2]), ONE_HOT),
    "split": (lambda: as_matrix(encoded()), EVERY),
    "split, numbers only": (lambda: as_matrix(Encoded.of([NumberPart(NUMBERS)])), NUMBERS),
    "split, codes only": (
        lambda: as_matrix(Encoded.of([CodePart(c, k) for c, k in zip(CODES, (3, 2), strict=True)])),
        ONE_HOT,
    ),
    "tensor": (tensor, NUMBERS),
    "computed": (lambda: TileMatrix.of(Tiles(NUMBERS)), NUMBERS),
}
#: matrices in working coordinates with an intercept
STANDARDIZED: dict[str, Callable[[], Matrix]] = {
    "dense": lambda: standardize(NUMBERS),
    "dense by columns": lambda: standardize(np.asfortranarray(NUMBERS)),
    "far from zero": lambda: standardize(NUMBERS + 1e6),
    "sparse": lambda: standardize(SPARSE),
    "split": lambda: standardize(encoded()),
    "tensor": lambda: standardize(tensor().X),
    "not shifted": lambda: standardize(NUMBERS, shifted=False),
    "sparse, not shifted": lambda: standardize(SPARSE, shifted=False),
}


def random(*shape: int) -> Array:
    return np.random.default_rng(7).normal(size=shape)


def logistic(X: Array, w: Array) -> tuple[Array, Array]:
    mean = 1 / (1 + np.exp(-X @ w))
    return X.T @ (WEIGHT * (mean - CLASSES % 2)), X.T * (WEIGHT * mean * (1 - mean)) @ X


def softmax_gradient(X: Array, W: Array) -> Array:
    eta = X @ W
    P = np.exp(eta - eta.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return np.asarray(X.T @ (WEIGHT[:, None] * (P - np.eye(3)[CLASSES])))


def observed(matrix: Matrix, response: Any, w: Array, order: int) -> Any:
    observations = matrix.observe(CLASSES % 2 if w.ndim == 1 else CLASSES, WEIGHT)
    observations = observations.responses_as(float if w.ndim == 1 else np.int64)
    return matrix.newton_terms(response, w, observations.y, observations.weight, order=order)


#: an operation of a matrix, and of its values X
OPERATIONS: dict[str, tuple[Callable[[Matrix], Any], Callable[[Array], Any]]] = {
    "shape": (lambda m: m.shape, lambda X: X.shape),
    "dense": (lambda m: m.in_memory().dense(), lambda X: X),
    "dense rows": (lambda m: m.dense_rows(slice(3, 9)), lambda X: X[3:9]),
    "dense rows at positions": (lambda m: m.dense_rows(np.array([5, 2])), lambda X: X[[5, 2]]),
    "rows": (lambda m: m.rows(slice(4, 40)).tile().dense(), lambda X: X[4:40]),
    "rows of rows": (lambda m: m.rows(slice(4, 40)).rows(slice(1, 3)).tile().dense(), lambda X: X[5:7]),
    "take": (lambda m: m.take(np.array([8, 1, 8])).tile().dense(), lambda X: X[[8, 1, 8]]),
    "take of rows": (lambda m: m.rows(slice(4, 40)).take(np.array([8, 1])).tile().dense(), lambda X: X[[12, 5]]),
    "matvec": (lambda m: to_numpy(m.matvec(random(m.n_columns))), lambda X: X @ random(X.shape[1])),
    "matvec of several": (lambda m: to_numpy(m.matvec(random(m.n_columns, 3))), lambda X: X @ random(X.shape[1], 3)),
    "rmatvec": (lambda m: m.rmatvec(RIGHT[:, 0]), lambda X: X.T @ RIGHT[:, 0]),
    "rmatvec of several": (lambda m: m.rmatvec(RIGHT), lambda X: X.T @ RIGHT),
    "gram": (lambda m: m.gram(WEIGHT), lambda X: X.T * WEIGHT @ X),
    "gram of weights of any sign": (lambda m: m.gram(RIGHT[:, 0]), lambda X: X.T * RIGHT[:, 0] @ X),
    "squares": (lambda m: m.squares(WEIGHT), lambda X: WEIGHT @ np.square(X)),
    "logistic": (
        lambda m: observed(m, Response(Bernoulli(), LOGIT), random(m.n_columns) / 50, HESSIAN)[1:],
        lambda X: logistic(X, random(X.shape[1]) / 50),
    ),
    "softmax": (
        lambda m: observed(m, SoftmaxResponse(3), random(m.n_columns, 3) / 50, GRADIENT).gradient,
        lambda X: softmax_gradient(X, random(X.shape[1], 3) / 50),
    ),
    "is finite": (lambda m: m.is_finite(), lambda X: True),
    "columns": (lambda m: np.hstack([tile for _, tile in m.in_memory().column_tiles(1)]), lambda X: X),
    "working columns": (
        lambda m: WorkingColumns(as_matrix(m.in_memory())).gather(np.arange(m.n_columns)).T,
        lambda X: X,
    ),
}


def cross_products(X: Array) -> tuple[Array, ...]:
    joined = np.column_stack([X, RIGHT])[WEIGHT > 0]
    weight = WEIGHT[WEIGHT > 0]
    centred = joined - np.average(joined, axis=0, weights=weight)
    return centred.T * weight @ centred, np.average(joined, axis=0, weights=weight)


def centred_sums(m: Matrix) -> tuple[Array, ...]:
    sums = m.cross_products(RIGHT, WEIGHT)
    assert (sums.rows, sums.weight) == (np.count_nonzero(WEIGHT), WEIGHT.sum())
    away = sums.first / sums.weight
    return sums.second - sums.weight * np.multiply.outer(away, away), sums.shift + away


def residual_gradient(X: Array) -> Array:
    rest = RIGHT - 0.5 - X @ random(X.shape[1] + 1, 2)[1:] - random(X.shape[1] + 1, 2)[0]
    return np.vstack([np.ones(N), X.T]) @ (WEIGHT[:, None] * rest)


def doubled(m: Matrix, exact: bool) -> Array:
    shift = np.append(np.zeros(m.n_columns), [0.5, 0.5])
    return np.asarray(sum(m.residual_gradient(RIGHT, WEIGHT, shift, random(m.n_columns + 1, 2), exact=exact)))


#: operations of matrices without an intercept
OF_DATA: dict[str, tuple[Callable[[Matrix], Any], Callable[[Array], Any]]] = {
    "cross products": (centred_sums, cross_products),
    "exact gradient": (lambda m: doubled(m, True), residual_gradient),
    "cheap gradient": (lambda m: doubled(m, False), residual_gradient),
    "data": (lambda m: as_matrix(m.in_memory().data).dense(), lambda X: X),
    "ranges": (lambda m: m.ranges(), lambda X: np.stack([X.min(axis=0), X.max(axis=0)])),
    "constant columns": (
        lambda m: m.constant_columns(WEIGHT),
        lambda X: np.flatnonzero(np.ptp(X[WEIGHT > 0], axis=0) == 0),
    ),
    "columns about centres": (
        lambda m: m.in_memory().columns(np.full(m.n_columns, 0.5), np.full(m.n_columns, 2.0)).products(RIGHT.T),
        lambda X: RIGHT.T @ (X - 0.5) / 2.0,
    ),
    "centred columns": (
        lambda m: m.in_memory().standardized_columns(WEIGHT, centred=True)[0].centre,
        lambda X: np.average(X, axis=0, weights=WEIGHT),
    ),
    "kernel": (
        lambda m: m.sparse_kernel(np.full(m.n_columns, 0.1)) if m.is_sparse else None,
        lambda X: (X - 0.1) @ (X - 0.1).T,
    ),
}


def assert_equal(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple) and not isinstance(expected[0], int):
        for mine, other in zip(found, expected, strict=True):
            assert_equal(mine, other)
        return
    size = float(np.abs(expected).max(initial=1.0))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11 * size)


@pytest.mark.parametrize("operation", {**OPERATIONS, **OF_DATA})
@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_has_the_results_of_numpy(storage: str, operation: str) -> None:
    make, X = STORAGES[storage]
    of_matrix, of_array = {**OPERATIONS, **OF_DATA}[operation]
    found = of_matrix(make())
    if found is not None:  # a kernel from stored entries may be impossible
        assert_equal(found, of_array(X))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("storage", STANDARDIZED)
def test_every_standardized_matrix_has_the_results_of_numpy(storage: str, operation: str) -> None:
    matrix = STANDARDIZED[storage]()
    of_matrix, of_array = OPERATIONS[operation]
    values = {"split": EVERY, "far from zero": NUMBERS + 1e6}.get(
        storage, SPARSE.toarray() if storage.startswith("sparse") else NUMBERS
    )
    shift, scale, _ = (getattr(matrix.coordinates, name) for name in ("shift", "scale", "intercept"))
    assert_equal(of_matrix(matrix), of_array(np.column_stack([(values - shift) / scale, np.ones(N)])))


@pytest.mark.parametrize("storage", STORAGES)
def test_other_coordinates_are_those_of_the_values(storage: str) -> None:
    make, X = STORAGES[storage]
    if "codes" in storage or storage == "split":
        coordinates = Coordinates.plain(X.shape[1], intercept=False)
    else:
        coordinates = Coordinates(np.arange(X.shape[1]) / 2, np.full(X.shape[1], 4.0), intercept=False)
    moved = make().within(coordinates)
    assert_equal(moved.in_memory().dense(), (X - coordinates.shift) / coordinates.scale)
    near = make().centred()
    shift, scale = near.coordinates.shift, near.coordinates.scale
    assert_equal(near.in_memory().dense(), (X - shift) / scale)
    assert not near.coordinates.intercept


@pytest.mark.parametrize("storage", STORAGES)
def test_declared_properties_are_those_of_the_values(storage: str) -> None:
    make, X = STORAGES[storage]
    matrix = make()
    assert matrix.can("gram")
    assert 1 <= matrix.stored_per_row <= max(1, X.shape[1])
    assert matrix.precision == np.finfo(float).eps
    assert as_matrix(matrix) is matrix
    blocks = [*matrix.cross_product_blocks(), *matrix.triangle_blocks()]
    assert sum(block.stop - block.start for block in blocks) == 2 * N


def test_single_precision_is_declared() -> None:
    for X in (NUMBERS.astype(np.float32), sparse.csr_array(NUMBERS.astype(np.float32))):
        assert as_matrix(X).dtype == np.float32
        assert as_matrix(X).precision == np.finfo(np.float32).eps


def test_a_few_rows_of_codes_are_a_sparse_matrix() -> None:
    X = encoded()[:5]
    assert type(as_matrix(X)) is type(as_matrix(SPARSE))
    assert_equal(as_matrix(X).dense(), X.toarray())
