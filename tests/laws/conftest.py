"""Fixtures of the laws: the table in all kinds of files, and fits that begin with few rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from mercer.matrices import streamed
from tests.laws import _sources


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files are that `KINDS` open."""
    folder: Path = tmp_path_factory.mktemp("table")
    _sources.write(folder)
    return folder


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make fits start from far fewer rows than there are."""
    monkeypatch.setattr(streamed, "SAMPLE_ROWS", 400)
