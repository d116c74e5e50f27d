"""The choice of an engine and its duration. Engines on Dask are in test_dask.py."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import _threads as threads
from mercer.data.sources.memory import MemorySource
from mercer.engines import engine, engines
from mercer.engines.engines import Threads

pytestmark = pytest.mark.usefixtures("four_cores")

SOURCE = MemorySource(np.zeros((2, 1)))


def test_threads_are_the_engine_unless_another_is_chosen() -> None:
    assert isinstance(engines.engine_for(SOURCE), Threads)


def test_an_engine_is_in_force_inside_its_block_and_none_changes_nothing() -> None:
    with mercer.engine("threads"):
        chosen = engines.engine_for(SOURCE)
        with engine(), engine(threads=2):
            assert engines.engine_for(SOURCE) is chosen
        with engine("threads"):
            assert engines.engine_for(SOURCE) is not chosen
    assert engines.engine_for(SOURCE) is not chosen


def test_a_bound_on_threads_holds_until_another_is_set() -> None:
    with engine(threads=2):
        with engine("threads"):
            assert threads.thread_count() == 2
        with engine(threads=3):
            assert threads.thread_count() == 3
        assert threads.thread_count() == 2
    assert threads.thread_count() == 4


def test_an_error_inside_the_block_ends_it_too() -> None:
    with pytest.raises(OSError, match="gone"), engine("threads", threads=1):
        raise OSError("gone")
    assert threads.thread_count() == 4
    assert engines._engine.get() is None
