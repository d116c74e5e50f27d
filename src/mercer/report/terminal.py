"""Records on the terminal, by rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.report.grid import Grid
from mercer.report.wording import printable

if TYPE_CHECKING:
    from rich.console import Console

#: what rich puts around a cell; and before and after a line
AROUND, MARGIN = 3, 1
#: characters of a name that are kept in one line
LONGEST_NAME = 30


def print_grid(grid: Grid, console: Console) -> None:
    """Print a grid; cells and notes are text, never markup.

    Columns for which a line has no room come below, each time with the first column, which says what a row is about.
    """
    from rich.text import Text

    if grid.title:
        console.print(Text(printable(grid.title), style="bold"))
    widths = _least_widths(grid)
    for positions in _blocks(widths, console.width):
        _print_columns(grid, positions, widths, console)
    for note in grid.notes:
        console.print(Text(printable(note), style="dim"))


def _print_columns(grid: Grid, positions: list[int], widths: list[int], console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for position in positions:
        field = grid.fields[position]
        table.add_column(
            Text(printable(field.heading)),
            justify="right" if field.numeric else "left",
            min_width=widths[position],
            overflow="fold",
        )
    for row in grid.written():
        table.add_row(*(Text(printable(row[position])) for position in positions))
    console.print(table)


def _least_widths(grid: Grid) -> list[int]:
    """Numbers are read digit by digit, and so are names; headings and other words may go on in the next line."""
    widths = []
    for position, field in enumerate(grid.fields):
        cells = [printable(row[position]) for row in grid.written()]
        whole = cells if field.numeric or position == 0 else [word for cell in cells for word in cell.split()]
        longest = max(map(len, [*field.heading.split(), *whole]), default=0)
        widths.append(longest if field.numeric else min(longest, LONGEST_NAME))
    return widths


def _blocks(widths: list[int], room: int) -> list[list[int]]:
    """Columns that stand side by side: as many as there is room for."""
    blocks = [[0]]
    for position in range(1, len(widths)):
        taken = sum(widths[each] + AROUND for each in blocks[-1]) + 2 * MARGIN
        if taken + widths[position] + AROUND > room and (len(blocks[-1]) > 1 or len(blocks) == 1):
            blocks.append([0])
        blocks[-1].append(position)
    return [block for block in blocks if len(block) > 1] or [[0]]
