"""Tables of the same data agree for all libraries."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from mercer._errors import ColumnMismatchError, ColumnTypeError, DataError
from mercer.data import Kind, Table

COLUMNS: dict[str, list[Any]] = {
    "height": [1.5, None, 2.5, 3.5],
    "visits": [3, 1, None, 3],
    "rank": [2, 0, 1, 2],
    "smoker": [True, None, False, True],
    "colour": ["red", "blue", None, "red"],
}
KINDS = (Kind.NUMBER, Kind.INTEGER, Kind.INTEGER, Kind.BOOLEAN, Kind.CATEGORY)
FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns).astype(
        {"visits": "Int64", "smoker": "boolean", "colour": "str"}, copy=False
    ),
    "pandas with arrow types": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "pyarrow in chunks": lambda columns: pa.concat_tables([pa.table(columns).slice(0, 1), pa.table(columns).slice(1)]),
    "polars in chunks": lambda columns: pl.DataFrame(columns)[:1].vstack(pl.DataFrame(columns)[1:]),
}


@pytest.fixture(params=FRAMES)
def frame(request: pytest.FixtureRequest) -> Any:
    return FRAMES[request.param](COLUMNS)


def values_of(table: Table, column: int) -> list[Any]:
    """Return the column as Python values, by its codes."""
    codes, labels = table.coded(column)
    assert codes.dtype == np.int32
    return [None if code < 0 else labels.tolist()[code] for code in codes]


def test_names_kinds_and_shape(frame: Any) -> None:
    table = Table.of(frame)
    assert table.names == tuple(COLUMNS)
    assert table.named
    assert table.kinds == KINDS
    assert (table.n_rows, table.n_columns) == (4, 5)


def test_numbers_have_nan_for_missing(frame: Any) -> None:
    numbers = Table.of(frame).numbers([1, 0, 3])
    expected = [[3, 1.5, 1], [1, np.nan, np.nan], [np.nan, 2.5, 0], [3, 3.5, 1]]
    np.testing.assert_array_equal(numbers, expected)
    assert numbers.dtype == np.float64
    assert numbers.flags.c_contiguous
    assert numbers.flags.writeable


@pytest.mark.parametrize("rows", [slice(None), slice(1, 3), slice(2, 2), slice(-1, None), slice(3, 100)])
def test_codes_of_selected_rows(frame: Any, rows: slice) -> None:
    table = Table.of(frame).rows(rows)
    for column, values in enumerate(COLUMNS.values()):
        assert values_of(table, column) == values[rows]


def test_selected_rows_can_be_selected_again(frame: Any) -> None:
    table = Table.of(frame).rows(slice(1, None)).rows(slice(1, 3))
    assert values_of(table, 2) == [1, 2]
    assert table.numbers([2]).tolist() == [[1.0], [2.0]]
    assert len(table.native) == 2


def test_take_keeps_the_given_order(frame: Any) -> None:
    table = Table.of(frame).rows(slice(1, None)).take(np.array([2, 0]))
    assert values_of(table, 4) == ["red", "blue"]


def test_rows_of_frames_are_frames(frame: Any) -> None:
    built = Table.of(frame).like({"x": np.array([1.5, 2.5]), "y": np.array(["a", "b"], dtype=object)})
    assert type(built) is type(frame)
    again = Table.of(built)
    assert again.kinds == (Kind.NUMBER, Kind.CATEGORY)
    assert values_of(again, 1) == ["a", "b"]


def test_a_category_is_not_a_number(frame: Any) -> None:
    with pytest.raises(ColumnTypeError, match=r"'colour'.*NaiveBayes"):
        Table.of(frame).numbers()


def test_slices_with_steps_are_rejected(frame: Any) -> None:
    with pytest.raises(ValueError, match="take"):
        Table.of(frame).rows(slice(None, None, 2))


def test_a_mistyped_column_suggests_a_similar_name(frame: Any) -> None:
    assert Table.of(frame).position("rank") == 2
    with pytest.raises(ColumnMismatchError, match=r"'Colour'.*Did you mean 'colour'"):
        Table.of(frame).position("Colour")


DECLARED = {
    "pandas": pd.DataFrame({"c": pd.Categorical(["x", None, "y"], categories=["z", "y", "x"])}),
    "pandas ordered": pd.DataFrame({"c": pd.Categorical(["x", None, "y"], categories=["z", "y", "x"], ordered=True)}),
    "polars": pl.DataFrame({"c": pl.Series(["x", None, "y"], dtype=pl.Enum(["z", "y", "x"]))}),
    "pyarrow": pa.table({"c": pa.DictionaryArray.from_arrays(pa.array([2, None, 1]), pa.array(["z", "y", "x"]))}),
}


@pytest.mark.parametrize("frame", DECLARED.values(), ids=DECLARED)
def test_declared_levels_come_in_the_declared_order(frame: Any) -> None:
    table = Table.of(frame)
    levels = table.declared_levels(0)
    assert table.kinds == (Kind.CATEGORY,)
    assert levels is not None
    assert levels.tolist() == ["z", "y", "x"]
    assert values_of(table.rows(slice(1, 3)), 0) == [None, "y"]


def test_categories_of_polars_belong_to_the_process_not_to_the_column() -> None:
    _other = pl.Series(["w"], dtype=pl.Categorical)
    table = Table.of(pl.DataFrame({"c": pl.Series(["x", None], dtype=pl.Categorical)}))
    assert table.declared_levels(0) is None
    assert values_of(table, 0) == ["x", None]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_strings_and_numbers_declare_no_levels_and_bools_declare_both(library: str) -> None:
    table = Table.of(FRAMES[library](COLUMNS))
    assert [table.declared_levels(j) is None for j in range(5)] == [True, True, True, False, True]
    assert table.declared_levels(3).tolist() == [False, True]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, 2, 1]),
        np.array([1, 2, 1], dtype=np.uint8),
        np.array([1.0, 2.0, 1.0], dtype=np.float32),
        pd.array([1, 2, 1], dtype="Int64"),
        pd.Categorical([1, 2, 1]),
        pd.Categorical([1.0, 2.0, 1.0]),
        pd.array([1, 2, 1], dtype="float64[pyarrow]"),
        np.array([1, 2, 1], dtype=object),
    ],
    ids=str,
)
def test_one_and_one_point_zero_are_the_same_label(column: Any) -> None:
    codes, labels = Table.of(pd.DataFrame({"x": column})).coded(0)
    assert labels[codes].tolist() == [1, 2, 1]
    assert labels.dtype == np.int64


def test_floats_that_are_not_whole_keep_their_values() -> None:
    codes, labels = Table.of(np.array([[0.5], [np.nan], [2.0]])).coded(0)
    assert (codes >= 0).tolist() == [True, False, True]
    assert labels[codes[[0, 2]]].tolist() == [0.5, 2.0]


def test_intervals_are_labelled_by_how_they_print() -> None:
    frame = pd.DataFrame({"bin": pd.cut(pd.Series([1.0, 5.0, 9.0]), [0, 4, 8, 12])})
    assert values_of(Table.of(frame), 0) == ["(0, 4]", "(4, 8]", "(8, 12]"]


def test_objects_of_several_types() -> None:
    frame = pd.DataFrame({"x": pd.Series(["a", 1, None, np.nan, pd.NA, "a", 2.0], dtype=object)})
    assert values_of(Table.of(frame), 0) == ["a", 1, None, None, None, "a", 2.0]


def test_strings_that_become_mixed_after_many_rows() -> None:
    frame = pd.DataFrame({"x": pd.Series(["a"] * 500 + [7], dtype=object)})
    assert values_of(Table.of(frame), 0)[-1] == 7


def test_nested_objects_are_rejected_as_labels() -> None:
    table = Table.of(pd.DataFrame({"x": pd.Series([["a"], {"b": 1}], dtype=object)}))
    with pytest.raises(ColumnTypeError, match=r"'x'.*unhashable"):
        table.coded(0)


def test_a_dictionary_with_repeated_and_null_entries() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 3]), pa.array(["x", "x", None, "y"]))
    codes, labels = Table.of(pa.table({"c": array})).coded(0)
    assert codes.tolist() == [0, 0, -1, -1, 1]
    assert labels.tolist() == ["x", "y"]


def test_a_dictionary_of_decimals_has_the_labels_of_decimals() -> None:
    decimals = pa.array([1.5, 2.0, None, 1.5]).cast(pa.decimal128(4, 2))
    for column in (decimals, decimals.dictionary_encode()):
        codes, labels = Table.of(pa.table({"c": column})).coded(0)
        assert codes.tolist() == [0, 1, -1, 0]
        assert labels.tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    "frame",
    [pa.table({"x": pa.nulls(3)}), pl.DataFrame({"x": [None] * 3}), pd.DataFrame({"x": [np.nan] * 3})],
    ids=type,
)
def test_a_column_of_nulls_is_numerical(frame: Any) -> None:
    table = Table.of(frame)
    assert table.kinds == (Kind.NUMBER,)
    assert np.isnan(table.numbers()).all()
    assert table.coded(0).codes.tolist() == [-1] * 3


DATE = datetime.date(2020, 1, 1)
UNSUPPORTED: dict[str, Any] = {
    "pandas date": pd.DataFrame({"ok": [1], "bad": pd.to_datetime(["2020"])}),
    "pandas duration": pd.DataFrame({"ok": [1], "bad": pd.to_timedelta([1])}),
    "pandas period": pd.DataFrame({"ok": [1], "bad": pd.period_range("2020", periods=1)}),
    "pandas sparse": pd.DataFrame({"ok": [1], "bad": pd.arrays.SparseArray([0])}),
    "polars date": pl.DataFrame({"ok": [1], "bad": [DATE]}),
    "polars list": pl.DataFrame({"ok": [1], "bad": [[1]]}),
    "polars struct": pl.DataFrame({"ok": [1], "bad": [{"a": 1}]}),
    "pyarrow date": pa.table({"ok": [1], "bad": [DATE]}),
    "pyarrow binary": pa.table({"ok": [1], "bad": [b"1"]}),
}


@pytest.mark.parametrize("frame", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_other_types_are_rejected_with_a_remedy(frame: Any) -> None:
    with pytest.raises(ColumnTypeError, match=r"'bad' has the type .*; .*(leave it out|to_coo)"):
        Table.of(frame)


def test_a_lazy_frame_has_no_rows() -> None:
    with pytest.raises(DataError, match="collect"):
        Table.of(pl.LazyFrame({"x": [1]}))


def test_duplicate_names_are_rejected() -> None:
    with pytest.raises(DataError, match="'a' 2 times"):
        Table.of(pd.DataFrame(np.eye(2), columns=["a", "a"]))


def test_column_labels_that_are_not_strings() -> None:
    table = Table.of(pd.DataFrame(np.eye(2)))
    assert table.names == ("0", "1")
    assert not table.named


def read_only(X: Any) -> Any:
    X.flags.writeable = False
    return X


class TestArrays:
    def test_a_float_matrix_is_not_copied(self) -> None:
        X = np.arange(6.0).reshape(3, 2)
        assert np.shares_memory(Table.of(X).numbers(), X)
        assert np.shares_memory(Table.of(X).rows(slice(1, 3)).numbers([0, 1]), X)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_float_types_are_kept(self, dtype: Any) -> None:
        X = np.eye(3, dtype=dtype)
        for container in (X, sparse.csr_array(X), pd.DataFrame(X), pl.DataFrame(X)):
            assert Table.of(container).numbers().dtype == dtype

    def test_mixed_float_types_become_the_wider_type(self) -> None:
        frame = pl.DataFrame({"a": pl.Series([1.5], dtype=pl.Float32), "b": [2.5]})
        assert Table.of(frame).numbers().dtype == np.float64
        assert Table.of(frame).numbers([0]).dtype == np.float32

    @pytest.mark.parametrize(
        ("dtype", "kind"),
        [(float, Kind.NUMBER), (int, Kind.INTEGER), (bool, Kind.BOOLEAN), (str, Kind.CATEGORY), ("S3", Kind.CATEGORY)],
    )
    def test_kinds_follow_from_the_type(self, dtype: Any, kind: Kind) -> None:
        table = Table.of(np.ones((2, 3), dtype=dtype))
        assert table.kinds == (kind,) * 3
        assert table.names == ("x0", "x1", "x2")
        assert not table.named

    @pytest.mark.parametrize("change", [np.asfortranarray, lambda X: X.astype(">f8"), lambda X: X[:, ::-1], read_only])
    def test_every_memory_layout_is_prepared_for_compiled_loops(self, change: Any) -> None:
        X = change(np.arange(6.0).reshape(3, 2))
        numbers = Table.of(X).numbers()
        np.testing.assert_array_equal(numbers, X)
        assert numbers.flags.c_contiguous
        assert numbers.flags.writeable
        assert numbers.dtype.isnative

    def test_objects_that_are_all_numbers(self) -> None:
        table = Table.of(np.array([[1, 2.5], [None, True]], dtype=object))
        assert table.kinds == (Kind.NUMBER,) * 2
        np.testing.assert_array_equal(table.numbers(), [[1, 2.5], [np.nan, 1]])

    @pytest.mark.parametrize("container", [list, lambda rows: np.array(rows, dtype=object)])
    def test_objects_of_mixed_columns(self, container: Any) -> None:
        table = Table.of(container([["red", 1, True], [None, None, False]]))
        assert table.kinds == (Kind.CATEGORY, Kind.NUMBER, Kind.BOOLEAN)
        np.testing.assert_array_equal(table.numbers([1, 2]), [[1, 1], [np.nan, 0]])
        assert values_of(table, 0) == ["red", None]

    def test_bytes_are_read_as_text(self) -> None:
        assert values_of(Table.of(np.array([["é".encode()], [b"a"]])), 0) == ["é", "a"]

    @pytest.mark.parametrize("X", [np.ones(3), np.ones((2, 2, 2)), [1, 2]])
    def test_a_table_has_two_axes(self, X: Any) -> None:
        with pytest.raises(DataError, match=r"Expected 2D array.*Reshape your data"):
            Table.of(X)

    def test_a_dict_is_rejected_as_a_table(self) -> None:
        with pytest.raises(DataError, match=r"a dict, not a table\. Make one of it: pyarrow\.table\(X\)"):
            Table.of({"a": [1, 2]})

    def test_ragged_rows_are_rejected(self) -> None:
        with pytest.raises(
            DataError, match=r"^setting an array element .* X is not a table: give every row the same number of values"
        ):
            Table.of([[1, 2], [3]])

    def test_complex_numbers_and_dates_are_rejected(self) -> None:
        with pytest.raises(ColumnTypeError, match="Complex data not supported"):
            Table.of(np.ones((2, 2), dtype=complex))
        with pytest.raises(ColumnTypeError, match="datetime64"):
            Table.of(np.ones((2, 2), dtype="datetime64[D]"))


class TestSparse:
    @pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_matrix])
    def test_sparse_columns_are_counts(self, make: Any) -> None:
        X = np.array([[0, 2, 0], [1, 0, 0]])
        table = Table.of(make(X))
        assert table.kinds == (Kind.COUNTS,) * 3
        assert table.matrix().format == "csr"
        np.testing.assert_array_equal(table.numbers([2, 1]), X[:, [2, 1]])
        np.testing.assert_array_equal(table.rows(slice(1, 2)).numbers(), X[1:])
        assert values_of(table, 1) == [2, 0]
        assert sparse.issparse(table.like({"a": np.array([0, 1])}))

    def test_complex_values_are_rejected(self) -> None:
        with pytest.raises(ColumnTypeError, match="complex128"):
            Table.of(sparse.csr_array(np.ones((2, 2), dtype=complex)))


def test_rows_of_arrays_are_arrays() -> None:
    table = Table.of(np.eye(2))
    assert table.like({"a": np.array([1, 2]), "b": np.array([0.5, 1])}).tolist() == [[1, 0.5], [2, 1]]
    assert table.like({"a": np.array([1]), "b": np.array(["x"])}).tolist() == [[1, "x"]]


def test_a_table_may_have_no_rows(frame: Any) -> None:
    empty = Table.of(Table.of(frame).rows(slice(0, 0)).native)
    assert empty.n_rows == 0
    assert empty.kinds == KINDS
    assert empty.numbers([0, 1, 2, 3]).shape == (0, 4)
    assert all(values_of(empty, column) == [] for column in range(5))


@pytest.mark.parametrize("frame", DECLARED.values(), ids=DECLARED)
def test_levels_are_declared_even_without_rows(frame: Any) -> None:
    levels = Table.of(Table.of(frame).rows(slice(0, 0)).native).declared_levels(0)
    assert levels is not None
    assert levels.tolist() == ["z", "y", "x"]


def test_rows_taken_from_the_container_agree_with_rows_of_the_table(frame: Any) -> None:
    for table in (Table.of(frame), Table.of(frame).rows(slice(1, 4))):
        rows = np.array([2, 0])
        taken = Table.of(table.take_native(rows))
        assert taken.library == table.library
        for column in range(table.n_columns):
            assert values_of(taken, column) == values_of(table.take(rows), column)
