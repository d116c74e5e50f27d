"""Models side by side."""

from mercer.comparison.comparing import compare
from mercer.comparison.comparison import Comparison
from mercer.comparison.entry import Entry

__all__ = ["Comparison", "Entry", "compare"]
