"""`check_kernel` finds what is wrong with a broken kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mercer import kernels as k
from mercer.kernels.explicit import CoordinateMap, FeatureMap, ScaledMap
from mercer.testing import check_kernel

X = np.random.default_rng(0).normal(size=(12, 3))


@dataclass(frozen=True, repr=False)
class Unproven(k.Sigmoid):
    @property
    def reason(self) -> str:  # type: ignore[override]
        return "it is not"


@dataclass(frozen=True, repr=False)
class WrongDiagonal(k.Linear):
    def diagonal(self, side: Any) -> np.ndarray:
        return np.ones(len(side))


@dataclass(frozen=True, repr=False)
class WrongMap(k.Linear):
    def feature_map(self, columns: int) -> FeatureMap:
        return ScaledMap(CoordinateMap(columns), 2.0)


@dataclass(frozen=True, repr=False)
class Contextual(k.Linear):
    """Depends on which other rows there are."""

    def prepared(self, views: Any) -> Any:
        return type(views)(views.matrix - views.matrix.mean(axis=0)).points


@pytest.mark.parametrize(
    ("kernel", "law"),
    [
        (Unproven(gamma=1, constant=-1), "positive semidefinite"),
        (WrongDiagonal(), "an entry of the matrix"),
        (WrongMap(), "where ψ is finite"),
        (Contextual(), "whatever the other rows are"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_kernel_is_found(kernel: k.Kernel, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_kernel(kernel, X)


def test_the_checked_laws_are_returned() -> None:
    assert len(check_kernel(k.Linear(), X)) == 7
    assert len(check_kernel(k.RBF(), X)) == 6
    assert len(check_kernel(k.Sigmoid(), X)) == 5
