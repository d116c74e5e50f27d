"""Defaults of the base class of statistics, and rows in the form that loops read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.data.coding import Coded
from mercer.stats import LevelCounts
from mercer.stats.base import as_block, group_totals, is_block


def test_counts_are_finite_and_lose_no_digits() -> None:
    """Statistics without infinite values are finite, and integers are subtracted exactly."""
    labels = np.array(["a", "b"], dtype=object)
    counts = LevelCounts.zero(1).update(Coded(np.array([0, 1, 1], dtype=np.int32), labels), np.zeros(3, dtype=np.int32))
    assert counts.finite
    assert counts.cancellation(counts.empty()) == 1


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [
        (np.asfortranarray(np.eye(3)), np.float64),
        (np.eye(3, dtype=np.float32)[::-1], np.float32),
        (np.eye(3, dtype=int), np.float64),
        (sp.csr_array(np.eye(3)), np.float64),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float64),
    ],
)
def test_rows_of_any_kind_become_a_block(rows: Any, dtype: Any) -> None:
    block = as_block(rows)
    assert is_block(block)
    assert block.dtype == dtype
    np.testing.assert_array_equal(np.sort(block.argmax(axis=1)), np.arange(3))


def test_blocks_and_tensors_are_unchanged() -> None:
    torch = pytest.importorskip("torch")
    block, tensor = np.eye(3), torch.eye(3)
    assert np.shares_memory(as_block(block), block)
    assert as_block(tensor) is tensor


@pytest.mark.parametrize("weight", [None, np.array([0.5, 0.0, 2.0, 1.0])])
def test_rows_and_weights_of_groups_of_tensors_agree(weight: Any) -> None:
    torch = pytest.importorskip("torch")
    groups = np.array([2, 0, 2, 0])
    expected = group_totals(groups, weight, 4)
    found = group_totals(torch.as_tensor(groups), None if weight is None else torch.as_tensor(weight), 4)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), theirs)
