"""Models side by side."""

from mercer.comparison.crossvalidation import Result
from mercer.comparison.leaderboard import Leaderboard, compare

__all__ = ["Leaderboard", "Result", "compare"]
