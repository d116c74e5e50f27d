"""What every test shares: where the real data is, and one cache of compiled loops for the whole run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).parents[1]

# Before numba is imported: the workers of a run, and the processes that tests start, compile each loop once.
os.environ.setdefault("NUMBA_CACHE_DIR", str(REPOSITORY / ".cache" / "numba"))

# How long an example takes says how busy the machine is, and whether a loop had to be compiled.
settings.register_profile("mercer", deadline=None)
settings.load_profile("mercer")


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """`real_data("heart.csv")`: the path of a real data set, or a skip where it is not to be had."""
    folder = Path(os.environ.get("MERCER_DATA", REPOSITORY.parent / "shared" / "data"))

    def find(name: str) -> Path:
        if not (folder / name).exists():
            pytest.skip(f"{name} is not in {folder}; set MERCER_DATA to the folder that holds it")
        return folder / name

    return find
