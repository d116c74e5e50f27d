"""What draws begin with: how many there are to be, and a generator of random numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from mercer._errors import DataError


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator of NumPy from any of scikit-learn's ways to say `random_state`."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    return np.random.default_rng(random_state)


def checked_count(number: Any, what: str = "n_samples is a number of rows") -> int:
    """A number of rows to draw, or of draws: what the caller calls it is told where it is none."""
    if not isinstance(number, Integral) or number < 0:
        raise DataError(f"{what}, 0 or more and whole; got {number!r}.")
    return int(number)
