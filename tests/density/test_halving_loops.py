"""Points put in order by halving: a permutation whose parts are apart from each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.density.sum_loops import _select, halve

Array = np.ndarray


def volume(X: Array, order: Array, size: int) -> float:
    """Return the volume of the boxes around all parts together."""
    parts = [X[order[start : start + size]] for start in range(0, len(X), size)]
    return float(sum(np.prod(np.ptp(part, axis=0)) for part in parts))


@given(
    n=st.integers(0, 700),
    d=st.integers(1, 4),
    size=st.integers(1, 300),
    values=st.integers(1, 40),
    seed=st.integers(0, 1000),
)
def test_every_point_occurs_once_even_with_ties(n: int, d: int, size: int, values: int, seed: int) -> None:
    X = np.random.default_rng(seed).integers(0, values, (n, d)).astype(float)
    np.testing.assert_array_equal(np.sort(halve(X, size)), np.arange(n))


def assert_apart(ordered: Array, size: int) -> None:
    """All parts but the last are full, and each ends where the next begins."""
    parts = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    for one, two in pairwise(parts):
        assert one.max() <= two.min()


@given(n=st.integers(1, 900), size=st.integers(1, 100), values=st.sampled_from([1, 3, 1 << 30]))
def test_parts_do_not_overlap_in_one_dimension(n: int, size: int, values: int) -> None:
    X = np.random.default_rng(n).integers(0, values, (n, 1)).astype(float)
    assert_apart(X[halve(X, size), 0], size)


@pytest.mark.parametrize("d", [2, 3])
def test_parts_are_small(d: int) -> None:
    X = np.random.default_rng(0).uniform(size=(64 * 64, d))
    assert volume(X, halve(X, 64), 64) < 1.1
    assert volume(X, np.arange(len(X)), 64) > 40


def test_the_longest_side_is_cut_first() -> None:
    X = np.random.default_rng(0).uniform(size=(512, 2)) * [1.0, 1e3]
    first, second = np.split(X[halve(X, 256)], 2)
    assert first[:, 1].max() <= second[:, 1].min()


@given(
    keys=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=80), share=st.floats(0, 0.999)
)
def test_selection_agrees_with_sorting(keys: list[float], share: float) -> None:
    held, order, place = np.array(keys), np.arange(len(keys)), int(share * len(keys))
    _select(held, order, 0, len(keys) - 1, place)
    np.testing.assert_array_equal(np.array(keys)[order], held)
    assert held[place] == np.sort(keys)[place]
    assert (held[:place] <= held[place]).all()
    assert (held[place:] >= held[place]).all()


def test_empty_and_high_dimensional_inputs_are_accepted() -> None:
    assert halve(np.empty((0, 3)), 4).tolist() == []
    wide = np.random.default_rng(0).normal(size=(9, 50))
    np.testing.assert_array_equal(np.sort(halve(wide, 2)), np.arange(9))


@pytest.mark.parametrize("arranged", ["ascending", "descending", "organ pipe", "equal"])
def test_adversarial_arrangements_are_sorted_too(arranged: str) -> None:
    n = 20_000
    keys = {
        "ascending": np.arange(n),
        "descending": np.arange(n)[::-1],
        "organ pipe": np.minimum(np.arange(n), np.arange(n)[::-1]),
        "equal": np.zeros(n),
    }[arranged].astype(float)
    order = halve(keys[:, None].copy(), 256)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    assert_apart(keys[order], 256)
