"""Plain records of results and how they are shown; nothing is computed here."""

from mercer.report.grid import Cell, Field, Grid
from mercer.report.html import grid_html
from mercer.report.terminal import print_grid

__all__ = ["Cell", "Field", "Grid", "grid_html", "print_grid"]
