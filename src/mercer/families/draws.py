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


def checked_count(n_samples: Any) -> int:
    """A number of rows to draw."""
    if not isinstance(n_samples, Integral) or n_samples < 0:
        raise DataError(f"n_samples is a number of rows, 0 or more and whole; got {n_samples!r}.")
    return int(n_samples)
