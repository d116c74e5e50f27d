"""Room for what is found in blocks of documents, one after the other."""

from __future__ import annotations

import numpy as np

from mercer._jit.text import pages
from mercer._typing import Array

#: entries for which room is made at once, where a block has some of them: what few blocks need
ENTRIES = 1 << 21
SOME = ENTRIES // 8


class Room:
    """Two numbers for each entry, where blocks are written one behind the other and not copied.

    It is the system's again when the last of the blocks that are in it is dropped. Not to be used by two threads at
    once.
    """

    def __init__(self) -> None:
        self._left = _room(0)

    def of(self, needed: int) -> tuple[Array, Array]:
        """Room for at least so many entries. Memory is taken when it is written to."""
        if len(self._left[0]) < needed:
            self._left = _room(needed if needed < SOME else max(needed, ENTRIES))
        return self._left

    def taken(self, first: Array, second: Array, many: int) -> tuple[Array, Array]:
        """The first so many entries of what was written, in this room or in a larger one; the rest is for the next."""
        self._left = first[many:], second[many:]
        return first[:many], second[:many]


def larger(first: Array, second: Array, used: int) -> tuple[Array, Array]:
    """As much room again, with the entries that were used."""
    more = _room(2 * len(first))
    for there, here in zip(more, (first, second), strict=True):
        there[:used] = here[:used]
    return more


def _room(many: int) -> tuple[Array, Array]:
    return pages.empty(many, np.int32), pages.empty(many, np.int32)
