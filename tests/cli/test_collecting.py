"""Garbage is collected less often while a command works, and as often as before after it."""

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
