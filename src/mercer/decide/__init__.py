"""From scores to actions: costs, priors, rejection, thresholds; calibrated probabilities; sets, intervals, outliers."""

from mercer.decide.calibration import Calibrated
from mercer.decide.conformal import conformal_p_values
from mercer.decide.conformal_intervals import ConformalRegressor
from mercer.decide.conformal_sets import ConformalClassifier
from mercer.decide.decision import Decision
from mercer.decide.false_discovery import adjusted_p_values, benjamini_hochberg
from mercer.decide.outliers import DensityOutliers, Ranking
from mercer.decide.priors import PriorShift
from mercer.decide.reliability import (
    CalibrationCurve,
    CalibrationError,
    calibration_curve_with_intervals,
    calibration_error,
)
from mercer.decide.thresholds import Threshold

__all__ = [
    "Calibrated",
    "CalibrationCurve",
    "CalibrationError",
    "ConformalClassifier",
    "ConformalRegressor",
    "Decision",
    "DensityOutliers",
    "PriorShift",
    "Ranking",
    "Threshold",
    "adjusted_p_values",
    "benjamini_hochberg",
    "calibration_curve_with_intervals",
    "calibration_error",
    "conformal_p_values",
]
