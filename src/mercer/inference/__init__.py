"""Inference about the coefficients of a fitted model: standard errors, tests, intervals."""

from mercer.base.prediction_interval import PredictionInterval
from mercer.inference._criteria import Criteria
from mercer.inference._hypotheses import HypothesisTest
from mercer.inference._summaries import Summary, summary

__all__ = ["Criteria", "HypothesisTest", "PredictionInterval", "Summary", "summary"]
