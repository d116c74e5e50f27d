"""Every design multiplies like the matrix it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import _threads
from mercer._errors import TooManyColumnsError
from mercer.engines import engine
from mercer.matrices import CategoricalMatrix, DenseMatrix, Matrix, SparseMatrix, SplitMatrix
from tests.matrices._cases import Expanded, any_design, one_hot, sparse_of

EXACT = {"rtol": 1e-11, "atol": 1e-11}


def working(case: Expanded) -> np.ndarray:
    """The matrix in working coordinates, by their definition."""
    shift, scale, intercept = (getattr(case.design.coordinates, name) for name in ("shift", "scale", "intercept"))
    columns = (case.matrix[:, : len(shift)] - shift) / scale
    return np.hstack([columns, np.ones((len(columns), 1))])[:, : len(shift) + intercept]


@given(any_design(), st.integers(0, 2**32), st.sampled_from([(), (3,)]))
@settings(max_examples=150)
def test_products_agree_with_the_matrix(case: Expanded, seed: int, more: tuple[int, ...]) -> None:
    design, X, rng = case.design, working(case), np.random.default_rng(seed)
    assert (design.n_rows, design.n_columns) == X.shape
    w, r, h = rng.normal(size=(X.shape[1], *more)), rng.normal(size=(len(X), *more)), rng.normal(size=len(X))
    np.testing.assert_allclose(design.dense(), X, **EXACT)
    np.testing.assert_allclose(design.matvec(w), X @ w, **EXACT)
    np.testing.assert_allclose(design.rmatvec(r), X.T @ r, **EXACT)
    for weight in (h, h * h, np.where(h > 0, h, 0.0), np.zeros_like(h)):
        gram = design.gram(weight)
        np.testing.assert_allclose(gram, X.T * weight @ X, **EXACT)
        np.testing.assert_array_equal(gram, gram.T)


@given(any_design(), st.data())
@settings(max_examples=60)
def test_rows_and_take_agree_with_the_matrix(case: Expanded, data: st.DataObject) -> None:
    X, n = working(case), len(case.matrix)
    start, stop = sorted((data.draw(st.integers(0, n)), data.draw(st.integers(0, n))))
    chosen = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=9)), dtype=np.int64)
    part = case.design.rows(slice(start, stop))
    np.testing.assert_allclose(part.dense(), X[start:stop], **EXACT)
    np.testing.assert_allclose(case.design.take(chosen).dense(), X[chosen], **EXACT)
    np.testing.assert_allclose(part.rows(slice(1, None)).dense(), X[start:stop][1:], **EXACT)
    again = np.arange(stop - start)[::2]
    np.testing.assert_allclose(part.take(again).dense(), X[start:stop][::2], **EXACT)


@given(any_design(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_working_coefficients_and_user_coefficients_give_the_same_predictions(case: Expanded, seed: int) -> None:
    coordinates, rng = case.design.coordinates, np.random.default_rng(seed)
    w = rng.normal(size=case.design.n_columns)
    coefficients, intercept = coordinates.to_user(w)
    X = case.matrix[:, : len(coefficients)]
    moved = 0.0 if coordinates.intercept else -coordinates.shift @ coefficients
    # cancellation of a large shift, not of the design
    room = 1e-13 * np.abs(X).max(initial=1.0) * np.abs(coefficients).max(initial=1.0)
    np.testing.assert_allclose(
        case.design.matvec(w), X @ coefficients + intercept + moved, rtol=1e-11, atol=1e-11 + room
    )


def large_designs() -> dict[str, Matrix]:
    """Designs of several blocks each."""
    rng = np.random.default_rng(0)
    n = 150_000
    numbers = DenseMatrix.of(rng.normal(size=(n, 40)) + np.arange(40))
    stored = SparseMatrix.of(sparse_of(rng, n, 20, "csr", np.float64, messy=False))
    codes = CategoricalMatrix.of([rng.integers(-1, k, n) for k in (3, 30, 7)], [3, 30, 7], drop_first=True)
    few = DenseMatrix.of(numbers.X[:, :3], intercept=False)
    mixed = SplitMatrix.of(few, stored, codes, intercept=True)
    return {"dense": numbers, "sparse": stored, "codes": codes, "mixed": mixed}


@pytest.mark.parametrize("name", ["dense", "sparse", "codes", "mixed"])
def test_blocks_and_threads_give_identical_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "available_cores", lambda: 4)
    design = large_designs()[name]
    assert len(design.blocks()) > 1
    rng = np.random.default_rng(1)
    w, r = rng.normal(size=design.n_columns), rng.normal(size=design.n_rows)
    found = []
    for threads in (1, 3):
        with engine(threads=threads):
            found.append((design.matvec(w), design.rmatvec(r), design.gram(r)))
    for one, several in zip(*found, strict=True):
        np.testing.assert_array_equal(one, several)
    X = design.dense()
    for product, expected in zip(found[0], (X @ w, X.T @ r, X.T * r @ X), strict=True):
        np.testing.assert_allclose(product, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_value_that_is_not_finite_affects_every_product(name: str, value: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    X[17, 1] = value
    codes = CategoricalMatrix.of([rng.integers(0, 3, 50)], [3])
    design = {
        "dense": lambda: DenseMatrix.of(X),
        "sparse": lambda: SparseMatrix.of(sparse.csr_array(X)),
        "mixed": lambda: SplitMatrix.of(DenseMatrix.of(X, intercept=False), codes=codes, intercept=True),
    }[name]()
    assert np.isfinite(design.coordinates.scale).all()
    assert np.isfinite(design.coordinates.shift).all()
    for w in (np.zeros(design.n_columns), np.ones(design.n_columns)):
        assert not np.isfinite(design.matvec(w)[17])
    for r in (np.zeros(50), np.ones(50)):
        assert not np.isfinite(design.rmatvec(r)[1])
        assert not np.isfinite(design.gram(r)[1, 1])


def test_a_gram_matrix_too_large_to_form_is_rejected_by_name() -> None:
    design = CategoricalMatrix.of([np.arange(20_000)], [20_000])
    with pytest.raises(TooManyColumnsError, match="20000 columns would take 3 GiB"):
        design.gram(np.ones(20_000))
    np.testing.assert_array_equal(design.rmatvec(np.arange(20_000.0)), np.arange(20_000.0))


@pytest.mark.parametrize("name", ["dense", "sparse", "codes", "mixed"])
def test_coefficients_of_wrong_shape_are_rejected(name: str) -> None:
    design = large_designs()[name]
    for size in (design.n_columns - 1, design.n_columns + 1):
        with pytest.raises(ValueError, match=f"{size} coefficients do not fit {design.n_columns} columns"):
            design.matvec(np.zeros(size))


def test_no_rows_have_products_of_zero() -> None:
    design = DenseMatrix.of(np.zeros((3, 2))).rows(slice(0, 0))
    assert design.matvec(np.ones(3)).shape == (0,)
    np.testing.assert_array_equal(design.rmatvec(np.zeros(0)), np.zeros(3))
    np.testing.assert_array_equal(design.gram(np.zeros(0)), np.zeros((3, 3)))


def test_a_dropped_first_level_has_no_column_in_the_reference_matrix() -> None:
    np.testing.assert_array_equal(one_hot([np.array([1])], [2], drop_first=True), [[1.0]])


@pytest.mark.parametrize("name", ["dense", "sparse", "codes", "mixed"])
def test_a_dense_block_is_of_a_size_that_fits_into_memory(name: str) -> None:
    design = large_designs()[name]
    blocks = design.dense_blocks()
    assert sum(block.stop - block.start for block in blocks) == design.n_rows
    assert max(block.stop - block.start for block in blocks) * design.n_columns * 8 <= 1 << 25
