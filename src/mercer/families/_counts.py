"""Base class of the families of counts, the Poisson and the negative binomial."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.families._support import negative, not_a_count
from mercer.families.base import Family


class CountFamily(Family):
    """Counts 0, 1, 2, …, with T = x and φ = 1. The loss of a response is defined for every number from 0 upwards."""

    support: ClassVar[str] = "counts 0, 1, 2, …"
    discrete: ClassVar[bool] = True

    def sufficient(self, x: Array) -> Array:
        return np.asarray(x, dtype=float)[..., None]

    def outside(self, x: Array) -> Array:
        return not_a_count(x)

    @property
    def known_dispersion(self) -> float | None:
        return 1.0

    @property
    def response_support(self) -> str:
        return "numbers from 0 upwards"

    def outside_response(self, y: Array) -> Array:
        return negative(y)
