"""The files, functions and depth of a call, counted on a small package and on one fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.walk import Tracer, calls, table_rows

OUTER = """
import threading
from nested_inner import leaf, twice

def unused():
    leaf()

def outer(depth=2):
    if depth:
        return outer(depth - 1)
    worker = threading.Thread(target=in_thread)
    worker.start()
    worker.join()
    numbers = [leaf() for _ in range(3)] + list(leaf() for _ in range(2)) + [(lambda: leaf())()]
    return list(twice(numbers))

def in_thread():
    leaf()
"""

INNER = """
import numba

def leaf():
    return 1

def twice(numbers):
    for number in numbers:
        yield double(number)

def double(number):
    return compiled(number)

@numba.njit
def compiled(number):
    return 2 * number
"""


def test_counts_of_nested_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nested_outer.py").write_text(OUTER)
    (tmp_path / "nested_inner.py").write_text(INNER)
    monkeypatch.syspath_prepend(tmp_path)
    import nested_outer  # type: ignore[import-not-found]

    trace = Tracer(tmp_path).trace(nested_outer.outer)
    assert trace.files == {"nested_outer.py", "nested_inner.py"}
    assert [function.name for function in trace.callers] == [
        "outer",
        "in_thread",
        "leaf",
        "twice",
        "double",
        "compiled",
    ]
    assert trace.depth == 6  # outer three times, twice, double, compiled
    assert list(trace.tree()) == [
        "nested_outer.py:outer",
        "  nested_inner.py:twice",
        "    nested_inner.py:double",
        "      nested_inner.py:compiled",
        "nested_outer.py:in_thread",
        "  nested_inner.py:leaf",
    ]


def test_other_folders_do_not_count(tmp_path: Path) -> None:
    trace = Tracer(tmp_path / "elsewhere").trace(lambda: sorted([2, 1]))
    assert (trace.files, trace.callers, trace.depth) == (set(), {}, 0)


def test_a_row_of_the_table() -> None:
    header, row = table_rows(["mercer", "sklearn"], "GaussianNB")
    assert header.split() == ["mercer", "files", "functions", "depth", "sklearn", "files", "functions", "depth"]
    call, *numbers = row.split()
    assert call == "GaussianNB().fit()"
    assert all(int(number) > 1 for number in numbers)


def test_calls_absent_from_scikit_learn_are_left_out() -> None:
    assert set(calls("mercer")) - set(calls("sklearn")) == {"GLM().fit(offset)", "compare()"}
