"""Columns by their names and numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import ColumnMismatchError
from mercer.base.validation import find_column

NAMES = ("age", "city")


@pytest.mark.parametrize(("key", "place"), [("age", 0), ("city", 1), (1, 1), (-2, 0), (np.int32(1), 1)])
def test_columns_are_named_or_counted(key, place):
    assert find_column(key, NAMES, "families") == place


@pytest.mark.parametrize("key", ["cities", 2, -3, 0.5, None])
def test_an_invalid_column_is_rejected(key):
    with pytest.raises(ColumnMismatchError, match=r"families names column .* no such column"):
        find_column(key, NAMES, "families")
