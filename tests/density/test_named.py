"""Bandwidths as people write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer._errors import BandwidthError
from mercer.density import Bandwidth, Gaussian, Scott, bandwidth_from
from mercer.density.named_rules import BANDWIDTH_RULES

X = np.random.default_rng(0).normal(size=(40, 2))


@pytest.mark.parametrize(
    "given", [0.5, 2, np.float32(0.5), [0.5, 1.0], np.eye(2), Bandwidth(3.0), Bandwidth([1.0, 2.0])]
)
def test_given_bandwidths_are_used_unchanged(given: Any) -> None:
    expected = given if isinstance(given, Bandwidth) else Bandwidth(given)
    assert bandwidth_from(given, X, None, Gaussian()) == expected


@pytest.mark.parametrize("name", [name for name in BANDWIDTH_RULES if name != "isj"])
def test_every_rule_has_its_name(name: str) -> None:
    found = bandwidth_from(name, X, None, Gaussian())
    assert found.method == name
    assert found == bandwidth_from(BANDWIDTH_RULES[name], X, None, Gaussian())


def test_options_of_a_rule_object_are_used() -> None:
    assert np.shape(bandwidth_from(Scott("matrix"), X, None, Gaussian()).value) == (2, 2)


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(BandwidthError, match="Did you mean 'silverman-scaled'"):
        bandwidth_from("silverman_scaled", X, None, Gaussian())
    with pytest.raises(BandwidthError, match="There are 'scott'"):
        bandwidth_from("best", X, None, Gaussian())


@pytest.mark.parametrize("given", [[1.0, 1.0, 1.0], np.eye(3), Bandwidth([1.0]), -1.0, None, {"h": 1}])
def test_invalid_bandwidths_are_rejected(given: Any) -> None:
    with pytest.raises(BandwidthError):
        bandwidth_from(given, X, None, Gaussian())


def test_a_number_suffices_for_one_point_and_a_constant_column() -> None:
    assert bandwidth_from(0.5, np.zeros((1, 2)), None, Gaussian()).value == 0.5
