"""Turn scores into decisions: costs, priors, rejection, thresholds, calibration, conformal prediction, outliers."""

from mercer.decision._calibration import Calibrated
from mercer.decision._conformal import ConformalClassifier, ConformalRegressor, conformal_p_values
from mercer.decision._decision import Decision
from mercer.decision._outliers import DensityOutliers, Ranking, adjusted_p_values, benjamini_hochberg
from mercer.decision._priors import PriorShift
from mercer.decision._thresholds import Threshold
from mercer.decision.reliability import (
    CalibrationCurve,
    CalibrationError,
    calibration_curve_with_intervals,
    calibration_error,
)

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
