"""Tests that every line excluded from coverage has a reason in the same place."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]


def test_every_pragma_has_a_reason() -> None:
    sources = (REPOSITORY / "src").rglob("*.py")
    lines = [line for path in sources for line in path.read_text(encoding="utf-8").splitlines() if "no cover" in line]
    assert lines
    assert [line for line in lines if not re.search(r"# pragma: no cover – \w+ \w+", line)] == []


@pytest.mark.parametrize("left_out", ["", " –", ", so"])
def test_a_pragma_without_a_reason_excludes_nothing(left_out: str) -> None:
    patterns = SETTINGS["report"]["exclude_lines"]
    assert not any(re.search(pattern, f"x = 1  # pragma: no cover{left_out}") for pattern in patterns)
    assert any(re.search(pattern, "x = 1  # pragma: no cover – only on a card") for pattern in patterns)
