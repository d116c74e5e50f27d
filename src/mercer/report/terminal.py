"""Records as text on the terminal, printed with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.report.grid import Grid
from mercer.report.wording import escape_controls

if TYPE_CHECKING:
    from rich.console import Console

#: characters that rich adds around a cell
CELL_PADDING = 3
#: characters that rich adds before and after a line
LINE_MARGIN = 1
#: words up to this many characters are not broken
MAX_UNBROKEN = 30


def print_grid(grid: Grid, console: Console) -> None:
    """Print a grid; cells and notes are text, never markup.

    Columns that do not fit in a line are printed below, each time with the first column, which names the rows.
    """
    from rich.text import Text

    if grid.title:
        console.print(Text(escape_controls(grid.title), style="bold"))
    widths = _least_widths(grid)
    for positions in _blocks(widths, console.width):
        _print_columns(grid, positions, widths, console)
    for note in grid.notes:
        console.print(Text(escape_controls(note), style="dim"))


def _print_columns(grid: Grid, positions: list[int], widths: list[int], console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for position in positions:
        field = grid.fields[position]
        table.add_column(
            Text(escape_controls(field.heading)),
            justify="right" if field.numeric else "left",
            min_width=widths[position],
            overflow="fold",
        )
    for row in grid.written():
        table.add_row(*(Text(escape_controls(row[position])) for position in positions))
    console.print(table)


def _least_widths(grid: Grid) -> list[int]:
    """Return the least widths of columns: numbers and names stay whole, headings and texts may wrap between words."""
    widths = []
    for position, field in enumerate(grid.fields):
        cells = [escape_controls(row[position]) for row in grid.written()]
        unbroken = cells if field.numeric or position == 0 else [word for cell in cells for word in cell.split()]
        longest = max(map(len, [*field.heading.split(), *unbroken]), default=0)
        widths.append(longest if field.numeric else min(longest, MAX_UNBROKEN))
    return widths


def _blocks(widths: list[int], line_width: int) -> list[list[int]]:
    """Return groups of columns that fit side by side."""
    blocks = [[0]]
    for position in range(1, len(widths)):
        used = sum(widths[each] + CELL_PADDING for each in blocks[-1]) + 2 * LINE_MARGIN
        if used + widths[position] + CELL_PADDING > line_width and (len(blocks[-1]) > 1 or len(blocks) == 1):
            blocks.append([0])
        blocks[-1].append(position)
    return [block for block in blocks if len(block) > 1] or [[0]]
