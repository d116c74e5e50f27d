"""Shared fixtures: real data, a browser, plots without a window, and one cache of compiled loops per run."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).parents[1]

# Before numba is imported: the workers of a run, and the processes that tests start, compile each loop once.
os.environ.setdefault("NUMBA_CACHE_DIR", str(REPOSITORY / ".cache" / "numba"))

# Before numpy and torch are imported: each worker of a run has a core, and their threads, which wait by turning in
# place, took more than the work itself.
for library in ("OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

#: whether loops run as plain Python, for `make coverage`
UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"

# How long an example takes says how busy the machine is, and whether a loop had to be compiled.
settings.register_profile("mercer", deadline=None)
settings.load_profile("mercer")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "compiled(reason): is about compilation, or would take minutes without it")
    if UNCOMPILED:  # NumPy's numbers warn where machine code overflows in silence
        config.addinivalue_line("filterwarnings", r"ignore::RuntimeWarning:mercer\._jit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items if UNCOMPILED else ():
        if (mark := item.get_closest_marker("compiled")) is not None:
            item.add_marker(pytest.mark.skip(reason=f"without compilation: {mark.args[0]}"))


# Collecting tests makes no garbage, and looking for it took a sixth of the time.
gc.disable()


def pytest_collection_finish() -> None:
    """Enable the garbage collector, and exclude the collected tests from it."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Now there is; some libraries count what they find alive at the end."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """`real_data("heart.csv")`: the path of a real data set, or a skip where it is not to be had."""
    folder = os.environ.get("MERCER_DATA")

    def find(name: str) -> Path:
        if not folder:
            pytest.skip(f"{name} is real data; set MERCER_DATA to the folder that holds it")
        if not Path(folder, name).exists():
            pytest.skip(f"{name} is not in {folder}, the folder that MERCER_DATA names")
        return Path(folder, name)

    return find


@pytest.fixture
def pyplot() -> Iterator[Any]:
    """Without a window, and with no figure left open."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    plots = pytest.importorskip("matplotlib.pyplot")
    plots.close("all")
    yield plots
    plots.close("all")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window, or a skip where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = [path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))]
    if not found:
        pytest.skip("there is no chromium to open the page with")
    with playwright.sync_playwright() as driver:
        try:
            opened = driver.chromium.launch(executable_path=found[0], args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"chromium does not start here: {str(error).splitlines()[0]}")
        yield opened
        opened.close()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)
