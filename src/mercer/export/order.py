"""The order of named values, and groups of sums that are computed together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from mercer._errors import ExportError
from mercer._typing import Array
from mercer.export.expression import Expression, KernelPoints, Named, Nearest, PointSum, TermSum, TextTerms, parts

E = TypeVar("E", bound=Expression)


def named_values(outputs: Iterable[Expression]) -> list[Named]:
    """Return all named values of the outputs, each after the values on which it depends."""
    finished: dict[Named, None] = {}
    waiting: list[Expression] = list(reversed(list(outputs)))
    opened: set[Named] = set()
    while waiting:
        value = waiting[-1]
        if not isinstance(value, Named):
            waiting.pop()
            waiting.extend(written_in(value, Named))
        elif value in finished:
            waiting.pop()
        elif value in opened:
            finished.setdefault(value)
            waiting.pop()
        else:
            opened.add(value)
            waiting.extend(reversed(list(written_in(value.value, Named))))
    return list(finished)


def written_in(expression: Expression, kind: type[E]) -> Iterator[E]:
    """Yield the parts of a kind in an expression itself, not in its named values."""
    if isinstance(expression, kind):
        yield expression
    elif not isinstance(expression, Named):
        for part in parts(expression):
            yield from written_in(part, kind)


#: the points, or the terms of a text, that several sums share
Group = KernelPoints | TextTerms
#: characters of a number with all digits
CHARACTERS_PER_NUMBER = 22


def groups_of(values: Iterable[Named]) -> dict[Group, list[Named]]:
    """Return the sums over the same points or terms, which are computed together."""
    groups: dict[Group, list[Named]] = {}
    for value in values:
        if (group := group_of(value)) is not None:
            groups.setdefault(group, []).append(value)
    return groups


def group_of(value: Named) -> Group | None:
    """Return the points or terms of a sum, or None for other values."""
    return value.value.of if isinstance(value.value, TermSum | PointSum | Nearest) else None


def weights_of(members: Iterable[Named]) -> list[Array]:
    """Return the weights of the members of a group that have weights."""
    return [member.value.weights for member in members if isinstance(member.value, TermSum | PointSum)]


def check_size(model: str, language: str, outputs: Iterable[Expression], most: int = 20_000_000) -> None:
    """Raise an `ExportError` for points and terms of more than `most` characters."""
    size, rows = 0, 0
    for group, members in groups_of(named_values(outputs)).items():
        columns = len(weights_of(members)) + (group.points.shape[1] if isinstance(group, KernelPoints) else 2)
        count = len(group.points if isinstance(group, KernelPoints) else group.terms)
        size, rows = size + CHARACTERS_PER_NUMBER * columns * count, rows + count
    if size > most:
        raise ExportError(
            f"{model} cannot be exported to {language}: its {rows:,} rows or words would be "
            f"about {size / 1e6:,.0f} MB of text, and at most {most / 1e6:.0f} MB are written. Export it to ONNX, or "
            "fit it to fewer rows."
        )
