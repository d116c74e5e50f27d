"""Memory layouts of rows."""

from __future__ import annotations

from typing import Any


def read_only(X: Any) -> Any:
    """Return a read-only copy."""
    copy = X.copy()
    copy.flags.writeable = False
    return copy
