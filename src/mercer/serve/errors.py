"""The error of a request that cannot be answered."""

from __future__ import annotations

import json
from typing import Any


class RequestError(Exception):
    """An error with one sentence, its HTTP status, and the row and column that it concerns."""

    def __init__(self, status: int, sentence: str, row: int | None = None, column: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.row, self.column = status, sentence, row, column

    def body(self) -> bytes:
        """Return the error as JSON in ASCII, so that any text of the client can be encoded."""
        content: dict[str, Any] = {"detail": self.sentence}
        position = {"row": self.row, "column": self.column}
        return json.dumps(content | {name: value for name, value in position.items() if value is not None}).encode()
