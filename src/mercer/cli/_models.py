"""Models from files, and rows as these take them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.data.readers import Part, Reading, Rows


def opened(path: str) -> Any:
    """The model in a file."""
    from mercer.files import load

    return load(path)


def named(model: object) -> str:
    """What somebody would call the model."""
    steps = getattr(model, "steps", None)
    return type(model).__name__ if steps is None else f"{type(steps[-1][1]).__name__} with features before it"


def rows_for(model: Any, data: str, reading: Reading) -> Rows:
    """Rows of a table whose columns hold for the reader what they held for the model."""
    from mercer.comparison.using.datasets import open_data
    from mercer.comparison.using.reading import held_by, refuse_other_table

    rows = open_data(data, reading)
    names = rows.names()
    refuse_other_table(model, names, data)
    held = {name: what for name, what in held_by(model).items() if name in names}
    return open_data(data, replace(reading, held=held | dict(reading.held)))


def parts_for(model: Any, rows: Rows, keep: list[str]) -> Iterator[tuple[Part, Any]]:
    """Some rows at a time, and the columns of these that the model reads."""
    from mercer.comparison.using.reading import columns_of
    from mercer.data.select import select

    wanted = columns_of(model) or [name for name in rows.names() if name not in keep]
    for part in rows.parts(list(dict.fromkeys([*keep, *wanted]))):
        yield part, select(part.frame, wanted)
