"""How much of everything a page may hold, so that all of it stays below two megabytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Limits(NamedTuple):
    """The most points of a line and of a cloud, cells of a table, characters of one, numbers of costs and of rows."""

    line: int = 240
    cloud: int = 1_200
    cells: int = 6_000
    characters: int = 2_000
    costs: int = 150_000
    rows: int = 30_000

    def halved(self) -> Limits:
        return Limits(*(max(limit // 2, 8) for limit in self))


def evenly(length: int, most: int) -> NDArray[Any]:
    """At most so many places in a sequence, evenly spaced, the first and the last among them."""
    if length <= most:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, most).round().astype(int))


def chosen(values: Any, places: NDArray[Any]) -> list[Any]:
    return [values[place] for place in places]
