"""Blocks that are written one after the other do not overlap."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.text import _scanner as scanner


@pytest.mark.parametrize("needed", [10, scanner.SMALL_REQUEST])
def test_blocks_do_not_overlap(needed: int) -> None:
    own, taken = scanner.GrowingArray(), []
    for block in range(5):
        first, second = own.reserve(needed)
        assert len(first) >= needed
        assert len(second) >= needed
        first[:needed], second[:needed] = block, -block
        taken.append(own.take(first, second, needed // 2))
    for block, (first, second) in enumerate(taken):
        assert len(first) == len(second) == needed // 2
        assert (first == block).all()
        assert (second == -block).all()


def test_enlarged_arrays_keep_their_entries() -> None:
    first, second = scanner.enlarge(np.arange(5, dtype=np.int32), np.ones(5, dtype=np.int32), 3)
    assert len(first) == len(second) == 10
    assert first[:3].tolist() == [0, 1, 2]
    assert second[:3].tolist() == [1, 1, 1]
