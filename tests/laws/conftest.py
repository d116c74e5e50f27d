"""Fixtures of the laws: the table in all kinds of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws import _sources


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files are that `KINDS` open."""
    folder: Path = tmp_path_factory.mktemp("table")
    _sources.write(folder)
    return folder
