"""How rows may lie in memory."""

from __future__ import annotations

from typing import Any


def read_only(X: Any) -> Any:
    """A copy that refuses to be written to."""
    copy = X.copy()
    copy.flags.writeable = False
    return copy
