"""Compare models on one table: splits, scores and their differences, checks, experiments and the report page."""

from mercer.comparison._entry import Entry
from mercer.comparison._verdict import Verdict
from mercer.comparison.comparing import compare
from mercer.comparison.comparison import Comparison

__all__ = ["Comparison", "Entry", "Verdict", "compare"]
