"""Garbage is collected less often during a command, and as before after it."""

from __future__ import annotations

import gc

import pytest

from mercer.cli.compare import rare_collections


def test_the_threshold_is_set_and_restored() -> None:
    before = gc.get_threshold()

    @rare_collections(allocations=12_345)
    def command(fails: bool) -> tuple[int, ...]:
        if fails:
            raise ValueError("no")
        return gc.get_threshold()

    assert command(False) == (12_345, *before[1:])
    with pytest.raises(ValueError, match="no"):
        command(True)
    assert gc.get_threshold() == before
