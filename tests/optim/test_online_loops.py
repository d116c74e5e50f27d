"""Compiled learning rules equal their Python sources, with and without prefetching."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from mercer.optim import _online_loops as loops

NOTHING = np.zeros(0)


def arguments(units: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 7), density=0.4, rng=rng, format="csr")
    codes = rng.integers(0, max(2, units), 40).astype(np.int32)
    rows = (X.indptr.astype(np.int64), X.indices.astype(np.uint32), X.data)
    pace = loops.Pace(0.3, 0.5, 1.0, 1 / 40, 10.0)
    return X.toarray(), rows, codes, rng.uniform(0.5, 1.5, 40), rng.permutation(40), pace


@pytest.mark.parametrize("rule", range(4))
@pytest.mark.parametrize("units", [1, 3])
def test_compiled_and_plain_agree_for_rows_of_numbers_and_sparse_rows(rule: int, units: int) -> None:
    X, rows, codes, weight, order, pace = arguments(units)
    first = 1 if units == 1 else 0
    results = []
    for learn, data, by_column in (
        (loops.learn_dense, (X,), False),
        (loops.learn_dense.plain, (X,), False),
        (loops.learn_sparse if units == 1 else loops.learn_sparse_units, rows, True),
        ((loops.learn_sparse if units == 1 else loops.learn_sparse_units).plain, rows, True),
    ):
        flat = units == 1 and learn in (loops.learn_sparse, loops.learn_sparse.plain)
        shape: Any = 7 if flat else (7, units) if by_column else (units, 7)
        w, A, bias, a, tally = (
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(units),
            np.zeros(units),
            np.zeros((units + 1, 2)),
        )
        learn(rule, *data, codes, first, weight, order, pace, w, bias, 1.0, A, a, tally)
        columns = (lambda v: v.reshape(7, units)) if by_column else (lambda v: v.T)
        results.append(np.concatenate([columns(w).ravel(), columns(A).ravel(), bias, a, tally.ravel()]))
    for other in results[1:]:
        assert_allclose(other, results[0], rtol=1e-12, atol=1e-13)


def test_a_compiled_rule_is_loaded_from_the_cache() -> None:
    """All rules and rates have one signature: they are numbers, not types."""
    before = len(loops.learn_dense.dispatcher.signatures)
    X, _, codes, _, _, pace = arguments(1)
    for rule in range(4):
        state = np.zeros((1, 7)), np.zeros(1), 1.0, np.zeros((0, 0)), np.zeros(1), np.zeros((2, 2))
        loops.learn_dense(rule, X, codes, 1, NOTHING, np.zeros(0, dtype=np.int64), pace, *state)
    assert len(loops.learn_dense.dispatcher.signatures) <= before + 1
