"""Models side by side on one table: folds, scores and their differences, checks, experiments, sections of the page."""

from mercer.comparison.comparing import compare
from mercer.comparison.comparison import Comparison
from mercer.comparison.entry import Entry

__all__ = ["Comparison", "Entry", "compare"]
