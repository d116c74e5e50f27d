"""Monomials in their order: how many, which, what they are called, and how often their factors can be rearranged."""

from __future__ import annotations

import pickle
from itertools import chain, combinations, combinations_with_replacement
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer._errors import NonFiniteError
from mercer.kernels.monomials import MonomialOrder

orders = st.builds(
    lambda d, lowest, more, distinct: MonomialOrder(d, lowest, lowest + more, distinct),
    st.integers(1, 5),
    st.integers(0, 3),
    st.integers(0, 3),
    st.booleans(),
)


def factors(order: MonomialOrder) -> list[tuple[int, ...]]:
    """The columns that are multiplied, as itertools has them."""
    choose = combinations if order.distinct else combinations_with_replacement
    return list(chain.from_iterable(choose(range(order.columns), t) for t in order.degrees))


@settings(max_examples=80)
@given(order=orders)
def test_exponents_agree_with_itertools(order: MonomialOrder) -> None:
    expected = [[each.count(j) for j in range(order.columns)] for each in factors(order)]
    assert order.n_features == len(expected)
    assert [tuple(order.factors(k)) for k in range(order.n_features)] == factors(order)
    np.testing.assert_array_equal(order.exponents(), np.reshape(expected, (-1, order.columns)))


@settings(max_examples=80)
@given(order=orders, seed=st.integers(0, 100), rows=st.integers(0, 70))
def test_monomials_are_products_of_columns(order: MonomialOrder, seed: int, rows: int) -> None:
    X = np.random.default_rng(seed).normal(size=(rows, order.columns))
    out = np.full((rows, order.n_features), np.nan)
    order.write(X, out)
    expected = [[prod(x[j] for j in each) for each in factors(order)] for x in X]
    np.testing.assert_allclose(out, np.reshape(expected, out.shape), rtol=1e-14)


@settings(max_examples=50)
@given(order=orders)
def test_numbers_of_arrangements_are_multinomial_coefficients(order: MonomialOrder) -> None:
    found = np.concatenate([order.arrangements()[t] for t in order.degrees])
    by_hand = [factorial(len(each)) / prod(factorial(each.count(j)) for j in set(each)) for each in factors(order)]
    np.testing.assert_allclose(found, by_hand, rtol=1e-14)


def test_names() -> None:
    assert MonomialOrder(2, 3, 3).names(["height", "weight"]) == [
        "height^3", "height^2 weight", "height weight^2", "weight^3",
    ]  # fmt: skip
    assert MonomialOrder(3, 0, 3, distinct=True).names(["a", "b", "c"]) == [
        "1", "a", "b", "c", "a b", "a c", "b c", "a b c",
    ]  # fmt: skip


@pytest.mark.parametrize("lowest", [0, 3])
@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_output_buffers_and_threads_do_not_matter(lowest: int, in_place: bool, weighted: bool) -> None:
    X, order = np.random.default_rng(0).normal(size=(500, 4)), MonomialOrder(4, lowest, 3)
    weights = order.weights(1.0, 1.0) if weighted else None
    expected = np.empty((500, order.n_features))
    with mercer.engine(threads=1):
        order.write(X, expected, weights)
    out = np.empty_like(expected)
    order.write(X, out, weights, in_place=in_place, block_values=100, blocks_per_thread=2)
    np.testing.assert_array_equal(out, expected)


def test_counting_is_fast_and_coefficients_beyond_float64_are_rejected() -> None:
    assert MonomialOrder(100_000, 0, 50_000).n_features.bit_length() > 100_000
    with pytest.raises(NonFiniteError, match="degree 2000 are beyond float64"):
        MonomialOrder(1, 0, 2000).weights(1.0, 1.0)
    with pytest.raises(NonFiniteError, match="degree 3 are beyond float64"):
        MonomialOrder(1, 0, 3).weights(1.0, 1e200)


def test_only_the_defining_numbers_are_pickled() -> None:
    order = MonomialOrder(1000, 0, 2)
    assert len(order.slices[2]) == 1000
    assert len(pickle.dumps(order)) < 200
    assert pickle.loads(pickle.dumps(order)) == order
