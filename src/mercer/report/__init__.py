"""Plain records of results and how they are shown; nothing is computed here."""

from mercer.report.grid import Cell, Field, Grid
from mercer.report.html import grid_html
from mercer.report.records import (
    Answer,
    Axis,
    Bars,
    Block,
    Chart,
    Costs,
    Evidence,
    Heat,
    Influence,
    Line,
    Mark,
    Note,
    Page,
    Points,
    Rows,
    Section,
    Step,
)
from mercer.report.terminal import print_grid

__all__ = [
    "Answer",
    "Axis",
    "Bars",
    "Block",
    "Cell",
    "Chart",
    "Costs",
    "Evidence",
    "Field",
    "Grid",
    "Heat",
    "Influence",
    "Line",
    "Mark",
    "Note",
    "Page",
    "Points",
    "Rows",
    "Section",
    "Step",
    "grid_html",
    "print_grid",
]
