"""What comes back of a value that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer import load, save


def again(value: Any, folder: Path) -> Any:
    """The value, saved to `value.mercer` and loaded."""
    save(value, folder / "value.mercer")
    return load(folder / "value.mercer")
