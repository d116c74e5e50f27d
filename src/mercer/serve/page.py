"""The page at /: one file, the same for every model, which asks the server for the columns and fills itself."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

# What is said to a client whose request cannot be answered.


class RequestRefusal(Exception):
    """One sentence, the status of HTTP that goes with it, and where the trouble is."""

    def __init__(self, status: int, sentence: str, row: int | None = None, column: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.row, self.column = status, sentence, row, column

    def body(self) -> bytes:
        """As JSON in ASCII, which can be written whatever the client sent."""
        where = {"row": self.row, "column": self.column}
        content: dict[str, Any] = {"detail": self.sentence}
        return json.dumps(content | {name: value for name, value in where.items() if value is not None}).encode()


PAGE = files("mercer.serve").joinpath("page.html").read_bytes()


def _hashes(tag: str) -> str:
    """What a browser may run or apply: the contents of these tags and nothing else."""
    contents = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), PAGE, re.DOTALL)
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(each).digest()).decode()}'" for each in contents)


PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_hashes('script')}; style-src {_hashes('style')}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}
