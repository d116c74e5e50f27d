"""Objects that narwhals does not support, or pyarrow cannot filter, are read like tables."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from mercer import TableFeatures
from mercer._errors import ColumnTypeError
from mercer.data import Kind, Table
from mercer.data.target import split_target

VIEWS = pl.DataFrame({"x": ["a", "b", "a"], "y": ["u", None, "v"]}).to_arrow(compat_level=pl.CompatLevel.newest())


def test_a_record_batch_has_names() -> None:
    batch = pa.RecordBatch.from_pydict({"b": [1.5], "a": ["u"]})
    table = Table.of(batch)
    assert (table.names, table.kinds) == (("b", "a"), (Kind.NUMBER, Kind.CATEGORY))


def test_views_of_strings_are_strings() -> None:
    assert pa.string_view() in VIEWS.schema.types
    X, y, _, unlabelled, *_ = split_target(VIEWS, "y")
    assert (X.to_pydict(), y.tolist(), unlabelled) == ({"x": ["a", "a"]}, ["u", "v"], 1)
    assert TableFeatures().fit_transform(VIEWS.select(["x"]), [0, 1, 0]).shape[0] == 3


def test_a_dictionary_of_views_keeps_its_levels() -> None:
    views = pa.DictionaryArray.from_arrays([1, 0], pa.array(["v", "u"], pa.string_view()))
    assert list(Table.of(pa.table({"c": views})).declared_levels(0)) == ["v", "u"]  # type: ignore[arg-type]


def test_a_type_with_many_fields_is_cut_short() -> None:
    with pytest.raises(ColumnTypeError, match="…, neither") as rejection:
        Table.of(pa.table({"a": [{str(j): j for j in range(100)}]}))
    assert len(str(rejection.value)) < 250
