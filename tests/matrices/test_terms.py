"""Frames become designs with named coefficients, and new rows are read the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from mercer._errors import ColumnMismatchError, ColumnTypeError, DataError, NonFiniteError, UnseenCategoryError
from mercer.data.table import Table
from mercer.matrices import DenseMatrix, SparseMatrix, SplitMatrix, matrix_of

ROWS = 60


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, ROWS),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], ROWS),
            "children": rng.integers(0, 5, ROWS),
            "size": pd.Categorical(rng.choice(["S", "L"], ROWS), categories=["S", "M", "L"]),
            "member": rng.random(ROWS) < 0.5,
        }
    )


def expanded(frame: pd.DataFrame, *, drop_first: bool = True) -> np.ndarray:
    city, size = ["Bonn", "Kiel", "Ulm"][drop_first:], ["S", "L"][drop_first:]
    columns = [frame["age"], *(frame["city"] == c for c in city), frame["children"]]
    columns += [*(frame["size"].astype(str) == s for s in size), frame["member"], np.ones(len(frame))]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame).with_columns(pl.col("size").cast(pl.Enum(["S", "M", "L"]))),
    "pyarrow": pa.Table.from_pandas,
    "table": Table.of,
}


@pytest.fixture(params=FRAMES)
def framed(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    return FRAMES[request.param]


@pytest.mark.parametrize("drop_first", [True, False])
def test_a_frame_agrees_with_its_one_hot_matrix(framed: Callable[[pd.DataFrame], Any], drop_first: bool) -> None:
    frame = people()
    design, terms = matrix_of(framed(frame), drop_first=drop_first)
    X = expanded(frame, drop_first=drop_first)
    w = np.random.default_rng(1).normal(size=X.shape[1])
    np.testing.assert_allclose(design.matvec(design.coordinates.from_user(w[:-1], w[-1])), X @ w)
    assert len(terms.names) == X.shape[1] - 1
    new = terms.design(framed(frame[7:20]))
    np.testing.assert_array_equal(new.coordinates.shift, design.coordinates.shift)
    np.testing.assert_allclose(new.dense(), design.dense()[7:20])


def test_coefficients_have_names_in_the_order_of_the_columns(framed: Callable[[pd.DataFrame], Any]) -> None:
    _, terms = matrix_of(framed(people()))
    assert terms.names == ("age", "city[Kiel]", "city[Ulm]", "children", "size[L]", "member")
    _, terms = matrix_of(framed(people()), drop_first=False)
    assert terms.names[1:4] == ("city[Bonn]", "city[Kiel]", "city[Ulm]")


def test_numbers_are_read_without_a_copy() -> None:
    X = np.random.default_rng(0).normal(size=(10, 3))
    for held in (X, np.asfortranarray(X), pd.DataFrame(X, columns=list("abc"))):
        design, terms = matrix_of(held)
        assert isinstance(design, DenseMatrix)
        assert np.shares_memory(design.X, np.asarray(held))
    assert terms.names == ("a", "b", "c")
    assert matrix_of(X)[1].names == ("x0", "x1", "x2")


def test_designs_have_the_expected_parts() -> None:
    X = sparse.csr_array(np.eye(3))
    assert isinstance(matrix_of(X, intercept=False)[0], SparseMatrix)
    design, terms = matrix_of(X)
    assert isinstance(design, SplitMatrix)
    np.testing.assert_array_equal(design.dense(), np.hstack([np.eye(3), np.ones((3, 1))]))
    np.testing.assert_array_equal(terms.design(2 * X).dense(), np.hstack([2 * np.eye(3), np.ones((3, 1))]))
    only_codes, _ = matrix_of(people()[["city"]], intercept=False)
    assert isinstance(only_codes, SplitMatrix)
    assert only_codes.numbers is None
    mixed = np.array([["red", 1.5], ["blue", 2.5]], dtype=object)
    assert matrix_of(mixed)[1].names == ("x0[red]", "x1")


@pytest.mark.parametrize("intercept", [True, False])
def test_dense_and_sparse_rows_are_read_alike(intercept: bool) -> None:
    X = np.random.default_rng(0).poisson([0.5, 10.0, 0.5], size=(50, 3)).astype(float)
    for fitted, new in ((X, sparse.csr_array(X)), (sparse.csr_array(X), X), (X, sparse.csc_matrix(X))):
        design, terms = matrix_of(fitted, intercept=intercept)
        np.testing.assert_allclose(terms.design(new).dense(), design.dense(), atol=1e-12)
        w = np.arange(1.0, design.n_columns + 1)
        np.testing.assert_allclose(terms.design(new).matvec(w), design.matvec(w))


def test_columns_are_found_by_name() -> None:
    frame = people()
    design, terms = matrix_of(frame)
    np.testing.assert_allclose(terms.design(frame[frame.columns[::-1]]).dense(), design.dense())
    with pytest.raises(ColumnMismatchError, match=r"There is no column 'city'. Did you mean 'City'"):
        terms.design(frame.rename(columns={"city": "City"}))
    with pytest.raises(ColumnMismatchError, match="X has 2 columns, but it had 3"):
        matrix_of(np.zeros((3, 3)))[1].design(np.zeros((3, 2)))


@pytest.mark.parametrize("size", [1, 30])
def test_an_unseen_level_is_named(framed: Callable[[pd.DataFrame], Any], size: int) -> None:
    frame = people()
    _, terms = matrix_of(framed(frame))
    new = frame[:size].assign(city=["Bon"] * size)
    with pytest.raises(UnseenCategoryError, match=r"'city' holds 'Bon', .* Did you mean 'Bonn'\? Correct it"):
        terms.design(framed(new))


def test_a_long_level_is_cut_short_and_the_known_ones_counted() -> None:
    frame = pd.DataFrame({"text": [f"{number} {'word ' * 200}" for number in range(50)]})
    _, terms = matrix_of(frame)
    with pytest.raises(UnseenCategoryError, match=r"'text' holds 'new new .*…', which.*50 in all") as rejection:
        terms.design(pd.DataFrame({"text": ["new " * 300]}))
    assert len(str(rejection.value)) < 800


def test_a_declared_level_that_never_occurred_has_no_coefficient() -> None:
    frame = people()
    _, terms = matrix_of(frame)
    frame.loc[3, "size"] = "M"
    with pytest.raises(UnseenCategoryError, match="'size' holds 'M'"):
        terms.design(frame)


def test_a_missing_category_is_rejected_with_its_row(framed: Callable[[pd.DataFrame], Any]) -> None:
    frame = people()
    _, terms = matrix_of(framed(frame))
    frame.loc[5, "city"] = None
    for read in (matrix_of, terms.design):
        with pytest.raises(
            NonFiniteError, match="Column 'city' has a missing value in row 5; give missing values a level"
        ):
            read(framed(frame))


def test_a_missing_number_is_left_for_the_products_to_find() -> None:
    frame = people()
    frame.loc[5, "age"] = np.nan
    design, _ = matrix_of(frame)
    assert np.isnan(design.matvec(np.zeros(design.n_columns))[5])


def test_columns_of_another_type_are_rejected() -> None:
    frame = people()
    _, terms = matrix_of(frame)
    with pytest.raises(ColumnTypeError, match="'age' held numbers when the model was fitted, and now holds categories"):
        terms.design(frame.assign(age="old"))
    with pytest.raises(
        ColumnTypeError, match="'city' held categories when the model was fitted, and now holds numbers"
    ):
        terms.design(frame.assign(city=1.0))


def test_dates_are_rejected_with_a_remedy() -> None:
    frame = people().assign(born=pd.Timestamp("2000-01-01"))
    with pytest.raises(ColumnTypeError, match=r"Column 'born' .* turn it into numbers"):
        matrix_of(frame)


def test_levels_of_several_types_are_distinguished() -> None:
    mixed = pd.DataFrame({"a": pd.Series([1, "1", 2.5, 1], dtype=object)})
    design, terms = matrix_of(mixed, drop_first=False, intercept=False)
    assert terms.names == ("a[1]", "a[1]", "a[2.5]")  # the number 1, the string, 2.5
    np.testing.assert_array_equal(design.dense().sum(axis=0), [2, 1, 1])
    np.testing.assert_array_equal(terms.design(mixed).dense(), design.dense())


def test_input_that_is_not_a_table_is_rejected() -> None:
    with pytest.raises(DataError, match="Expected 2D array, got 1D array instead"):
        matrix_of(np.zeros(3))
