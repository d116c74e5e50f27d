"""From scores to actions: which rows are outliers, and how many of those flagged may be flagged wrongly."""

from mercer.decide.conformal import conformal_p_values
from mercer.decide.false_discovery import adjusted_p_values, benjamini_hochberg
from mercer.decide.outliers import DensityOutliers, Ranking

__all__ = ["DensityOutliers", "Ranking", "adjusted_p_values", "benjamini_hochberg", "conformal_p_values"]
