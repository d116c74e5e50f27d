"""Kernel machines without their search, for tests that are about something else."""

from __future__ import annotations

import pytest

from mercer.models.kernel_models import compared


@pytest.fixture
def untuned_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """To tune them takes ten times as long."""
    monkeypatch.setattr(compared, "SEARCHED", 0)
