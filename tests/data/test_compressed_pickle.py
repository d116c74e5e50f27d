"""Layouts of many columns have small pickles, and are created once in a process."""

from __future__ import annotations

import pickle

import pyarrow as pa

from mercer.data.sources.base import SourceColumns
from mercer.data.sources.layout import Layout

NAMES = tuple(f"x{number}" for number in range(2000))
LAYOUT = Layout(SourceColumns(NAMES, target="y"), pa.schema([(name, pa.float64()) for name in (*NAMES, "y")]), 1000)


def test_a_wide_layout_has_a_small_pickle_that_restores_it() -> None:
    packed = pickle.dumps(LAYOUT)
    assert len(packed) < 15_000
    assert pickle.loads(packed) == LAYOUT
    assert pickle.loads(packed).types.equals(LAYOUT.types, check_metadata=True)


def test_all_pieces_of_a_process_share_one_layout() -> None:
    assert pickle.loads(pickle.dumps(LAYOUT)) is pickle.loads(pickle.dumps(LAYOUT))
