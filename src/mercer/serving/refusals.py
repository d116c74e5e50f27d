"""What is said to a client whose request cannot be answered."""

from __future__ import annotations

import json
from typing import Any


class Refusal(Exception):
    """One sentence, the status of HTTP that goes with it, and where the trouble is."""

    def __init__(self, status: int, sentence: str, row: int | None = None, column: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.row, self.column = status, sentence, row, column

    def body(self) -> bytes:
        """As JSON in ASCII, which can be written whatever the client sent."""
        where = {"row": self.row, "column": self.column}
        content: dict[str, Any] = {"detail": self.sentence}
        return json.dumps(content | {name: value for name, value in where.items() if value is not None}).encode()
