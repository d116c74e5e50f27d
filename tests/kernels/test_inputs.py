"""Invalid input gives one typed error that names the cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import kernels as k
from mercer._errors import ColumnMismatchError, ColumnTypeError, DataError, EmptyDataError, NonFiniteError, SupportError
from mercer.kernels.inputs import count, take

EVERY = [k.Linear(), k.RBF(), k.Laplacian(), k.ChiSquared(), k.Linear() + k.RBF(), k.FromFunction(np.dot)]
NAN = np.array([[1.0, 2.0], [3.0, np.nan]])


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (NAN, NonFiniteError, "NaN: column 1 is nan in row 1"),
        (sp.csr_array(NAN), NonFiniteError, "column 1 is nan in row 1"),
        (np.array([[np.inf]]), NonFiniteError, "infinity"),
        (np.ones(3), DataError, r"reshape\(-1, 1\)"),
        (np.ones((2, 0)), EmptyDataError, "no columns"),
        (np.array([[1, "a"]], dtype=object), ColumnTypeError, "'a' in row 0, column 1"),
        (np.array([[1j]]), ColumnTypeError, "Complex"),
        ([[1.0, 2.0], [3.0]], DataError, "differ in length"),
    ],
)
def test_input_that_is_not_a_table_of_numbers_is_rejected(
    kernel: k.Kernel, X: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        kernel(X)


@pytest.mark.parametrize("kernel", EVERY[:-1], ids=repr)
def test_texts_are_rejected_where_numbers_are_expected(kernel: k.Kernel) -> None:
    with pytest.raises(ColumnTypeError, match="texts"):
        kernel(["a", "b"])


@pytest.mark.parametrize("kernel", EVERY[:-1], ids=repr)
def test_both_sides_must_have_the_same_columns(kernel: k.Kernel) -> None:
    with pytest.raises(ColumnMismatchError, match="X has 3 columns, but the rows it is compared with have 2"):
        kernel(np.ones((2, 3)), np.ones((4, 2)))


@pytest.mark.parametrize("kernel", [k.ChiSquared(), k.AdditiveChiSquared(), k.HistogramIntersection()], ids=repr)
def test_negative_histograms_are_rejected(kernel: k.Kernel) -> None:
    with pytest.raises(SupportError, match="Column 1 is -2 in row 0"):
        kernel(np.array([[1.0, -2.0]]))


def test_rows_whose_squares_overflow_are_rejected() -> None:
    with pytest.raises(DataError, match="squared norm of row 1 overflows float64"):
        k.Linear()(np.array([[1.0], [1e200]]))


def test_no_rows_have_no_entries() -> None:
    for kernel in EVERY:
        assert kernel(np.ones((3, 2)), np.ones((0, 2))).shape == (3, 0)
        assert kernel(np.ones((0, 2))).shape == (0, 0)


def test_frames_are_accepted() -> None:
    pandas = pytest.importorskip("pandas")
    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(k.RBF()(pandas.DataFrame(X)), k.RBF()(X))


def test_rows_whose_sum_overflows_are_accepted() -> None:
    large = np.full((2, 2), 1e308)
    np.testing.assert_array_equal(k.OneDimensional(lambda rows: rows[..., 0] / 1e308)(large), np.ones((2, 2)))


def test_arrays_in_cells_are_rejected() -> None:
    cells = np.empty((1, 1), dtype=object)
    cells[0, 0] = np.array([1.0])
    with pytest.raises(ColumnTypeError, match="row 0, column 0"):
        k.Linear()(cells)


@pytest.mark.parametrize("kind", ["array", "sparse", "frame", "tensor", "texts"])
def test_rows_are_selected_by_number(kind: str) -> None:
    X, numbers = np.arange(12.0).reshape(4, 3), np.array([3, 0])
    if kind == "texts":
        assert (count("abcd"), take(list("abcd"), numbers)) == (4, ["d", "a"])
        return
    if kind in ("frame", "tensor"):
        library = pytest.importorskip({"frame": "pandas", "tensor": "torch"}[kind])
        given = library.DataFrame(X) if kind == "frame" else library.as_tensor(X)
    else:
        given = sp.csr_array(X) if kind == "sparse" else X
    taken = take(given, numbers)
    assert count(given) == 4
    np.testing.assert_array_equal(taken.toarray() if kind == "sparse" else np.asarray(taken), X[numbers])
