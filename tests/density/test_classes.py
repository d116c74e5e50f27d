"""Bandwidths of classes: their own where there is spread to choose from, else one that all share."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import BandwidthError
from mercer.density import Gaussian, bandwidth_from
from mercer.density._kernel_bayes import ClassBandwidths, join_classes

RNG = np.random.default_rng(3)
WIDE, NARROW = RNG.normal(0, 9, (40, 2)), RNG.normal(100, 0.1, (60, 2))
SAME = np.tile([[7.0, 8.0]], (5, 1))
KERNEL = Gaussian()


def chosen(*classes: np.ndarray, rule: object = "scott-scaled") -> ClassBandwidths:
    return ClassBandwidths(rule, KERNEL, [(points, None) for points in classes])


def test_each_class_has_its_own_bandwidth():
    for points, bandwidth in zip((WIDE, NARROW), chosen(WIDE, NARROW).choose(), strict=True):
        expected = bandwidth_from("scott-scaled", points, None, KERNEL)
        np.testing.assert_array_equal(bandwidth.value, expected.value)


def test_the_common_bandwidth_does_not_depend_on_the_distance_of_classes():
    near, far = chosen(WIDE, NARROW).common, chosen(WIDE, NARROW + 1e4).common
    np.testing.assert_allclose(near.value, far.value, rtol=1e-9)
    centred = np.concatenate([WIDE - WIDE.mean(axis=0), NARROW - NARROW.mean(axis=0)])
    np.testing.assert_allclose(near.value, bandwidth_from("scott-scaled", centred, None, KERNEL).value, rtol=1e-9)


@pytest.mark.parametrize("poor", [SAME, WIDE[:1], WIDE[:0]], ids=["no spread", "one point", "no point"])
def test_a_class_without_spread_uses_the_common_bandwidth(poor):
    borrowed, own = chosen(poor, WIDE).choose()
    np.testing.assert_array_equal(borrowed.value, chosen(poor, WIDE).common.value)
    np.testing.assert_array_equal(own.value, bandwidth_from("scott-scaled", WIDE, None, KERNEL).value)


def test_classes_without_any_spread_use_the_distance_of_their_means():
    borrowed, again = chosen(SAME, SAME + 3).choose()
    np.testing.assert_array_equal(borrowed.value, again.value)
    np.testing.assert_array_equal(
        borrowed.value, bandwidth_from("scott-scaled", np.concatenate([SAME, SAME + 3]), None, KERNEL).value
    )


def test_data_without_spread_are_rejected_with_the_reason():
    with pytest.raises(BandwidthError, match="'b' is constant"):
        ClassBandwidths("scott-scaled", KERNEL, [(SAME[:, [0]], None)] * 2, names=["b"]).choose()


def test_a_number_is_the_bandwidth_of_all():
    assert [each.value for each in chosen(SAME, WIDE, rule=2.0).choose()] == [2.0, 2.0]


def test_weights_of_each_class_are_used():
    points, weight = join_classes([(SAME, None), (WIDE[:2], np.array([3.0, 4.0]))])
    assert len(points) == 7
    np.testing.assert_array_equal(weight, [1, 1, 1, 1, 1, 3, 4])
    assert join_classes([(SAME, None), (WIDE, None)])[1] is None
