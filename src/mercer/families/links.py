"""Links: maps from the mean parameter of a family to its natural parameter, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax

Array = NDArray[Any]


@dataclass(frozen=True)
class Link:
    """η = forward(μ), μ = inverse(η)."""

    name: str
    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]

    def __repr__(self) -> str:
        return f"<link {self.name}>"


def _same(x: Array) -> Array:
    return x


def _negative_reciprocal(x: Array) -> Array:
    return -1 / np.asarray(x)


def _softmax(eta: Array) -> Array:
    return np.asarray(softmax(eta, axis=-1))


IDENTITY = Link("identity", _same, _same)
LOG = Link("log", np.log, np.exp)
LOGIT = Link("logit", logit, expit)
NEGATIVE_INVERSE = Link("negative inverse", _negative_reciprocal, _negative_reciprocal)
#: over the last axis; log p is the one inverse image whose log-partition is 0
SOFTMAX = Link("softmax", np.log, _softmax)
