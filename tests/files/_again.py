"""Round trips of values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer import load, save


def again(value: Any, folder: Path) -> Any:
    """Save a value to `value.mercer`, and load it."""
    save(value, folder / "value.mercer")
    return load(folder / "value.mercer")
