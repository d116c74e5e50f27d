"""The fixtures and marks that scikit-learn's test modules expect of its own configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's mark for tests that must not run side by side")


@pytest.fixture(params=[0, 42])
def global_random_seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request: pytest.FixtureRequest) -> Any:
    return request.param
