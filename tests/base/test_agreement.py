"""Checks before two models are merged."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import DataError
from mercer.base.agreement import check_label_types, is_same_value
from mercer.density import Bandwidth

NUMBERS = [np.array([0, 1]), np.array([0.0, 2.0]), np.array([False, True]), np.array([0, 1], dtype=object)]
TEXT = [np.array(["a", "b"]), np.array(["a", "b"], dtype=object)]


@pytest.mark.parametrize("alike", [NUMBERS, TEXT], ids=["numbers", "text"])
def test_labels_of_one_type_are_compatible_in_any_container(alike):
    for one in alike:
        for other in alike:
            check_label_types(one, other)


@pytest.mark.parametrize("one", TEXT)
@pytest.mark.parametrize("other", [*NUMBERS, np.array([b"a"])])
def test_text_mixed_with_other_types_is_rejected(one, other):
    for labels, known in ((one, other), (other, one)):
        with pytest.raises(DataError, match=r"Convert y to their type"):
            check_label_types(labels, known)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1.0, 2.0], np.array([1.0, 2.0]), True),
        (np.array(3), 3, True),
        ({"x": [0, 1]}, {"x": (0, 1)}, True),
        ({"x": 0}, {"y": 0}, False),
        (Bandwidth([1.0, 2.0]), Bandwidth([1.0, 2.0]), True),
        (Bandwidth([1.0, 2.0]), Bandwidth([1.0, 3.0]), False),
        (np.eye(2), "scott", False),
        (len, len, True),
    ],
    ids=str,
)
def test_parameters_are_compared_by_meaning(one, other, same):
    assert is_same_value(one, other) is same
    assert is_same_value(other, one) is same
