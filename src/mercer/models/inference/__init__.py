"""What a fitted model tells of its coefficients: standard errors, tests, intervals."""

from mercer.models.inference.criteria import Criteria
from mercer.models.inference.hypotheses import HypothesisTest
from mercer.models.inference.summary import Summary, summary
from mercer.models.prediction_interval import PredictionInterval

__all__ = ["Criteria", "HypothesisTest", "PredictionInterval", "Summary", "summary"]
