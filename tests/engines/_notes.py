"""A journal in memory."""

from __future__ import annotations

from typing import Any, NamedTuple


class Note(NamedTuple):
    result: Any
    finished: bool

    @property
    def pieces(self) -> int:
        """Number of finished pieces."""
        return int(self.result[-1])


class Notes(dict[int, Note]):
    """A journal in memory: the last result of each pass, by its number."""

    def find_result(self, number: int, source: Any) -> Any:
        return self[number].result if number in self and self[number].finished else None

    def find_partial_result(self, number: int, source: Any) -> Any:
        return self[number].result if number in self and not self[number].finished else None

    def keep(self, number: int, source: Any, result: Any, *, finished: bool) -> None:
        self[number] = Note(result, finished)
