"""What is said to a client whose request cannot be answered."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """One sentence, the status of HTTP that goes with it, and where the trouble is."""

    def __init__(self, status: int, sentence: str, row: int | None = None, column: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.row, self.column = status, sentence, row, column

    def content(self) -> dict[str, Any]:
        where = {"row": self.row, "column": self.column}
        return {"detail": self.sentence} | {name: value for name, value in where.items() if value is not None}
