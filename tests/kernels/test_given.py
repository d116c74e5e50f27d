"""A matrix in memory has the interface of a computed one."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import RBF, Gram
from mercer.kernels.gram import GivenMatrix

X = np.random.default_rng(1).normal(size=(700, 3))
KERNEL = RBF(gamma=0.3)


@pytest.fixture(scope="module")
def both() -> tuple[Gram, GivenMatrix]:
    gram = Gram(KERNEL, X)
    return gram, GivenMatrix(np.asfortranarray(gram.matrix()))


def test_shape_type_and_diagonal(both: tuple[Gram, GivenMatrix]) -> None:
    made, given = both
    assert (given.shape, given.dtype) == (made.shape, made.dtype)
    np.testing.assert_array_equal(given.diagonal, made.diagonal)
    assert given.exact() is given


@pytest.mark.parametrize("columns", [None, [5, 2, 600]])
def test_parts_rows_and_products(both: tuple[Gram, GivenMatrix], columns: list[int] | None) -> None:
    made, given = (gram.part([3, 1, 4], columns) for gram in both)
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(given.matvec(v), made.matvec(v), rtol=1e-12)
    np.testing.assert_allclose(given.rows([2, 0]), made.rows([2, 0]), rtol=1e-12)


def test_rows_are_written_into_slots_and_summed(both: tuple[Gram, GivenMatrix]) -> None:
    numbers, factors = np.array([9, 0, 650, 7, 8]), np.array([1.0, -1.0, 2.0, 0.5, 3.0])
    kept, totals = [], []
    for gram in both:
        slots, total = np.zeros((6, 700)), np.ones(700)
        gram.put_rows(numbers, slots, np.array([5, 1, 2, 3, 0]))
        gram.add_rows(numbers, factors, total)
        kept.append(slots)
        totals.append(total)
    np.testing.assert_allclose(kept[1], kept[0], rtol=1e-12)
    np.testing.assert_allclose(totals[1], totals[0], rtol=1e-12)


def test_tiles_below_the_diagonal_agree(both: tuple[Gram, GivenMatrix]) -> None:
    made, given = (list(gram.lower(lambda rows, columns, tile: (rows, columns, tile.sum()))) for gram in both)
    assert [tile[:2] for tile in given] == [tile[:2] for tile in made]
    np.testing.assert_allclose([tile[2] for tile in given], [tile[2] for tile in made], rtol=1e-12)


def test_tiles_agree_with_the_kernel(both: tuple[Gram, GivenMatrix]) -> None:
    made, given = both
    for rows in (slice(3, 9), np.array([600, 2])):
        np.testing.assert_array_equal(given.tile(rows, slice(10, 14)), made.matrix()[rows][:, 10:14])
