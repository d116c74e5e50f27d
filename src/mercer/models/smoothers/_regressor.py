"""What both kernel regressions share: values that are numbers, confidence intervals, and the curve."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, InferenceError
from mercer._gpu import is_tensor, like
from mercer._typing import Array
from mercer.models._finite import finite_numbers
from mercer.models._refusal import refuse_no_target
from mercer.models._tensor_linear import r_squared
from mercer.models._tensors import checked_tensor
from mercer.models.base import old_state_on_failure
from mercer.models.smoothers._smoother import KernelSmoother
from mercer.models.streaming.from_source import fits_sources
from mercer.smoothing.mixed import Rows
from mercer.smoothing.regression import answers_left_out

if TYPE_CHECKING:
    from mercer.models.prediction_interval import PredictionInterval

#: points of a curve that is drawn
DRAWN = 300


class KernelRegressor(MultiOutputMixin, RegressorMixin, KernelSmoother):
    """Regression by kernels."""

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the bandwidth, and keep the rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given. Whoever is left out is so with all of its weight.

        Returns
        -------
        self : object
            The fitted model.
        """
        with old_state_on_failure(self):
            self._validate_params()
            refuse_no_target(self, y)
            rows = self._read(X, reset=True)
            self._y_name = _name(y)
            y = _targets(self._beside(y, X, "y"))
            self._refuse_lengths(rows, y)
            self._y_shape = y.shape[1:]
            values = y.reshape(len(y), -1)
            weight = self._row_weight(self._beside(sample_weight, X, "sample_weight"), rows.count)
            self._learn(rows, values, weight, _units)
            self.plan_ = self.plan_.where(X)
        return self

    def predict(self, X: Any) -> Any:
        """Predict values.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to predict for.

        Returns
        -------
        y : ndarray or tensor of shape (n_queries,) or (n_queries, n_outputs)
            Predicted values, of a tensor on its device; see `out_of_reach` for where no row of the fit is near.
        """
        return self._shaped(self._answers(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to predict for.
        y : array-like or tensor of shape (n_queries,) or (n_queries, n_outputs)
            Their values.
        sample_weight : array-like of shape (n_queries,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            1 − Σ(y − ŷ)²/Σ(y − ȳ)².
        """
        return r_squared(self, X, y, sample_weight)

    def predict_interval(self, X: Any, level: float = 0.95) -> PredictionInterval:
        """Pointwise confidence intervals for the regression function.

        m̂(x) ± z √(σ̂²(x) Σ_j ℓ_j(x)²), where ℓ(x) are the `weights` and σ̂²(x) is the local mean, by the kernel's own
        weights, of the squared leave-one-out residuals of the rows of the fit: the noise may change with x. Each row
        is one observation, whatever its weight. The interval is for the mean of m̂(x): its bias, which a narrower
        bandwidth makes smaller, is not corrected for.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to predict for.
        level : float, default=0.95
            Probability of each interval.

        Returns
        -------
        interval : PredictionInterval
            `mean`, `lower` and `upper` in the shape of `predict`, the ends NaN where no row of the fit is in reach,
            and of a tensor on its device; `.frame()` has them as columns.
        """
        check_is_fitted(self)
        if not isinstance(level, Real) or not 0 < level < 1:
            raise InferenceError(f"level is a probability between 0 and 1; got {level!r}. Give 0.95, say.")
        if is_tensor(X):
            X = checked_tensor(self, X, reset=False)
        found = self._interval(self._read(X, reset=False), float(level))
        mean, lower, upper = (like(part, X) for part in (found.mean, found.lower, found.upper))
        return replace(found, mean=mean, lower=lower, upper=upper)

    def plot(self, ax: Any = None, *, level: float = 0.95) -> Any:
        """Draw the regression on one column of numbers, its confidence band and the rows of the fit.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw.
        level : float, default=0.95
            Probability of the band, at each point.

        Returns
        -------
        ax : matplotlib Axes
            What was drawn on.
        """
        from mercer.report import plots

        check_is_fitted(self)
        if len(self._columns.names) != 1 or self._columns.categories or self._y_shape not in ((), (1,)):
            raise DataError("a curve is drawn for one column of numbers and one value; use predict_interval for more.")
        x, y = self._fit.numbers()[:, 0], self._fit.values[:, 0]
        grid = np.linspace(x.min(), x.max(), DRAWN)
        band = self._interval(Rows(grid[:, None]), level)
        return plots.regression_curve(
            grid,
            band.mean.ravel(),
            band.lower.ravel(),
            band.upper.ravel(),
            points=np.column_stack([x, y]),
            ax=ax,
            names=(self._columns.names[0], self._y_name),
        )

    @property
    def leave_one_out_predictions_(self) -> Array:
        """Prediction for every row of the fit from all others, computed when first asked for."""
        return np.asarray(self._shaped(self._answers_left_out()))

    def _interval(self, rows: Rows, level: float) -> PredictionInterval:
        from mercer.models.prediction_interval import PredictionInterval

        mean = self._shaped(self._answers_to(rows))
        if self._noise is None:
            self._noise = np.square(self._fit.values - answers_left_out(self._fit, "nearest"))
        half = self._shaped(float(ndtri((1 + level) / 2)) * np.sqrt(self._fit.variances(rows, self._noise)))
        return PredictionInterval(mean, mean - half, mean + half, level, "mean")

    def _shaped(self, found: Any) -> Any:
        return found.reshape(len(found), *self._y_shape)


def _targets(y: Any) -> Array:
    values = finite_numbers(y)
    if values.ndim not in (1, 2):
        raise DataError(
            f"y should be a 1d array, got an array of shape {values.shape} instead. Give one value per row, or one for "
            "each output."
        )
    return values


def _name(y: Any) -> str:
    """Of a series, or of the one column of a frame, if it has one."""
    columns = getattr(y, "columns", None)
    name = columns[0] if columns is not None and len(columns) else getattr(y, "name", None)
    return name if isinstance(name, str) and name else "y"


def _units(values: Array, weight: Array) -> Array:
    """Standard deviation of each output, times the root of their number: errors are shares of the variance."""
    shares = weight / weight.sum()
    away = values - values[0]
    largest = np.abs(away).max(axis=0, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    scaled = away / largest
    spread = largest * np.sqrt(shares @ np.square(scaled - shares @ scaled))
    return np.asarray(np.where(spread > 0, spread, 1.0) * np.sqrt(values.shape[1]))
