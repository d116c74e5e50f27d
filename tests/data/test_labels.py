"""Encoding labels is np.unique without the sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mercer._errors import DataError, NonFiniteError
from mercer.data.labels import codes_of, encode_labels

SCALARS = {
    "int8": arrays.arrays(np.int8, st.integers(0, 60)),
    "uint64": arrays.arrays(np.uint64, st.integers(0, 60)),
    "int64": arrays.arrays(np.int64, st.integers(0, 60), elements=st.integers(-(2**63), 2**63 - 1)),
    "narrow": arrays.arrays(np.int64, st.integers(0, 60), elements=st.integers(-3, 3)),
    "bool": arrays.arrays(np.bool_, st.integers(0, 60)),
    "whole floats": st.lists(st.integers(-(2**53), 2**53)).map(lambda v: np.array(v, dtype=float)),
    "float32": st.lists(st.integers(-5, 5)).map(lambda v: np.array(v, dtype=np.float32)),
    "str": st.lists(st.text(max_size=4)).map(lambda v: np.array(v, dtype=str)),
    "str objects": st.lists(st.text(max_size=4)).map(lambda v: np.array(v, dtype=object)),
    "int objects": st.lists(st.integers(-(2**70), 2**70)).map(lambda v: np.array(v, dtype=object)),
    "bool objects": st.lists(st.booleans()).map(lambda v: np.array(v, dtype=object)),
}


@pytest.mark.parametrize("kind", SCALARS)
def test_labels_agree_with_numpy_unique(kind: str) -> None:
    @given(SCALARS[kind])
    def check(y: Any) -> None:
        labels, codes = encode_labels(y)
        expected_labels, expected_codes = np.unique(y, return_inverse=True)
        np.testing.assert_array_equal(labels, expected_labels)
        np.testing.assert_array_equal(codes, expected_codes)
        assert labels.dtype == expected_labels.dtype
        assert codes.dtype == np.int32

    check()


@pytest.mark.parametrize("layout", [lambda y: y[::2], lambda y: y[::-1], lambda y: y.astype(y.dtype.newbyteorder(">"))])
@pytest.mark.parametrize("y", [np.arange(12) % 3, np.arange(12) % 3 * 1.0, np.array(["b", "a", "cc"] * 4)])
def test_labels_may_have_any_memory_layout(y: Any, layout: Any) -> None:
    for got, expected in zip(encode_labels(layout(y)), np.unique(layout(y), return_inverse=True), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_read_only_labels() -> None:
    y = np.array([2, 1, 2])
    y.flags.writeable = False
    np.testing.assert_array_equal(encode_labels(y)[1], [1, 0, 1])


def test_more_different_strings_than_are_hashed() -> None:
    y = np.array([f"name {i % 20_000}" for i in range(30_000)])
    labels, codes = encode_labels(y)
    assert labels.size == 20_000
    np.testing.assert_array_equal(labels[codes], y)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["b", "a"]),
        pd.Series(["b", "a"], dtype="category"),
        pl.Series(["b", "a"]),
        pl.Series(["b", "a"], dtype=pl.Categorical),
        ["b", "a"],
    ],
)
def test_series_and_lists(y: Any) -> None:
    labels, codes = encode_labels(y)
    assert labels.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "boolean"])
def test_nullable_labels_without_nulls(dtype: str) -> None:
    assert encode_labels(pd.Series([1, 0, 1], dtype=dtype))[1].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "y",
    [
        [0.0, np.nan],
        np.array(["a", None], dtype=object),
        pd.Series([1, None], dtype="Int64"),
        np.array(["2024-05-31", "NaT"], dtype="datetime64[D]"),
    ],
)
def test_a_missing_label_is_named_by_its_row(y: Any) -> None:
    with pytest.raises(NonFiniteError, match=r"^Input y contains NaN\..*row 1"):
        encode_labels(y)


def test_infinite_labels_are_rejected() -> None:
    with pytest.raises(NonFiniteError, match=r"^Input y contains infinity or a value too large .*row 2"):
        encode_labels([0.0, 1.0, -np.inf, np.inf])


@pytest.mark.parametrize("y", [[0.5, 1.0], np.array([1, 2.5], dtype=object), [1e300, 0.25]])
def test_continuous_targets_are_rejected_as_labels(y: Any) -> None:
    with pytest.raises(DataError, match=r"^Unknown label type: continuous\. Maybe you are trying to fit a classifier"):
        encode_labels(y)


def test_labels_of_several_types_are_rejected() -> None:
    with pytest.raises(DataError, match="int, str"):
        encode_labels(np.array([1, "a"], dtype=object))


def test_labels_must_be_a_vector() -> None:
    with pytest.raises(DataError, match=r"shape \(2, 2\)"):
        encode_labels(np.eye(2))


@pytest.mark.parametrize(
    ("y", "labels", "expected"),
    [
        ([3, 1, 7], np.array([1, 3]), [1, 0, -1]),
        ([3.0, 1.0, 7.0], np.array([3, 1]), [0, 1, -1]),
        (["b", "z"], np.array(["a", "b"]), [1, -1]),
        (["1"], np.array([1]), [-1]),
        ([True, False], np.array([False, True]), [1, 0]),
        ([], np.array([1]), []),
    ],
)
def test_codes_of_known_labels(y: Any, labels: Any, expected: list[int]) -> None:
    codes = codes_of(y, labels)
    assert codes.tolist() == expected
    assert codes.dtype == np.int32


def test_whole_labels_beyond_the_integers_are_labels() -> None:
    labels, codes = encode_labels(np.array([2e20, 1e20, 2e20]))
    assert labels.tolist() == [1e20, 2e20]
    assert codes.tolist() == [1, 0, 1]
