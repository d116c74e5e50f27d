"""Which estimators have inference, and who reads them; a typed error for those that have none."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._errors import InferenceError
from mercer.base import resolve, traits_of
from mercer.models.inference.fits import Beside, Reading
from mercer.models.inference.read_pipeline import read_pipeline

AFTER_L1 = (
    "there are no standard errors after an L1 penalty: the same data have chosen which coefficients are not zero, and "
    "errors computed as if the choice had been made beforehand would be too small. Choose columns on one half of the "
    "rows and fit them without a penalty on the other, use an L2 penalty (which has a posterior), or bootstrap the fit."
)


def refuse_log_target(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    raise InferenceError(
        "summary is not for LogNormalRegressor: its coefficients are those of LinearRegression or Ridge of log y. Fit "
        "one of them to the logarithm of y for standard errors."
    )


def refuse_selection(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    raise InferenceError(AFTER_L1)


def reading_of(model: Any, X: Any, y: Any, *, sample_weight: Any, offset: Any, exposure: Any) -> Reading:
    """Return what inference needs of a fitted estimator; `InferenceError` for one that has no standard errors."""
    check_is_fitted(model)
    beside = Beside(sample_weight, offset, exposure)
    reading = read_pipeline(model, X, y, beside, _read) if isinstance(model, Pipeline) else _read(model, X, y, beside)
    if reading.fitted.strengths.l1.any():
        raise InferenceError(AFTER_L1)
    reading.refuse_spoilt(reading.fitted.eta, X, "summary")
    return reading


def has_reader(model: Any) -> bool:
    """Whether estimators of this class are read at all."""
    return traits_of(model).summary is not None


def _read(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    reader = traits_of(model).summary
    if reader is None:
        raise InferenceError(
            "summary is for linear and generalised linear models of mercer, such as LinearRegression, Ridge, "
            "LogisticRegression and GLM, and pipelines that end in one of them, not for "
            f"{type(model).__name__}; fit one of them."
        )
    return resolve(reader)(model, X, y, beside)  # type: ignore[no-any-return]
