"""A journal in memory."""

from __future__ import annotations

from typing import Any, NamedTuple


class Note(NamedTuple):
    result: Any
    finished: bool

    @property
    def pieces(self) -> int:
        """How many of them the pass has done."""
        return int(self.result[-1])


class Notes(dict[int, Note]):
    """Keeps all that it is given, by the number of the pass."""

    def finished(self, number: int, source: Any) -> Any:
        return self[number].result if number in self and self[number].finished else None

    def begun(self, number: int, source: Any) -> Any:
        return self[number].result if number in self and not self[number].finished else None

    def keep(self, number: int, source: Any, result: Any, *, finished: bool) -> None:
        self[number] = Note(result, finished)
