"""Values near columns, and tiles about them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.matrices import as_matrix
from mercer.matrices.cross_products import joined_tiles, pilot


def test_a_column_near_zero_is_not_shifted() -> None:
    rng = np.random.default_rng(0)
    assert not pilot(rng.normal([0.0, 1.0, -3.0], size=(500, 3))).any()


def test_columns_far_from_zero_are_shifted() -> None:
    x = np.random.default_rng(0).normal([1e8, -1e3], size=(500, 2))
    assert (np.abs(pilot(x) - x.mean(axis=0)) < 1).all()


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30))
def test_whole_numbers_are_shifted_without_rounding(values: list[int]) -> None:
    x = np.array(values, dtype=float)[:, None]
    shift = pilot(x)
    if np.ptp(x) > 0:
        assert (x - shift == np.array(values, dtype=object)[:, None] - int(shift[0])).all()


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -1e-300])
def test_a_constant_column_becomes_exactly_zero(value: float) -> None:
    x = np.full((100, 1), value)
    assert not (x - pilot(x)).any()


def test_empty_and_invalid_rows_have_a_pilot_of_zero() -> None:
    assert (pilot(np.zeros((0, 2))) == 0).all()
    assert (pilot(np.array([[np.nan, np.inf], [1.0, 2.0]])) == 0).all()


def test_tiles_contain_all_rows_of_positive_weight() -> None:
    rng = np.random.default_rng(0)
    X, Y, weight = rng.normal(size=(200, 3)), rng.normal(size=(200, 2)), rng.integers(0, 3, 200).astype(float)
    shift = np.arange(5.0)
    cut = [tile.copy() for tile in joined_tiles(as_matrix(X), Y, weight, shift, rows_at_once=64)]
    assert len(cut) > 1
    whole = np.sqrt(weight)[:, None] * np.column_stack([np.ones(200), np.column_stack([X, Y]) - shift])
    np.testing.assert_allclose(np.concatenate(cut), whole[weight > 0], rtol=1e-15)
