"""Models side by side on one table: folds, scores and their differences, checks, experiments, sections of the page."""

from mercer.comparison._entry import Entry
from mercer.comparison._verdict import Verdict
from mercer.comparison.comparing import compare
from mercer.comparison.comparison import Comparison

__all__ = ["Comparison", "Entry", "Verdict", "compare"]
