"""The fixtures that scikit-learn's test modules expect of its own conftest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.fixture(params=[0, 42])
def global_random_seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request: pytest.FixtureRequest) -> Any:
    return request.param
