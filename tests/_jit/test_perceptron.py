"""The generator and the shuffle of scikit-learn's perceptron; its numbers are tested with the model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils._seq_dataset import ArrayDataset64

from mercer._jit import perceptron as loops


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


def test_a_common_factor_is_multiplied_in() -> None:
    w, state = np.array([1.0, -2.0]), np.zeros(7)
    state[loops.SCALE] = 0.5
    loops.unscale(w, state)
    assert_array_equal(w, [0.5, -1.0])
    assert state[loops.SCALE] == 1.0
