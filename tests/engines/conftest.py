"""Fixture of all tests of engines: a machine of four cores."""

from __future__ import annotations

import pytest

from mercer import _threads as threads


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has, and however few threads its user wants."""
    monkeypatch.setattr(threads, "available_cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
