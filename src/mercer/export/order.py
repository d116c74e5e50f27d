"""Values in the order in which they can be computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mercer.export.expression import Expression, Named, parts


def named_values(outputs: Iterable[Expression]) -> list[Named]:
    """Every named value that the outputs need, after those that it needs itself."""
    done: dict[Named, None] = {}
    waiting: list[Expression] = list(reversed(list(outputs)))
    opened: set[Named] = set()
    while waiting:
        value = waiting[-1]
        if not isinstance(value, Named):
            waiting.pop()
            waiting.extend(needs(value))
        elif value in done:
            waiting.pop()
        elif value in opened:
            done.setdefault(value)
            waiting.pop()
        else:
            opened.add(value)
            waiting.extend(reversed(list(needs(value.value))))
    return list(done)


def needs(expression: Expression) -> Iterator[Named]:
    """The named values that are written in an expression itself."""
    if isinstance(expression, Named):
        yield expression
        return
    for part in parts(expression):
        yield from needs(part)
