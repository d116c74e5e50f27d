"""Rows of a kernel matrix: the same sums for every size of the cache."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import RBF, Gram
from mercer.optim.span.kernel_rows import KernelRows, SharedRows
from mercer.svm._box_problem import BoxProblem
from mercer.svm._dual import solve
from tests._ctrl_c import interrupt

X = np.random.default_rng(0).normal(size=(60, 3))
K = RBF(gamma=0.5)(X)


def rows(kept: int, *, tolerance: float = 0.0) -> KernelRows:
    gram = Gram(RBF(gamma=0.5), X, tolerance=tolerance)
    return KernelRows(gram, kept * len(X) * gram.dtype.itemsize)


@pytest.mark.parametrize("kept", [0, 1, 7, 60, 1000])
def test_sums_do_not_depend_on_the_cache(kept: int) -> None:
    store, rng = rows(kept), np.random.default_rng(1)
    for _ in range(20):
        numbers = rng.choice(60, size=rng.integers(1, 30), replace=False)
        factors, total = rng.normal(size=len(numbers)), np.ones(60)
        store.add_to(total, numbers, factors, rng.random(len(numbers)) < 0.7)
        np.testing.assert_allclose(total, 1 + factors @ K[numbers], rtol=1e-12, atol=1e-12)
        store.release(numbers[::3])


def test_requested_rows_are_computed_once() -> None:
    store, total = rows(10), np.zeros(60)
    some, every = np.arange(8), np.ones(8, dtype=bool)
    for _ in range(3):
        store.add_to(total, some, np.ones(8), every)
    assert store.n_computed == 8
    store.add_to(total, np.arange(20, 28), np.ones(8), ~every)
    store.add_to(total, some, np.ones(8), every)
    assert store.n_computed == 16


def test_recently_used_rows_stay_and_released_ones_are_replaced() -> None:
    store, total, one = rows(2), np.zeros(60), np.ones(1)

    def use(number: int) -> None:
        store.add_to(total, np.array([number]), one, np.array([True]))

    for number in (1, 2, 1, 3, 1):  # 2 makes room for 3
        use(number)
    assert store.n_computed == 3
    store.release(np.array([1]))
    use(4)
    use(3)
    assert store.n_computed == 4
    use(1)
    assert store.n_computed == 5


def test_exact_rows_of_float32_ones() -> None:
    single = rows(9, tolerance=1e-3)
    assert single.gram.dtype == np.float32
    total = np.zeros(60)
    single.exact().add_to(total, np.array([4]), np.ones(1), np.array([True]))
    np.testing.assert_allclose(total, K[4], rtol=1e-13)


def test_an_interruption_during_the_computation_leaves_only_valid_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    store, total = rows(60), np.zeros(60)
    put = store.gram.put_rows
    monkeypatch.setattr(store.gram, "put_rows", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.add_to(total, np.arange(5), np.ones(5), np.ones(5, dtype=bool))
    monkeypatch.setattr(store.gram, "put_rows", put)
    store.add_to(total, np.arange(5), np.ones(5), np.ones(5, dtype=bool))
    np.testing.assert_allclose(total, K[:5].sum(axis=0), rtol=1e-12)


def test_pairs_of_groups_share_common_blocks() -> None:
    groups = [np.arange(0, 20), np.arange(20, 45), np.arange(45, 60)]
    shared = SharedRows(Gram(RBF(gamma=0.5), X), groups, 1e6)
    rng = np.random.default_rng(2)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = np.concatenate([groups[i], groups[j]])
        pair, total = shared.pair(i, j), np.zeros(len(both))
        numbers, factors = rng.permutation(len(both)), rng.normal(size=len(both))
        pair.add_to(total, numbers, factors, np.ones(len(both), dtype=bool))
        np.testing.assert_allclose(total, factors @ K[np.ix_(both[numbers], both)], rtol=1e-11, atol=1e-12)
        pair.release(numbers[:3])
        assert len(pair) == len(both)
    assert [own.n_computed for own in shared._own] == [20, 25, 15]


def test_the_machine_of_a_pair() -> None:
    groups = [np.arange(0, 30), np.arange(30, 60)]
    y = np.repeat([1.0, -1.0], 30)
    lower, upper = np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
    shared = SharedRows(Gram(RBF(gamma=0.5), X), groups, 5e3)
    alone, paired = (solve(BoxProblem(k, y, lower, upper), tolerance=1e-11) for k in (rows(60), shared.pair(0, 1)))
    np.testing.assert_allclose(paired.coef.beta, alone.coef.beta, atol=1e-8)


def test_only_released_blocks_of_a_pair_are_recomputed() -> None:
    groups = [np.arange(0, 20), np.arange(20, 45)]
    shared = SharedRows(Gram(RBF(gamma=0.5), X), groups, 1e6)
    pair, numbers, factors = shared.pair(0, 1), np.arange(45), np.ones(45)
    totals = np.zeros((2, 45))
    for total in totals:
        pair.add_to(total, numbers, factors, np.ones(45, dtype=bool))
        pair.clear()
    np.testing.assert_array_equal(totals[0], totals[1])
    assert [own.n_computed for own in shared._own] == [20, 25]
