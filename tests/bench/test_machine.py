"""The line about the machine of a measurement."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from bench.machine import PACKAGES

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_every_rival_has_its_version_in_the_line() -> None:
    wanted = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]["bench"]
    rivals = {re.split(r"[>=\[]", each)[0] for each in wanted} - {"mercer"}
    assert rivals
    assert rivals <= set(PACKAGES)
