"""Reading one block ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from mercer._threads import bounded, thread_count
from mercer.data.sources.read_ahead import read_ahead


def test_items_come_in_order() -> None:
    assert list(read_ahead(iter(range(100)))) == list(range(100))
    assert list(read_ahead(iter(()))) == []


def test_the_next_item_is_made_while_one_is_used() -> None:
    made = threading.Event()

    def items() -> Iterator[int]:
        yield 0
        made.set()
        yield 1

    following = read_ahead(items())
    assert next(following) == 0
    assert made.wait(10)
    assert list(following) == [1]


def test_no_more_than_a_few_items_are_made_ahead() -> None:
    produced: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            produced.append(number)
            yield number

    following = read_ahead(items())
    for number in range(50):
        assert next(following) == number
        assert len(produced) <= number + 4
    following.close()  # type: ignore[attr-defined]


def test_exceptions_are_raised_in_their_place() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("gone")

    following = read_ahead(items())
    assert next(following) == 1
    with pytest.raises(KeyError, match="gone"):
        next(following)


@pytest.mark.parametrize("interrupt", [None, KeyboardInterrupt])
def test_an_abandoned_iteration_is_closed_and_leaves_no_thread(interrupt: type[BaseException] | None) -> None:
    before, closed = threading.active_count(), threading.Event()

    def items() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    following = read_ahead(items())
    next(following)
    if interrupt is None:
        following.close()  # type: ignore[attr-defined]
    else:
        with pytest.raises(interrupt):
            following.throw(interrupt)  # type: ignore[attr-defined]
    assert closed.is_set()
    assert threading.active_count() == before


def test_the_thread_has_the_limits_of_its_caller() -> None:
    with bounded(1):
        assert next(read_ahead(iter(thread_count() for _ in range(1)))) == 1
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        next(read_ahead(np.float64(1e308) * factor for factor in (10.0,)))
