"""An encoded matrix behaves like the array it represents, except for its size."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer._errors import DataError, TooLargeError
from mercer.matrices import DenseMatrix, Encoded, Matrix, SparseMatrix, SplitMatrix, matrix_of
from mercer.matrices.encoded import CodePart, NumberPart, Part, SparsePart


@st.composite
def expanded(draw: Any, least_rows: int = 0) -> tuple[Encoded, np.ndarray]:
    """Parts of any kind, and the array that they stand for."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(least_rows, 9))
    parts: list[Part] = []
    dense = [np.zeros((n, 0))]
    for kind in draw(st.lists(st.sampled_from("ncs"), max_size=5)):
        width = draw(st.integers(0, 4))
        if kind == "c":
            codes = rng.integers(-1, width, n) if width else np.full(n, -1)
            parts.append(CodePart(codes, width))
            dense.append(np.vstack([np.eye(width), np.zeros(width)])[codes])
        else:
            numbers = rng.integers(-2, 3, (n, width)).astype(float)
            parts.append(NumberPart(numbers) if kind == "n" else SparsePart(sparse.csr_matrix(numbers)))
            dense.append(numbers)
    return Encoded.of(parts, n_rows=n), np.hstack(dense)


@given(expanded())
def test_it_is_converted_to_an_array_or_a_sparse_matrix(case: tuple[Encoded, np.ndarray]) -> None:
    X, dense = case
    assert (X.shape, X.ndim, X.dtype, len(X)) == (dense.shape, 2, dense.dtype, len(dense))
    assert_array_equal(X.toarray(), dense)
    assert_array_equal(np.asarray(X), dense)
    assert np.asarray(X, dtype=np.float32).dtype == np.float32
    assert_array_equal(np.array(list(X)).reshape(dense.shape), dense)
    matrix = X.tocsr()
    assert_array_equal(matrix.toarray(), dense)
    assert matrix.nnz == np.count_nonzero(dense)
    assert sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), matrix.shape).has_canonical_format


@given(expanded(least_rows=1), st.data())
def test_rows_are_indexed_like_those_of_an_array(case: tuple[Encoded, np.ndarray], data: st.DataObject) -> None:
    X, dense = case
    n = len(X)
    slices = st.slices(n)
    positions = st.lists(st.integers(-n, n - 1)).map(lambda rows: np.array(rows, dtype=int))
    masks = st.lists(st.booleans(), min_size=n, max_size=n).map(np.array)
    rows = data.draw(st.one_of(slices, positions, masks))
    assert_array_equal(X[rows].toarray(), dense[rows])
    assert_array_equal(X[rows, ...].toarray(), dense[rows])
    assert_array_equal(X[rows, :].toarray(), dense[rows])
    row = data.draw(st.integers(-n, n - 1))
    assert_array_equal(X[row], dense[row])
    assert X[...] is X


def test_entries_and_columns_are_indexed_like_those_of_an_array() -> None:
    X = mixed()
    dense = X.toarray()
    assert X[3, 2] == dense[3, 2]
    assert_array_equal(X[:, 4], dense[:, 4])
    assert_array_equal(X[:, [5, 0]], dense[:, [5, 0]])
    assert_array_equal(X[2:9, 1:3], dense[2:9, 1:3])
    assert_array_equal(X[[1, 2], [3, 4]], dense[[1, 2], [3, 4]])
    assert_array_equal(X[X[:, 0] > 0].toarray(), dense[dense[:, 0] > 0])


@pytest.mark.parametrize("rows", [40, -41, [40], [[1, 2]], [0.5], [True] * 39, "a", (0, 0, 0)])
def test_rows_out_of_range_are_rejected(rows: Any) -> None:
    with pytest.raises(IndexError):
        mixed()[rows]


@given(expanded(), st.integers(0, 3))
def test_products_do_not_form_the_matrix(case: tuple[Encoded, np.ndarray], k: int) -> None:
    X, dense = case
    w = np.arange(1.0, 1 + dense.shape[1] * max(1, k)).reshape(dense.shape[1], *[k][: k > 0])
    assert_array_equal(X @ w, dense @ w)


@given(expanded(), st.integers(0, 3))
def test_products_with_the_transpose_do_not_form_the_matrix(case: tuple[Encoded, np.ndarray], k: int) -> None:
    X, dense = case
    r = np.arange(1.0, 1 + len(dense) * max(1, k)).reshape(len(dense), *[k][: k > 0])
    assert X.T.shape == dense.T.shape
    assert_array_equal(X.T @ r, dense.T @ r)
    assert_array_equal(X.squared().T @ r, (dense**2).T @ r)


def test_products_with_the_wrong_number_of_coefficients_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\) do not fit 12 columns"):
        mixed() @ np.ones(3)
    with pytest.raises(ValueError, match=r"shape \(12,\) do not fit 40 rows"):
        mixed().T @ np.ones(12)


@given(expanded(), expanded())
def test_blocks_are_stacked_side_by_side(one: tuple[Encoded, np.ndarray], other: tuple[Encoded, np.ndarray]) -> None:
    n = min(len(one[0]), len(other[0]))
    blocks = [one[0][:n], other[1][:n], sparse.csr_matrix(other[1][:n])]
    assert_array_equal(Encoded.hstack(blocks).toarray(), np.hstack([one[1][:n], other[1][:n], other[1][:n]]))


@given(expanded(least_rows=1), st.data())
def test_stacked_rows_keep_their_parts(case: tuple[Encoded, np.ndarray], data: st.DataObject) -> None:
    X, dense = case
    cut = data.draw(st.integers(0, len(X)))
    again = Encoded.vstack([X[:cut], X[cut:]])
    assert_array_equal(again.toarray(), dense)
    assert [str(part) for part in again.parts] == [str(part) for part in X.parts]


def test_names_are_kept_if_all_blocks_have_them() -> None:
    named = Encoded.of([CodePart(np.array([0, 1]), 2)], names=["a", "b"])
    assert list(Encoded.hstack([named, named]).names) == ["a", "b", "a", "b"]
    assert list(named[:1].names) == ["a", "b"]
    assert list(Encoded.vstack([named, named]).names) == ["a", "b"]
    assert list(Encoded.hstack([named, np.zeros((2, 1))]).names) == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([CodePart(np.array([0, 2]), 2)], "the code 2 of row 1 lies outside"),
        ([CodePart(np.array([0, -2]), 2)], "the code -2 of row 1 lies outside"),
        ([CodePart(np.array([0.0, 1.0]), 2)], "vector of integers, not of float64"),
        ([NumberPart(np.zeros(3))], "must be a matrix"),
        ([SparsePart(sparse.csr_matrix(np.eye(2) * 1j))], "holds no real numbers"),
        ([NumberPart(np.zeros((3, 1))), NumberPart(np.zeros((2, 1)))], r"parts have \[2, 3\] rows"),
        ([], r"parts have \[\] rows"),
    ],
)
def test_inconsistent_parts_are_rejected(parts: list[Part], words: str) -> None:
    with pytest.raises(DataError, match=words):
        Encoded.of(parts)


def test_names_of_the_wrong_number_are_rejected() -> None:
    with pytest.raises(DataError, match="2 names do not fit 12 columns"):
        Encoded.of(mixed().parts, names=["a", "b"])
    with pytest.raises(DataError, match="no block to join"):
        Encoded.hstack([])


def test_counts_are_converted_to_float64() -> None:
    X = Encoded.of([SparsePart(sparse.csr_matrix(np.eye(2, dtype=np.int32)))])
    assert X.tocsr().dtype == X.toarray().dtype == (X @ np.ones(2)).dtype == np.float64


def test_entries_stored_twice_are_added() -> None:
    twice = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    X = Encoded.of([SparsePart(twice)])
    assert_array_equal(X.toarray(), [[3.0, 0.0]])
    assert twice.nnz == 2  # the matrix that was given stays as it was


def test_a_matrix_that_does_not_fit_into_memory_is_rejected_with_size_and_remedy() -> None:
    n, levels = 1_000_000, 1_000_000
    X = Encoded.of([CodePart(np.zeros(n, dtype=np.int32), levels)])
    with pytest.raises(TooLargeError, match=r"1,000,000 rows × 1,000,000 columns .* 8e\+03 GB.*X\.tocsr\(\).*hashed"):
        np.asarray(X)
    assert X.nbytes == 4 * n
    assert X.tocsr().nnz == n


def test_an_array_without_a_copy_is_rejected() -> None:
    with pytest.raises(ValueError, match="not stored as one array"):
        np.asarray(mixed(), copy=False)


def test_pickle_and_repr_use_the_parts() -> None:
    X = mixed()
    assert_array_equal(pickle.loads(pickle.dumps(X)).toarray(), X.toarray())
    assert repr(X) == "Encoded(40 rows × 12 columns: 2 of numbers, 3 of levels, 3 sparse, 4 of levels)"
    assert repr(Encoded.of([], n_rows=3)) == "Encoded(3 rows × 0 columns: none)"
    frame = pd.DataFrame(X, columns=list(X.names))
    assert_array_equal(frame.to_numpy(), X.toarray())


def mixed(seed: int = 0, n: int = 40) -> Encoded:
    rng = np.random.default_rng(seed)
    return Encoded.of(
        [
            NumberPart(rng.normal(5.0, 2.0, (n, 2))),
            CodePart(rng.integers(-1, 3, n), 3),
            SparsePart(sparse.random(n, 3, 0.5, format="csr", random_state=seed)),
            CodePart(rng.integers(0, 4, n), 4),
        ]
    )


# As a design.


def in_data_units(design: Matrix, n_columns: int) -> np.ndarray:
    """The columns of the data, from working coordinates back."""
    coordinates = design.coordinates
    return design.dense()[:, :n_columns] * coordinates.scale + coordinates.shift


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("chosen", [(0,), (1, 3), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2, 3), (3, 0)])
def test_parts_give_a_design_in_the_order_of_the_columns(chosen: tuple[int, ...], intercept: bool) -> None:
    X, more = (Encoded.of([source.parts[j] for j in chosen]) for source in (mixed(), mixed(1, 7)))
    design, terms = matrix_of(X, intercept=intercept)
    assert_allclose(in_data_units(design, X.shape[1]), X.toarray(), rtol=0, atol=1e-12)
    assert design.n_columns == X.shape[1] + intercept
    new = terms.design(more)
    assert_array_equal(new.coordinates.scale, design.coordinates.scale)
    assert_allclose(in_data_units(new, X.shape[1]), more.toarray(), rtol=0, atol=1e-12)


def test_codes_stay_codes_and_numbers_are_not_copied() -> None:
    X = mixed()
    design, _ = matrix_of(X)
    assert isinstance(design, SplitMatrix)
    assert design.numbers.X is X.parts[0].X
    assert design.codes.n_columns == 7
    assert design.sparse.n_columns == 3
    assert isinstance(matrix_of(Encoded.of([X.parts[0]]))[0], DenseMatrix)
    assert isinstance(matrix_of(Encoded.of([X.parts[2]]), intercept=False)[0], SparseMatrix)


def test_encoded_rows_are_read_in_the_coordinates_of_a_fit_to_an_array() -> None:
    X, w = mixed(), np.arange(13.0)
    _, terms = matrix_of(X.toarray())
    assert_allclose(terms.design(X).matvec(w), terms.design(X.toarray()).matvec(w), rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_an_array_is_read_in_the_coordinates_of_a_fit_to_codes(intercept: bool) -> None:
    X = mixed()
    design, terms = matrix_of(X, intercept=intercept)
    w = np.arange(12.0 + intercept)
    for same in (X.toarray(), X.tocsr()):
        assert_allclose(terms.design(same).matvec(w), design.matvec(w), rtol=1e-12)


def test_rows_of_other_columns_are_rejected() -> None:
    _, terms = matrix_of(mixed())
    with pytest.raises(DataError, match="7 encoded columns, but the model was fitted to 12"):
        terms.design(Encoded.of([mixed().parts[1], mixed().parts[3]]))
    _, terms = matrix_of(pd.DataFrame({"city": ["Ulm", "Bonn"]}))
    with pytest.raises(DataError, match="some of them categories"):
        terms.design(Encoded.of([CodePart(np.array([0]), 1)]))


def test_the_first_invalid_entry_is_found() -> None:
    X = mixed()
    X.parts[0].X[7, 1] = np.nan
    assert X.first_where(np.isnan)[:2] == (7, 1)
    X.parts[2].matrix.data[0] = np.nan
    row, column, value = X.first_where(np.isnan)
    assert (row, column) < (7, 1)
    assert column >= 5
    assert np.isnan(value)
    assert X.first_where(np.isinf) is None
