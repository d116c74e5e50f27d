"""The fixtures and marks that scikit-learn's test modules expect of its own configuration; `pyplot` all tests have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's mark for tests that must not run side by side")
    config.addinivalue_line("markers", "no_check_spmatrix: scikit-learn's mark for its own check of sparse matrices")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """All of these are slow, and so is reading dozens of test files for none of them."""
    return True if "inside" in collection_path.name and config.getoption("markexpr") == "not slow" else None


# a second seed finds what the first happened to miss, at twice the time
@pytest.fixture(params=[0, pytest.param(42, marks=pytest.mark.slow)])
def global_random_seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request: pytest.FixtureRequest) -> Any:
    return request.param
