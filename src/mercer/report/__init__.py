"""Plain records of results, and their presentation as text, plots and HTML; nothing is computed here."""

from mercer.report.grid import Cell, Field, Grid
from mercer.report.html import grid_html
from mercer.report.records import (
    Axis,
    Bars,
    Block,
    Chart,
    CostTable,
    EvidenceRecord,
    FirstScreen,
    Heat,
    Influence,
    Line,
    Mark,
    NextStep,
    Note,
    Page,
    PointCloud,
    RowTable,
    Section,
)
from mercer.report.terminal import print_grid

__all__ = [
    "Axis",
    "Bars",
    "Block",
    "Cell",
    "Chart",
    "CostTable",
    "EvidenceRecord",
    "Field",
    "FirstScreen",
    "Grid",
    "Heat",
    "Influence",
    "Line",
    "Mark",
    "NextStep",
    "Note",
    "Page",
    "PointCloud",
    "RowTable",
    "Section",
    "grid_html",
    "print_grid",
]
