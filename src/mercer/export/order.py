"""Values in the order in which they can be computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from mercer.export.expression import Expression, Named, parts

E = TypeVar("E", bound=Expression)


def named_values(outputs: Iterable[Expression]) -> list[Named]:
    """Every named value that the outputs need, after those that it needs itself."""
    done: dict[Named, None] = {}
    waiting: list[Expression] = list(reversed(list(outputs)))
    opened: set[Named] = set()
    while waiting:
        value = waiting[-1]
        if not isinstance(value, Named):
            waiting.pop()
            waiting.extend(written_in(value, Named))
        elif value in done:
            waiting.pop()
        elif value in opened:
            done.setdefault(value)
            waiting.pop()
        else:
            opened.add(value)
            waiting.extend(reversed(list(written_in(value.value, Named))))
    return list(done)


def written_in(expression: Expression, kind: type[E]) -> Iterator[E]:
    """The parts of a kind that are written in an expression itself, not in what it names."""
    if isinstance(expression, kind):
        yield expression
    elif not isinstance(expression, Named):
        for part in parts(expression):
            yield from written_in(part, kind)
