"""Which engine is in force, and for how long. Those on Dask are chosen in test_dask.py."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import _threads
from mercer.data.sources.memory import InMemory
from mercer.engines import choosing, engine
from mercer.engines.here import Threads

pytestmark = pytest.mark.usefixtures("four_cores")

SOURCE = InMemory(np.zeros((2, 1)))


def test_threads_are_the_engine_unless_another_is_chosen() -> None:
    assert isinstance(choosing.engine_for(SOURCE), Threads)


def test_an_engine_is_in_force_inside_its_block_and_none_changes_nothing() -> None:
    with mercer.engine("threads"):
        chosen = choosing.engine_for(SOURCE)
        with engine(), engine(threads=2):
            assert choosing.engine_for(SOURCE) is chosen
        with engine("threads"):
            assert choosing.engine_for(SOURCE) is not chosen
    assert choosing.engine_for(SOURCE) is not chosen


def test_a_bound_on_threads_holds_until_another_is_set() -> None:
    with engine(threads=2):
        with engine("threads"):
            assert _threads.thread_count() == 2
        with engine(threads=3):
            assert _threads.thread_count() == 3
        assert _threads.thread_count() == 2
    assert _threads.thread_count() == 4


def test_an_error_inside_ends_it_too() -> None:
    with pytest.raises(OSError, match="gone"), engine("threads", threads=1):
        raise OSError("gone")
    assert _threads.thread_count() == 4
    assert choosing._engine.get() is None
