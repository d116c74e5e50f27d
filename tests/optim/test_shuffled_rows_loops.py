"""Rows in random order: the order is scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils._seq_dataset import ArrayDataset64

from mercer.optim import row_order_loops as loops


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**31 - 2])
def test_rows_are_shuffled_as_in_scikit_learn(seed: int) -> None:
    n = 50
    dataset = ArrayDataset64(np.arange(float(n))[:, None], np.ones(n), np.ones(n), seed=1)
    order = np.arange(n)
    for _ in range(3):
        dataset._shuffle_py(seed)
        loops.shuffle(order, seed)
        theirs = [dataset._next_py()[3] for _ in range(n)]
        assert_array_equal(order, theirs)
