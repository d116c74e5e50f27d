"""Units keep their weights when classes appear."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from mercer.base.agreement import regrow_weights

W = np.array([[1.0, -2.0]])


def test_the_second_of_two_classes_has_the_unit_and_the_first_its_negative() -> None:
    grown = regrow_weights(W, np.array(["b", "d"]), np.array(["a", "b", "d"]))
    assert_array_equal(grown, [[0.0, 0.0], [-1.0, 2.0], [1.0, -2.0]])


def test_a_single_class_has_the_unit() -> None:
    assert_array_equal(regrow_weights(W, np.array([5]), np.array([3, 5])), W)
    assert_array_equal(regrow_weights(W, np.array([5]), np.array([5, 7])), -W)


def test_several_classes_keep_their_units() -> None:
    units = np.arange(6.0).reshape(3, 2)
    grown = regrow_weights(units, np.array([0, 2, 4]), np.array([0, 1, 2, 3, 4]))
    assert_array_equal(grown[[0, 2, 4]], units)
    assert_array_equal(grown[[1, 3]], 0.0)


def test_weights_are_unchanged_without_new_classes() -> None:
    assert_array_equal(regrow_weights(W, np.array([0, 1]), np.array([0, 1])), W)
