"""Kernel regression and classification: Nadaraya–Watson means, local lines, and weighted votes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._errors import BandwidthError, ColumnTypeError, DataError, FitInterrupted, InferenceError, NonFiniteError
from mercer._gpu import is_tensor, like, namespace, to_numpy
from mercer._held import ValueHolder
from mercer._memory import check_memory
from mercer._stored import either, flags, floats, optional, part_of, real, sequence, stored, whole
from mercer._suggest import quoted
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base import Candidate, Question, traits
from mercer.base.fitted_fields import FITTED
from mercer.base.linear import accuracy, r_squared
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    STOPPED,
    Plan,
    check_finite,
    check_finite_targets,
    check_has_target,
    check_rows,
    check_same_device,
    check_table,
    check_tensor,
    check_weight,
    column_names,
    decode_labels,
    fetch_tensor,
    find_column,
    restore_on_failure,
)
from mercer.data.kinds import Kind
from mercer.data.labels import encode_labels
from mercer.data.table import Table
from mercer.density import _tensor_sums as tensor_sums
from mercer.density._bandwidth import Bandwidth
from mercer.density._kernels import SmoothingKernel, smoothing_kernel_from
from mercer.density._mixed import MixedRows, most_mismatch
from mercer.density._regression import (
    LocalFit,
    LocalLines,
    LocalMeans,
    LocalVotes,
    compute_left_out_error,
    evaluate,
    evaluate_left_out,
)
from mercer.density.named_rules import bandwidth_from
from mercer.density.regression_widths import WidthChoice, Widths, WidthSearch, sort_rows
from mercer.optim.certificate import Certificate, Solution

if TYPE_CHECKING:
    from mercer.base.prediction_interval import PredictionInterval


#: kinds of columns that categorical="auto" treats as categories
CATEGORIES = frozenset({Kind.CATEGORY, Kind.BOOLEAN})


@stored(names=sequence("d"), numbers=sequence(".", whole(0)), tag="SmootherColumns")
@dataclass(frozen=True)
class RegressionColumns:
    """Positions of the columns of numbers and of categories, and the codes of the levels of each category."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    categories: tuple[int, ...] = ()
    levels: tuple[dict[Hashable, int], ...] = ()

    @classmethod
    def of(cls, table: Table, categorical: Any) -> Self:
        """Read the kinds and levels of the columns of a table; the levels are those that occur."""
        if isinstance(categorical, str):
            if categorical != "auto":
                raise DataError(f'categorical is None, "auto", or a list of columns, not {quoted(categorical)}.')
            chosen = [j for j, kind in enumerate(table.kinds) if kind in CATEGORIES]
        else:
            chosen = sorted({find_column(key, table.names, "categorical") for key in categorical})
        numbers = tuple(j for j in range(table.n_columns) if j not in chosen)
        _check_no_text(table, numbers)
        levels = []
        for column in chosen:
            coded = table.coded(column)
            _check_no_gaps(table, column, coded.codes)
            occurring = np.unique(coded.codes)
            levels.append({label: code for code, label in enumerate(coded.labels[occurring].tolist())})
        return cls(table.names, numbers, tuple(chosen), tuple(levels))

    @property
    def number_names(self) -> list[str]:
        return [self.names[j] for j in self.numbers]

    @property
    def level_counts(self) -> Array | None:
        """Number of levels of each category; None without categories."""
        return np.array([len(known) for known in self.levels]) if self.categories else None

    def restrict_levels(self, rows: MixedRows, where: Array) -> tuple[Self, MixedRows]:
        """Keep only the levels that occur in some rows, and encode all rows anew."""
        assert rows.codes is not None
        codes, levels = np.empty_like(rows.codes), []
        for place, known in enumerate(self.levels):
            new = np.full(len(known), -1)
            occurring = np.unique(rows.codes[where, place])
            new[occurring] = np.arange(len(occurring))
            codes[:, place] = new[rows.codes[:, place]]
            levels.append({label: int(new[code]) for label, code in known.items() if new[code] >= 0})
        return replace(self, levels=tuple(levels)), MixedRows(rows.numbers, codes)

    def read(self, table: Table, estimator: str) -> MixedRows:
        """Return rows as numbers and codes, with −1 for a level that is not in the fit."""
        _check_no_text(table, self.numbers)
        numbers = table.numbers(self.numbers).astype(np.float64, copy=False)
        check_measurable(numbers, self.number_names, estimator)
        codes = np.empty((table.n_rows, len(self.categories)), dtype=np.int64)
        for place, (column, known) in enumerate(zip(self.categories, self.levels, strict=True)):
            coded = table.coded(column)
            _check_no_gaps(table, column, coded.codes)
            own = np.array([known.get(label, -1) for label in coded.labels.tolist()], dtype=np.int64)
            codes[:, place] = own[coded.codes]
        return MixedRows(numbers, codes if self.categories else None)


def check_measurable(numbers: Array, names: list[str], estimator: str) -> None:
    """Raise an error for the first value that is missing or infinite."""
    if np.isfinite(numbers).all():
        return
    row, column = (int(place) for place in np.argwhere(~np.isfinite(numbers))[0])
    missing = np.isnan(numbers[row, column])
    what = "NaN" if missing else f"infinity or a value too large for {numbers.dtype!r}"
    raise NonFiniteError(
        f"Input X contains {what}. Column {names[column]!r} is {numbers[row, column]} in row {row}, and {estimator} "
        f"{'does not accept missing values encoded as NaN' if missing else 'measures distances'}; drop or impute such "
        "values."
    )


def check_widths(values: Array, names: Sequence[str]) -> None:
    """Raise an error for the first column whose differences overflow float64."""
    with np.errstate(over="ignore"):
        widths = values.max(axis=0) - values.min(axis=0)
    if (beyond := np.flatnonzero(np.isinf(widths))).size:
        raise NonFiniteError(
            f"{names[beyond[0]]} is so wide that differences of its values are too large for float64. Divide it by its "
            "scale."
        )


def _check_no_text(table: Table, numbers: tuple[int, ...]) -> None:
    for column in numbers:
        if not table.kinds[column].numeric:
            raise ColumnTypeError(
                f"Column {table.names[column]!r} holds text or categories and is not among the categorical ones; add "
                'it to `categorical`, or give categorical="auto".'
            )


def _check_no_gaps(table: Table, column: int, codes: Array) -> None:
    if codes.size and codes.min() < 0:
        row = int(np.argmax(codes < 0))
        raise NonFiniteError(
            f"Input X contains NaN. Column {table.names[column]!r} has no category in row {row}; make missing a level "
            "of its own, or leave such rows out."
        )


#: largest number of rows for the comparison of models, because the choice of widths takes long
KERNEL_REGRESSION_MOST_ROWS = 2_000
#: widths that a comparison tries by folds, in standard deviations, most robust first
COMPARED_WIDTHS = (0.5, 0.05, 0.1, 0.2, 0.35, 0.7, 1.0, 1.5, 2.5)
LEAVE_ONE_OUT = "leave-one-out"
#: function of all values and their weights that returns the unit of each output, in which errors are measured
Units = Callable[[Array, Array], Array]
FITTED_SMOOTHER = FITTED | {
    "_has_weight": flags("r"),
    "_columns": part_of(),
    "_weightless_rows": optional(part_of(MixedRows)),
    "_left_out": optional(floats("r.")),
    "_noise": optional(floats("n.")),
    "bandwidth_": optional(either(real(), floats(), part_of())),
    "bandwidth_choice_": optional(part_of()),
    "mismatch_": optional(either(real(), floats(), sequence(".", real()))),
}
FITTED_REGRESSOR_SMOOTHER = FITTED_SMOOTHER | {"_y_name": part_of(str), "_y_shape": sequence(".", whole(0))}


class KernelSmoother(ValueHolder, BaseEstimator):
    """Base class of estimators whose results are local averages of the values of the fit."""

    _local: ClassVar[type[LocalFit]] = LocalMeans
    _description: ClassVar[str] = "a weighted mean of the values of the fit"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [str, SmoothingKernel],
        "bandwidth": [str, Real, "array-like", Bandwidth, HasMethods("choose")],
        "categorical": [str, "array-like", None],
        "mismatch": [StrOptions({LEAVE_ONE_OUT}), Real, "array-like"],
        "out_of_reach": [StrOptions({"nearest", "mean", "nan", "error"})],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        bandwidth: Any = LEAVE_ONE_OUT,
        *,
        categorical: Any = None,
        mismatch: Any = LEAVE_ONE_OUT,
        out_of_reach: str = "nearest",
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.categorical = categorical
        self.mismatch = mismatch
        self.out_of_reach = out_of_reach

    def _read(self, X: Any, *, reset: bool) -> MixedRows:
        """Return rows of numbers and codes in main memory; a tensor holds numbers only."""
        name = type(self).__name__
        if is_tensor(X):
            X = to_numpy(check_tensor(self, X, reset=reset))
        if self.categorical is None:
            numbers = self._numbers(X, reset=reset)
            names = column_names(self)
            if reset:
                self._columns = RegressionColumns(tuple(names), tuple(range(len(names))))
            check_measurable(numbers, names, name)
            return MixedRows(numbers)
        table, _ = check_table(self, X, reset=reset)
        if reset:
            self._columns = RegressionColumns.of(table, self.categorical)
        return self._columns.read(table, name)

    def _numbers(self, X: Any, *, reset: bool) -> Array:
        try:
            numbers: Array = check_rows(self, X, reset=reset, accept_sparse=False, dtype=np.float64)
        except ColumnTypeError as text:
            raise ColumnTypeError(f'{text} {type(self).__name__} encodes categories with categorical="auto".') from None
        return numbers

    def _fetch_column(self, values: Any, X: Any, name: str) -> Any:
        """Return targets or weights in main memory; raise an error for tensors on another device than X."""
        if is_tensor(X):
            check_same_device(values, X, name)
        return fetch_tensor(values)

    def _row_weight(self, sample_weight: Any, count: int) -> Array:
        weight = check_weight(sample_weight, np.empty((count, 0)))
        return np.ones(count) if weight is None else weight

    def _check_same_length(self, rows: MixedRows, y: Array) -> None:
        if len(y) != rows.count:
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: {[rows.count, len(y)]}. Give y one entry "
                "for each row of X."
            )

    def _learn(self, rows: MixedRows, values: Array, weight: Array, units: Units) -> None:
        """Choose widths and keep the rows; values of shape (n, outputs) are compared in units."""
        self._has_weight = weight > 0
        uses_all = bool(self._has_weight.all())
        if self._columns.categories and not uses_all:
            self._columns, rows = self._columns.restrict_levels(rows, self._has_weight)
        kept = rows if uses_all else rows.take(self._has_weight)
        values, weight = (values, weight) if uses_all else (values[self._has_weight], weight[self._has_weight])
        check_widths(kept.numbers, [f"column {name!r}" for name in self._columns.number_names])
        check_widths(values, ["y"] * values.shape[1])
        kernel, levels = smoothing_kernel_from(self.kernel), self._columns.level_counts
        bandwidth, mismatch = self._given_bandwidth(kept, weight, kernel), self._given_mismatch(levels)
        numbers_open = bandwidth is None and bool(self._columns.numbers)
        choice: WidthChoice | None = None
        interrupted = False
        if numbers_open or (levels is not None and mismatch is None):
            search = self._search(kernel, kept, values, weight, units, (bandwidth, mismatch))
            choice, interrupted = search.choose()
            bandwidth, mismatch = choice.bandwidth, choice.mismatch
        self.bandwidth_choice_, self.bandwidth_, self.mismatch_ = choice, bandwidth, mismatch
        self._fit = self._local(kernel, bandwidth, kept, values, weight, mismatch=mismatch, levels=levels)
        self._weightless_rows = None if uses_all else rows.take(~self._has_weight)
        self._left_out: Array | None = None
        self._noise: Array | None = None
        self.certificate_ = Certificate.closed_form(self._sentence())
        self.plan_ = Plan(self._path(), "float64", 1, thread_count())
        if interrupted:
            self.certificate_ = Certificate("search of widths", np.inf, 0.0, f"{self._sentence()}, when it was stopped")
            raise FitInterrupted(STOPPED, Solution(choice, self.certificate_, interrupted=True))

    def _search(
        self, kernel: SmoothingKernel, rows: MixedRows, values: Array, weight: Array, units: Units, given: Widths
    ) -> WidthSearch:
        """Return a search over rows in a canonical order, so that the result does not depend on that of the fit."""
        order = sort_rows(rows, values, weight)
        rows, values, weight = rows.take(order), values[order], weight[order]
        levels, of_outputs = self._columns.level_counts, units(values, weight)

        def make(index: Array, bandwidth: Bandwidth | None, mismatch: Array | None) -> LocalFit:
            some = rows if len(index) == rows.count else rows.take(index)
            return self._local(kernel, bandwidth, some, values[index], weight[index], mismatch=mismatch, levels=levels)

        def loss(fit: LocalFit, index: Array) -> float:
            return compute_left_out_error(fit, of_outputs, self.out_of_reach, index)

        return WidthSearch(make, loss, kernel, rows, weight, levels, *given, self._columns.number_names)

    def _given_bandwidth(self, rows: MixedRows, weight: Array, kernel: SmoothingKernel) -> Bandwidth | None:
        """Return None if the bandwidth is chosen by leaving rows out, or if there are no numbers."""
        if isinstance(self.bandwidth, str) and self.bandwidth == LEAVE_ONE_OUT:
            return None
        if not rows.numbers.shape[1]:
            return None
        return bandwidth_from(self.bandwidth, rows.numbers, weight, kernel, names=self._columns.number_names)

    def _given_mismatch(self, levels: Array | None) -> Array | None:
        if levels is None or isinstance(self.mismatch, str):
            return None
        given, most = np.asarray(self.mismatch, dtype=float), most_mismatch(levels)
        if given.ndim > 1 or (given.ndim and given.shape != levels.shape):
            raise BandwidthError(
                f"mismatch of shape {given.shape} was given for {len(levels)} categorical columns; give one number, or "
                "one for each."
            )
        given = np.broadcast_to(given, levels.shape)
        if not ((given >= 0) & (given <= most + 1e-12)).all():
            place = int(np.argmin((given >= 0) & (given <= most + 1e-12)))
            name = self._columns.names[self._columns.categories[place]]
            raise BandwidthError(
                f"mismatch of column {name!r} is {given[place]:g}; with {levels[place]} levels it is from 0, which "
                f"separates them, to {most[place]:g}, which ignores them."
            )
        return np.asarray(np.minimum(given, most))

    def _sentence(self) -> str:
        if self.bandwidth_choice_ is None:
            return f"the result is {self._description}"
        choice = self.bandwidth_choice_
        return (
            f"the result is {self._description}; the leave-one-out error {choice.error:.4g} is the least of "
            f"{choice.evaluations} widths tried"
        )

    def _path(self) -> str:
        if self.bandwidth_choice_ is None:
            return "sums of kernels, at a given bandwidth"
        searched, left_out = self.bandwidth_choice_.searched_rows, self.bandwidth_choice_.left_out_rows
        rows = self._fit.count
        each = f"each of {rows} rows" if left_out == rows else f"{left_out} of {rows} rows"
        part = "" if searched == rows else f" (their proportions by {searched} of them)"
        return f"sums of kernels, widths by leaving out {each}{part}"

    def _evaluate(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._evaluate_tensor(X) if is_tensor(X) else self._answers_to(self._read(X, reset=False))

    def _evaluate_tensor(self, X: Any) -> Any:
        """Return the results for a tensor on its device, computed there if the kernel allows it."""
        X = check_tensor(self, X, reset=False)
        if not tensor_sums.has_tensor_fit(self._fit):
            return like(self._evaluate(to_numpy(X)), X)
        check_finite(self, X)
        result = tensor_sums.evaluate(self._fit, X, self.out_of_reach)
        if self.out_of_reach == "error":
            self._check_in_reach(to_numpy(result[:, :1]))
        return result

    def _answers_to(self, rows: MixedRows) -> Array:
        result = evaluate(self._fit, rows, self.out_of_reach)
        if self.out_of_reach == "error":
            self._check_in_reach(result)
        return result

    def _check_in_reach(self, values: Array) -> None:
        if (lost := np.isnan(values[:, 0])).any():
            raise DataError(
                f"no row of the fit is in reach of row {int(np.argmax(lost))} of X at {self.bandwidth_}. "
                'Widen it, use the Gaussian kernel, which reaches everywhere, or set out_of_reach="nearest".'
            )

    def _evaluate_left_out(self) -> Array:
        """Return the result for every row of the fit from all others; rows of weight 0 were not part of the fit."""
        check_is_fitted(self)
        if self._left_out is None:
            result = evaluate_left_out(self._fit, self.out_of_reach)
            if self._weightless_rows is not None:
                of_fit, result = result, np.empty((len(self._has_weight), result.shape[1]))
                result[self._has_weight] = of_fit
                result[~self._has_weight] = evaluate(self._fit, self._weightless_rows, self.out_of_reach)
            self._left_out = result
        return self._left_out

    def weights(self, X: Any) -> Any:
        """Weight of every row of the fit in the result for every row of X.

        The matrix has one entry per pair of rows; an error is raised if it does not fit into memory.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to evaluate at.

        Returns
        -------
        weights : ndarray or tensor of shape (n_queries, n_samples)
            `weights(X) @ y` is `predict(X)`. Every row sums to one; NaN where no row of the fit is in reach. For a
            tensor they are computed in main memory and copied to its device.
        """
        check_is_fitted(self)
        if is_tensor(X):
            X = check_tensor(self, X, reset=False)
        return like(self._weights(self._read(X, reset=False)), X)

    def _weights(self, rows: MixedRows) -> Array:
        size = (rows.count, len(self._has_weight))
        check_memory(
            8.0 * size[0] * size[1], f"a matrix of {size[0]:,} × {size[1]:,} weights", "ask for fewer rows at a time"
        )
        weights = self._fit.weights(rows)
        if self._weightless_rows is None:
            return weights
        out = np.zeros(size)
        out[:, self._has_weight] = weights
        out[np.isnan(weights[:, 0])] = np.nan
        return out


#: points of a plotted curve
PLOTTED_POINTS = 300


class KernelRegressor(MultiOutputMixin, RegressorMixin, KernelSmoother):
    """Base class of kernel regressions: real-valued targets, confidence intervals, and plots."""

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the bandwidth and keep the rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given. A row is left out with all of its weight.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            self._validate_params()
            check_has_target(self, y)
            rows = self._read(X, reset=True)
            self._y_name = _name(y)
            y = _targets(self._fetch_column(y, X, "y"))
            self._check_same_length(rows, y)
            self._y_shape = y.shape[1:]
            values = y.reshape(len(y), -1)
            weight = self._row_weight(self._fetch_column(sample_weight, X, "sample_weight"), rows.count)
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
            Predicted values, on the device of X if it is a tensor; see `out_of_reach` for rows without neighbours.
        """
        return self._shaped(self._evaluate(X))

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
        is one observation, whatever its weight. The interval is for the mean of m̂(x); its bias, which a narrower
        bandwidth reduces, is not corrected.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to predict for.
        level : float, default=0.95
            Probability of each interval.

        Returns
        -------
        interval : PredictionInterval
            `mean`, `lower` and `upper` in the shape of `predict`; lower and upper are NaN where no row of the fit is in
            reach, and all are on the device of X if it is a tensor. `.frame()` has them as columns.
        """
        check_is_fitted(self)
        if not isinstance(level, Real) or not 0 < level < 1:
            raise InferenceError(f"level is a probability between 0 and 1, e.g. 0.95; got {level!r}.")
        if is_tensor(X):
            X = check_tensor(self, X, reset=False)
        interval = self._interval(self._read(X, reset=False), float(level))
        mean, lower, upper = (like(part, X) for part in (interval.mean, interval.lower, interval.upper))
        return replace(interval, mean=mean, lower=lower, upper=upper)

    def plot(self, ax: Any = None, *, level: float = 0.95) -> Any:
        """Draw the regression on one column of numbers, its confidence band and the rows of the fit.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure if not given.
        level : float, default=0.95
            Probability of the band, at each point.

        Returns
        -------
        ax : matplotlib Axes
            The axes.
        """
        from mercer.report import plots

        check_is_fitted(self)
        if len(self._columns.names) != 1 or self._columns.categories or self._y_shape not in ((), (1,)):
            raise DataError("a curve is drawn for one column of numbers and one output; use predict_interval for more.")
        x, y = self._fit.numbers()[:, 0], self._fit.values[:, 0]
        grid = np.linspace(x.min(), x.max(), PLOTTED_POINTS)
        band = self._interval(MixedRows(grid[:, None]), level)
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
        """Prediction for every row of the fit from all others, computed on first access."""
        return np.asarray(self._shaped(self._evaluate_left_out()))

    def _interval(self, rows: MixedRows, level: float) -> PredictionInterval:
        from mercer.base.prediction_interval import PredictionInterval

        mean = self._shaped(self._answers_to(rows))
        if self._noise is None:
            self._noise = np.square(self._fit.values - evaluate_left_out(self._fit, "nearest"))
        half = self._shaped(float(ndtri((1 + level) / 2)) * np.sqrt(self._fit.variances(rows, self._noise)))
        return PredictionInterval(mean, mean - half, mean + half, level, "mean")

    def _shaped(self, values: Any) -> Any:
        return values.reshape(len(values), *self._y_shape)


def _targets(y: Any) -> Array:
    values = check_finite_targets(y)
    if values.ndim not in (1, 2):
        raise DataError(
            f"y should be a 1d array, got an array of shape {values.shape} instead. Give one value per row, or one for "
            "each output."
        )
    return values


def _name(y: Any) -> str:
    """Return the name of a series or of the only column of a frame; empty if there is none."""
    columns = getattr(y, "columns", None)
    name = columns[0] if columns is not None and len(columns) else getattr(y, "name", None)
    return name if isinstance(name, str) and name else "y"


def _units(values: Array, weight: Array) -> Array:
    """Return the standard deviation of each output times √outputs, so that errors are shares of the variance."""
    shares = weight / weight.sum()
    away = values - values[0]
    largest = np.abs(away).max(axis=0, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    scaled = away / largest
    spread = largest * np.sqrt(shares @ np.square(scaled - shares @ scaled))
    return np.asarray(np.where(spread > 0, spread, 1.0) * np.sqrt(values.shape[1]))


#: largest number of columns for the comparison of models, because the choice of widths takes long
NADARAYA_WATSON_MOST_COLUMNS = 6


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of few columns, whose width is chosen by folds where rows of a group belong together."""
    if question.is_numeric and not question.has_texts and question.columns <= NADARAYA_WATSON_MOST_COLUMNS:
        search = None if question.inner is None else ("bandwidth", COMPARED_WIDTHS)
        yield Candidate(
            NadarayaWatson(), 50, "numbers", search=search, fill=True, most_rows=KERNEL_REGRESSION_MOST_ROWS
        )


@traits(
    "regression",
    kind="density",
    columns="points",
    candidates=_candidates,
    export="mercer.export.kernels.nadaraya_watson",
    cost="mercer.cost.work.windows",
)
@stored(**FITTED_REGRESSOR_SMOOTHER, _fit=part_of(LocalMeans, n="n"))
class NadarayaWatson(KernelRegressor):
    """Kernel regression, m̂(x) = Σ_j K_h(x − x_j) y_j / Σ_j K_h(x − x_j): the mean of p(y|x) by Parzen windows.

    Parameters
    ----------
    kernel : str or SmoothingKernel, default="gaussian"
        "gaussian", "epanechnikov", "uniform" (or "tophat"), "triangular", "biweight", "triweight", "cosine",
        "exponential", or a kernel of `mercer.density`, which may be a product over columns instead of radial.
    bandwidth : "leave-one-out", float, array-like, Bandwidth, rule or its name, default="leave-one-out"
        Width of the kernel. "leave-one-out" minimises the mean squared error of each row predicted from all others,
        first over one width for all columns in proportion to their standard deviations, then over a width for each
        column (up to 10 columns; an uninformative column gets a very large one). With more than 1000 rows, this search
        uses 1000 of them; a common factor is then chosen for the fit of all rows, by leaving out each in turn or, with
        more than about 14,000 rows, a sample of at least 1000 of them, chosen such that trying a width takes a fraction
        of a second. A number h, one for each column, or the matrix Σ (of squared units: a number h means h² I) are used
        as they are; a name such as "scott-scaled" or "plugin" is a rule for the density of X. Ctrl-C keeps the best
        widths so far.
    categorical : None, "auto" or array-like of int or str, default=None
        Columns that are categories, by position or name; "auto" selects those of text, categories or bools. Their
        kernel is that of Aitchison and Aitken: 1 − λ for the same level and λ/(levels − 1) for another. A level that
        does not occur in the fit differs equally from all rows, so that the other columns decide.
    mismatch : "leave-one-out", float or array-like, default="leave-one-out"
        λ of the categorical columns, from 0 (levels are completely separate) to 1 − 1/levels (levels make
        no difference); chosen together with the bandwidth if not given.
    out_of_reach : {"nearest", "mean", "nan", "error"}, default="nearest"
        The result where all weights are zero, which happens with kernels of compact support: the value of the nearest
        row in units of the bandwidth, the mean of all values, NaN, or an error. The Gaussian and exponential kernels
        reach everywhere, however far: sums are taken in log space.

    Attributes
    ----------
    bandwidth_ : Bandwidth or None
        The bandwidth used; None if all columns are categorical.
    mismatch_ : ndarray of shape (n_categorical,) or None
        λ of the categorical columns.
    bandwidth_choice_ : WidthChoice or None
        Result of the leave-one-out search, with the `criterion` curve and the `error` as a share of the variance of y
        (for several outputs the mean of these shares); None if everything was given.
    leave_one_out_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Prediction for every row from all others.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if X has names that are all strings.
    certificate_ : Certificate
        Evidence of optimality.
    plan_ : Plan
        Which path the fit took.

    See Also
    --------
    LocalLinear : Fits a line instead of a mean, which has no bias at the boundary.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NadarayaWatson
    >>> x = np.linspace(0, 6, 60)
    >>> model = NadarayaWatson().fit(x[:, None], np.sin(x))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """


#: largest number of columns for the comparison of models, because the choice of widths takes long
LOCAL_LINEAR_MOST_COLUMNS = 2


def _local_linear_candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of few columns, whose width is chosen by folds where rows of a group belong together."""
    if question.is_numeric and not question.has_texts and question.columns <= LOCAL_LINEAR_MOST_COLUMNS:
        search = None if question.inner is None else ("bandwidth", COMPARED_WIDTHS)
        yield Candidate(LocalLinear(), 51, "numbers", search=search, fill=True, most_rows=KERNEL_REGRESSION_MOST_ROWS)


@traits(
    "regression",
    kind="density",
    columns="points",
    candidates=_local_linear_candidates,
    export="mercer.export.kernels.local_linear",
    cost="mercer.cost.work.windows",
)
@stored(**FITTED_REGRESSOR_SMOOTHER, _fit=part_of(LocalLines, n="n"))
class LocalLinear(KernelRegressor):
    """Local linear regression: m̂(x) = a, where a + bᵀ(x_j − x) fits y_j best with the weights K_h(x − x_j).

    It reproduces linear functions exactly, whatever the bandwidth, and avoids the bias of a local mean at the boundary
    of the data. Where the points in reach do not determine a slope (there are too few, or they lie in a plane), it is 0
    in the directions in which they do not differ: if a single point is in reach, its value is the result, as in
    `NadarayaWatson`. A line through a few points that are close together may be extrapolated far. If a kernel of
    compact support has few points in reach, the result may lie far outside the range of the data; the Gaussian kernel,
    or a larger bandwidth, avoids this.

    Parameters
    ----------
    kernel : str or SmoothingKernel, default="gaussian"
        "gaussian", "epanechnikov", "uniform" (or "tophat"), "triangular", "biweight", "triweight", "cosine",
        "exponential", or a kernel of `mercer.density`.
    bandwidth : "leave-one-out", float, array-like, Bandwidth, rule or its name, default="leave-one-out"
        Width of the kernel; see `NadarayaWatson`.
    categorical : None, "auto" or array-like of int or str, default=None
        Columns that are categories; see `NadarayaWatson`. They have weights, but no slopes.
    mismatch : "leave-one-out", float or array-like, default="leave-one-out"
        λ of the categorical columns; see `NadarayaWatson`.
    out_of_reach : {"nearest", "mean", "nan", "error"}, default="nearest"
        The result where all weights are zero; see `NadarayaWatson`.

    Attributes
    ----------
    bandwidth_ : Bandwidth or None
        The bandwidth used; None if all columns are categorical.
    mismatch_ : ndarray of shape (n_categorical,) or None
        λ of the categorical columns.
    bandwidth_choice_ : WidthChoice or None
        Result of the leave-one-out search; see `NadarayaWatson`.
    leave_one_out_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Prediction for every row from all others: y_i − (y_i − ŷ_i)/(1 − ℓ_ii), where ℓ_ii is the weight of the row in
        its own prediction.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if X has names that are all strings.
    certificate_ : Certificate
        Evidence of optimality.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LocalLinear
    >>> x = np.linspace(0, 6, 60)
    >>> model = LocalLinear(bandwidth=0.3).fit(x[:, None], 2 * x + 1)
    >>> model.predict([[0.0], [7.0]]).round(6), model.coef([[3.0]]).round(6)
    (array([ 1., 15.]), array([[2.]]))
    """

    _local: ClassVar[type[LocalFit]] = LocalLines
    _description: ClassVar[str] = "the value of a line that solves weighted normal equations"

    def coef(self, X: Any) -> Array:
        """Slopes of the local lines.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)
            Rows to evaluate at.

        Returns
        -------
        slopes : ndarray of shape (n_queries, n_numbers) or (n_queries, n_outputs, n_numbers)
            ∂m̂/∂x_j of the line at x in the units of the columns, for the columns of numbers in their order; NaN where
            no row of the fit is in reach.
        """
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        assert isinstance(self._fit, LocalLines)
        slopes = self._fit.slopes(rows)
        return slopes if self._y_shape else slopes[:, 0]


@traits(
    "classification",
    kind="density",
    columns="points",
    no_counterpart="its p(y|x) is already that of KernelBayes(shared_bandwidth=True): both halves are one model",
    export="mercer.export.kernels.nadaraya_watson",
    cost="mercer.cost.work.windows",
)
@stored(**FITTED_SMOOTHER, _commonest=whole(0), _fit=part_of(LocalVotes, n="n", t="k"))
class NadarayaWatsonClassifier(ClassifierMixin, KernelSmoother):
    """Vote of nearby rows: p(c|x) = Σ_{j in c} K_h(x − x_j) / Σ_j K_h(x − x_j), as in `NadarayaWatson`.

    This is Bayes' rule with Parzen windows of one bandwidth for all classes, with their shares as priors.

    Parameters
    ----------
    kernel : str or SmoothingKernel, default="gaussian"
        "gaussian", "epanechnikov", "uniform" (or "tophat"), "triangular", "biweight", "triweight", "cosine",
        "exponential", or a kernel of `mercer.density`.
    bandwidth : "leave-one-out", float, array-like, Bandwidth, rule or its name, default="leave-one-out"
        Width of the kernel; see `NadarayaWatson`. "leave-one-out" minimises the Brier score, Σ_c (p(c|x) − [y=c])²,
        of each row predicted from all others: like the log loss it is least at the true probabilities, but a row whose
        class has probability 0 does not make it infinite.
    categorical : None, "auto" or array-like of int or str, default=None
        Columns that are categories; see `NadarayaWatson`.
    mismatch : "leave-one-out", float or array-like, default="leave-one-out"
        λ of the categorical columns; see `NadarayaWatson`.
    out_of_reach : {"nearest", "mean", "nan", "error"}, default="nearest"
        The vote where all weights are zero: that of the nearest row, that of all rows, none (probabilities are NaN, and
        the class is the most frequent one), or an error; see `NadarayaWatson`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    bandwidth_ : Bandwidth or None
        The bandwidth used; None if all columns are categorical.
    mismatch_ : ndarray of shape (n_categorical,) or None
        λ of the categorical columns.
    bandwidth_choice_ : WidthChoice or None
        Result of the leave-one-out search; its `error` is the Brier score.
    leave_one_out_proba_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of every row from all others.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if X has names that are all strings.
    certificate_ : Certificate
        Evidence of optimality.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> from mercer import NadarayaWatsonClassifier
    >>> model = NadarayaWatsonClassifier(bandwidth=1.0).fit([[0.0], [1.0], [5.0]], ["low", "low", "high"])
    >>> model.predict([[2.0], [4.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _local: ClassVar[type[LocalFit]] = LocalVotes
    _description: ClassVar[str] = "a weighted vote of the rows of the fit"

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the bandwidth and keep the rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of their votes; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            self._validate_params()
            check_has_target(self, y)
            rows = self._read(X, reset=True)
            y = column_or_1d(self._fetch_column(y, X, "y"), warn=True)
            self._check_same_length(rows, y)
            self.classes_, codes = encode_labels(y)
            votes = np.eye(len(self.classes_))[codes]
            weight = self._row_weight(self._fetch_column(sample_weight, X, "sample_weight"), rows.count)
            self._commonest = int(np.argmax(weight @ votes))
            self._learn(rows, votes, weight, lambda votes, _: np.ones(votes.shape[1]))
            self.plan_ = self.plan_.where(X)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Share of each class in the vote.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        proba : ndarray or tensor of shape (n_queries, n_classes)
            Columns in the order of `classes_`.
        """
        return self._evaluate(X)

    def predict_log_proba(self, X: Any) -> Any:
        """Log of `predict_proba`, −inf for a class without votes.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        log_proba : ndarray or tensor of shape (n_queries, n_classes)
            Columns in the order of `classes_`.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return namespace(proba).log(proba)

    def predict(self, X: Any) -> Any:
        """Class with the largest share of the vote.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray or tensor of shape (n_queries,)
            Class labels; a tensor if X is one and the labels are numbers.
        """
        proba = self.predict_proba(X)
        if is_tensor(proba):
            return decode_labels(self.classes_, proba.argmax(dim=1).where(~proba[:, 0].isnan(), self._commonest))
        best = np.where(np.isnan(proba[:, 0]), self._commonest, np.argmax(proba, axis=1))
        return np.asarray(self.classes_[best])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the predictions.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to classify.
        y : array-like or tensor of shape (n_queries,)
            True classes.
        sample_weight : array-like of shape (n_queries,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Share of the weight of the rows whose class is predicted.
        """
        return accuracy(self, X, y, sample_weight)

    @property
    def leave_one_out_proba_(self) -> Array:
        """Class probabilities of every row of the fit from all others, computed on first access."""
        check_is_fitted(self)
        return self._evaluate_left_out()
