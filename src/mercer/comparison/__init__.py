"""Models side by side."""

from mercer.comparison.leaderboard import Leaderboard, compare
from mercer.comparison.tasks import RegressionResult, Result

__all__ = ["Leaderboard", "RegressionResult", "Result", "compare"]
