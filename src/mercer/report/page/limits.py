"""Limits on the contents of a page, which keep it below two megabytes."""

from __future__ import annotations

from typing import NamedTuple


class PageLimits(NamedTuple):
    """Maximum points of a line and of a cloud, cells of a table, characters of a cell, numbers of costs and of rows."""

    line: int = 240
    cloud: int = 1_200
    cells: int = 6_000
    characters: int = 2_000
    costs: int = 150_000
    rows: int = 30_000

    def halved(self) -> PageLimits:
        """Return limits half as large, but at least 8."""
        return PageLimits(*(max(limit // 2, 8) for limit in self))
