"""Records on the terminal, by rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.report.grid import Grid

if TYPE_CHECKING:
    from rich.console import Console


def print_grid(grid: Grid, console: Console) -> None:
    """Print a grid; cells and notes are text, never markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    written = grid.written()
    for position, field in enumerate(grid.fields):
        # numbers are read digit by digit; headings and words may go on in the next line
        digits = max((len(row[position]) for row in written), default=0) if field.numeric else None
        table.add_column(
            Text(field.heading), justify="right" if field.numeric else "left", min_width=digits, overflow="fold"
        )
    for row in written:
        table.add_row(*map(Text, row))
    if grid.title:
        console.print(Text(grid.title, style="bold"))
    console.print(table)
    for note in grid.notes:
        console.print(Text(note, style="dim"))
