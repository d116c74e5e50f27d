"""Which estimators have inference, and who reads them; a typed error for those that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._errors import InferenceError
from mercer.models.inference.fits import Beside, Reading
from mercer.models.inference.read_drop_ins import (
    read_glm_regressor,
    read_least_squares,
    read_logistic,
    read_logistic_cv,
)
from mercer.models.inference.read_glm import read_glm
from mercer.models.inference.read_pipeline import read_pipeline

AFTER_L1 = (
    "there are no standard errors after an L1 penalty: the same data have chosen which coefficients are not zero, and "
    "errors computed as if the choice had been made beforehand would be too small. Choose columns on one half of the "
    "rows and fit them without a penalty on the other, use an L2 penalty (which has a posterior), or bootstrap the fit."
)
#: the estimators that have inference, by the names that users know
READABLE = (
    "GLM, LinearRegression, Ridge, RidgeCV, LogisticRegression, LogisticRegressionCV, PoissonRegressor, GammaRegressor "
    "and TweedieRegressor of mercer, and pipelines that end in one of them"
)


def refuse_log_target(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    raise InferenceError(
        "summary is not for LogNormalRegressor: its coefficients are those of LinearRegression or Ridge of log y. Fit "
        "one of them to the logarithm of y for standard errors."
    )


def refuse_selection(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    raise InferenceError(AFTER_L1)


#: what reads an estimator, by its class or one that it derives from
READERS: dict[str, Callable[[Any, Any, Any, Beside], Reading]] = {
    "GLM": read_glm,
    "GLMRegressor": read_glm_regressor,
    "LogNormalRegressor": refuse_log_target,
    "LeastSquaresRegressor": read_least_squares,
    "LogisticRegression": read_logistic,
    "LogisticRegressionCV": read_logistic_cv,
    **dict.fromkeys(("Lasso", "ElasticNet", "LassoCV", "ElasticNetCV"), refuse_selection),
}


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
    return _reader(model) is not None


def _reader(model: Any) -> Callable[[Any, Any, Any, Beside], Reading] | None:
    kinds = [kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith("mercer.")]
    return next((READERS[kind] for kind in kinds if kind in READERS), None)


def _read(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    reader = _reader(model)
    if reader is None:
        raise InferenceError(f"summary is for {READABLE}, not for {type(model).__name__}; fit one of them.")
    return reader(model, X, y, beside)
