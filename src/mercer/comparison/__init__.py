"""Models side by side on one table: folds, scores and their differences, checks, experiments, sections of the page."""

from mercer.comparison.comparing import compare
from mercer.comparison.comparison import Comparison
from mercer.comparison.entry import Entry
from mercer.comparison.results.verdict import Verdict

__all__ = ["Comparison", "Entry", "Verdict", "compare"]
