"""Common types of columns, which do not depend on the order."""

from __future__ import annotations

import itertools
from functools import reduce
from typing import Any

import pyarrow as pa
import pytest

from mercer.data.readers.arrow_types import common_type

TYPES = [
    pa.null(), pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(),
    pa.large_string(), pa.date32(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("s", "UTC"),
    pa.decimal128(9, 2),
]  # fmt: skip


def together(one: Any, other: Any) -> Any:
    """Return the common type as in text files: a string if there is no other."""
    return common_type(one, other) or pa.string()


def test_the_order_does_not_matter() -> None:
    for types in itertools.combinations(TYPES, 3):
        found = {reduce(together, order) for order in itertools.permutations(types)}
        assert len(found) == 1, types


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (pa.int64(), pa.float64(), pa.float64()),
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.date32(), pa.timestamp("s"), pa.timestamp("s")),
        (pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("ns")),
        (pa.null(), pa.bool_(), pa.bool_()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), pa.string()),
        (pa.int64(), pa.string(), None),
        (pa.int64(), pa.bool_(), None),
        (pa.timestamp("s"), pa.timestamp("s", "UTC"), None),
    ],
)
def test_two_types_have_a_common_type(one: Any, other: Any, both: Any) -> None:
    assert common_type(one, other) == common_type(other, one) == both
