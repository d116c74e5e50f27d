"""A value that is not finite is found in any part of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.base import validation


@pytest.mark.parametrize("row", [0, 5, 20])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_parts_are_added_up_one_by_one(container: Any, row: int) -> None:
    X = np.arange(1.0, 64.0).reshape(21, 3)
    assert validation.has_finite_sum(container(X), entries_per_sum=6)
    X[row, 1] = np.nan
    assert not validation.has_finite_sum(container(X), entries_per_sum=6)


def test_no_rows_and_no_columns_are_finite() -> None:
    assert validation.has_finite_sum(np.empty((0, 3)))
    assert validation.has_finite_sum(np.empty((3, 0)))
