"""Blocks of the same numbers in every container a statistic may be handed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse


def _read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "read-only": _read_only,
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "csr_matrix": sparse.csr_matrix,
    "float32": lambda x: x.astype(np.float32),
    "int64": lambda x: x.astype(np.int64),
}


@pytest.fixture(params=CONTAINERS)
def contained(request: pytest.FixtureRequest) -> Callable[[np.ndarray], Any]:
    """Puts whole numbers, small enough for any of them, into one container after the other."""
    return CONTAINERS[request.param]
