"""What a check says: a finding, or why it was not made."""

from __future__ import annotations

from typing import NamedTuple


class NotAsked(Exception):
    """Why a check was not made."""


class Found(NamedTuple):
    """A sentence, a remedy, and the columns that it is about."""

    sentence: str
    remedy: str
    columns: tuple[str, ...] = ()
