"""Progress on standard error: a bar for each stage, with the remaining time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class StageBars:
    """A progress bar for each stage, by name; without a display, updates do nothing."""

    def __init__(self, display: Any = None) -> None:
        self._display = display
        self._bars: dict[str, Any] = {}

    def update(self, stage: str, done: float, total: float | None, doing: str = "") -> None:
        """Set how much of a stage is done."""
        if self._display is None:
            return
        from mercer.report.wording import escape_controls

        if stage not in self._bars:
            self._bars[stage] = self._display.add_task(stage, total=total, doing="")
        self._display.update(self._bars[stage], completed=done, total=total, doing=escape_controls(doing))


@contextmanager
def stage_bars(quiet: bool = False, wanted: bool | None = None) -> Iterator[StageBars]:
    """Show progress bars on standard error if it is a terminal, or if they are wanted."""
    if quiet or wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield StageBars()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True, force_terminal=True if wanted else None)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[doing]}", markup=False),
    )
    with Progress(*columns, console=console) as display:
        yield StageBars(display)
