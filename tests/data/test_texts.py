"""Strings of any library survive the conversion to `Texts`."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer._errors import TextError
from mercer.data.texts import MAX_PACKED_IN_PYTHON, Texts, column_of_texts

STRINGS = st.lists(st.text(st.characters(codec=None), max_size=8), max_size=2 * MAX_PACKED_IN_PYTHON)


@given(STRINGS)
def test_strings_are_restored(strings: list[str]) -> None:
    texts = Texts.of(strings)
    assert texts.strings() == strings
    assert [texts[position] for position in range(len(texts))] == strings
    assert pickle.loads(pickle.dumps(texts)).strings() == strings
    assert texts.rows(slice(1, 3)).strings() == strings[1:3]
    assert pickle.loads(pickle.dumps(texts.rows(slice(1, 3)))).strings() == strings[1:3]


@given(STRINGS)
def test_strings_are_ordered_as_in_python(strings: list[str]) -> None:
    texts = Texts.of(strings)
    assert texts.take(texts.order()).strings() == sorted(strings)


@given(STRINGS, STRINGS)
def test_distinct_strings_of_two_arrays(mine: list[str], theirs: list[str]) -> None:
    distinct, codes = Texts.of(mine).distinct_with(Texts.of(theirs))
    assert [distinct[code] for code in codes] == mine + theirs
    assert len(set(distinct.strings())) == len(distinct)


def test_columns_of_frames() -> None:
    strings = ["eins", "", "zwei", "drei"]
    chunked = pa.chunked_array([strings[:2], strings[2:]])
    sliced = pa.array(["x", *strings, "y"])[1:5]
    for column in (pd.Series(strings), pl.Series(strings), pa.array(strings), chunked, sliced, chunked.slice(0)):
        texts = column_of_texts(column)
        assert texts is not None
        assert texts.strings() == strings
    assert column_of_texts(pa.array([1, 2])) is None
    assert column_of_texts(strings) is None
    assert len(Texts.of([])) == len(Texts.of(pa.array([], pa.string()))) == 0


@pytest.mark.parametrize("bad", [None, 3, b"bytes", np.nan, ["a"]])
@pytest.mark.parametrize("before", [2, 3 * MAX_PACKED_IN_PYTHON])
def test_values_that_are_not_strings_are_named(bad: object, before: int) -> None:
    with pytest.raises(TextError, match=f"Document {before + 7} is "):
        Texts.of([*["text"] * before, bad, 4], first=7)


def test_strings_are_not_modified() -> None:
    """UTF-8 bytes are not attached to the strings of the caller."""
    strings = [f"é{number}" * 100 for number in range(MAX_PACKED_IN_PYTHON + 1)]
    before = [sys.getsizeof(string) for string in strings]
    assert Texts.of(strings).strings() == strings
    assert [sys.getsizeof(string) for string in strings] == before
