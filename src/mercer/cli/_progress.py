"""Progress on standard error: a bar for each stage, with the time that is left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stages:
    """Bars by the name of their stage; without a display, nothing happens."""

    def __init__(self, display: Any = None) -> None:
        self._display = display
        self._bars: dict[str, Any] = {}

    def tell(self, stage: str, done: float, total: float | None, doing: str = "") -> None:
        """So much of a stage is done."""
        if self._display is None:
            return
        from mercer.report.wording import printable

        if stage not in self._bars:
            self._bars[stage] = self._display.add_task(stage, total=total, doing="")
        self._display.update(self._bars[stage], completed=done, total=total, doing=printable(doing))


@contextmanager
def stages(quiet: bool = False, wanted: bool | None = None) -> Iterator[Stages]:
    """Bars on standard error where it is a terminal, or where they are asked for."""
    if quiet or wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield Stages()
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
        yield Stages(display)
