"""What regression and classification by kernels share: reading rows, choosing widths, weights of rows of the fit."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._errors import BandwidthError, ColumnTypeError, DataError, FitInterrupted
from mercer._gpu import is_tensor, like, to_numpy
from mercer._held import ValueHolder
from mercer._memory import refuse_beyond_memory
from mercer._stored import flags, floats, optional, part_of, sequence, whole
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.models._finite import refuse_not_finite
from mercer.models._tensors import checked_tensor, in_memory, refuse_other_device
from mercer.models.base import Plan, checked, checked_table, checked_weight, column_names
from mercer.models.fitted_fields import FITTED
from mercer.models.smoothers._columns import Columns, refuse_holes, refuse_wide
from mercer.smoothing import tensors
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import SmoothingKernel, smoothing_kernel_from
from mercer.smoothing.mixed import Rows, most_mismatch
from mercer.smoothing.regression import LocalFit, LocalMeans, answers, answers_left_out, left_out_error
from mercer.smoothing.regression_search import WidthChoice, WidthSearch, own_order
from mercer.smoothing.rules import bandwidth_from
from mercer.smoothing.width_walk import Widths
from mercer.solvers.certificate import Certificate, Solution

#: rows up to which models of windows take part in a comparison: to choose their widths takes long
MOST_COMPARED_ROWS = 2_000
#: widths that a comparison tries by folds, in standard deviations, safest first
COMPARED_WIDTHS = (0.5, 0.05, 0.1, 0.2, 0.35, 0.7, 1.0, 1.5, 2.5)
LEAVE_ONE_OUT = "leave-one-out"
#: of each output, by all values and their weights: errors are compared in them
Units = Callable[[Array, Array], Array]
FITTED_SMOOTHER = FITTED | {
    "_seen": flags("r"),
    "_columns": part_of(),
    "_unseen": optional(part_of(Rows)),
    "_left_out": optional(floats("r.")),
    "_noise": optional(floats("n.")),
}
FITTED_REGRESSOR_SMOOTHER = FITTED_SMOOTHER | {"_y_name": part_of(str), "_y_shape": sequence(".", whole(0))}


class KernelSmoother(ValueHolder, BaseEstimator):
    """Answers that are local averages of the values of the fit; concrete classes say what values are."""

    _local: ClassVar[type[LocalFit]] = LocalMeans
    _what: ClassVar[str] = "a weighted mean of the values of the fit"

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

    # Reading.

    def _read(self, X: Any, *, reset: bool) -> Rows:
        """Rows of numbers and codes; those of a tensor, which are numbers, in main memory."""
        name = type(self).__name__
        if is_tensor(X):
            X = to_numpy(checked_tensor(self, X, reset=reset))
        if self.categorical is None:
            numbers = self._numbers(X, reset=reset)
            names = column_names(self)
            if reset:
                self._columns = Columns(tuple(names), tuple(range(len(names))))
            refuse_holes(numbers, names, name)
            return Rows(numbers)
        table, _ = checked_table(self, X, reset=reset)
        if reset:
            self._columns = Columns.of(table, self.categorical)
        return self._columns.read(table, name)

    def _numbers(self, X: Any, *, reset: bool) -> Array:
        try:
            numbers: Array = checked(self, X, reset=reset, accept_sparse=False, dtype=np.float64)
        except ColumnTypeError as text:
            raise ColumnTypeError(f'{text} {type(self).__name__} does so with categorical="auto".') from None
        return numbers

    def _beside(self, values: Any, X: Any, name: str) -> Any:
        """Targets or weights, in main memory; those of tensors lie where X does."""
        if is_tensor(X):
            refuse_other_device(values, X, name)
        return in_memory(values)

    def _row_weight(self, sample_weight: Any, count: int) -> Array:
        weight = checked_weight(sample_weight, np.empty((count, 0)))
        return np.ones(count) if weight is None else weight

    def _refuse_lengths(self, rows: Rows, y: Array) -> None:
        if len(y) != rows.count:
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: {[rows.count, len(y)]}. Give y one entry "
                "for each row of X."
            )

    # Learning.

    def _learn(self, rows: Rows, values: Array, weight: Array, units: Units) -> None:
        """Choose what is to be chosen, and keep the rows; values of shape (n, outputs) are compared in units."""
        self._seen = weight > 0
        whole = bool(self._seen.all())
        if self._columns.categories and not whole:
            self._columns, rows = self._columns.seen(rows, self._seen)
        kept = rows if whole else rows.take(self._seen)
        values, weight = (values, weight) if whole else (values[self._seen], weight[self._seen])
        refuse_wide(kept.numbers, [f"column {name!r}" for name in self._columns.number_names])
        refuse_wide(values, ["y"] * values.shape[1])
        kernel, levels = smoothing_kernel_from(self.kernel), self._columns.level_counts
        bandwidth, mismatch = self._given_bandwidth(kept, weight, kernel), self._given_mismatch(levels)
        numbers_open = bandwidth is None and bool(self._columns.numbers)
        choice: WidthChoice | None = None
        stop: FitInterrupted | None = None
        if numbers_open or (levels is not None and mismatch is None):
            try:
                choice = self._search(kernel, kept, values, weight, units, (bandwidth, mismatch)).choose()
            except FitInterrupted as stopped:
                choice, stop = stopped.solution, stopped
            bandwidth, mismatch = choice.bandwidth, choice.mismatch
        self.bandwidth_choice_, self.bandwidth_, self.mismatch_ = choice, bandwidth, mismatch
        self._fit = self._local(kernel, bandwidth, kept, values, weight, mismatch=mismatch, levels=levels)
        self._unseen = None if whole else rows.take(~self._seen)
        self._left_out: Array | None = None
        self._noise: Array | None = None
        self.certificate_ = Certificate.closed_form(self._sentence())
        self.plan_ = Plan(self._path(), "float64", 1, thread_count())
        if stop is not None:
            self.certificate_ = Certificate("search of widths", np.inf, 0.0, f"{self._sentence()}, when it was stopped")
            raise FitInterrupted(str(stop), Solution(choice, self.certificate_, ())) from None

    def _search(
        self, kernel: SmoothingKernel, rows: Rows, values: Array, weight: Array, units: Units, given: Widths
    ) -> WidthSearch:
        """Of rows in an order of their own: that of the fit decides neither which are searched nor how sums round."""
        order = own_order(rows, values, weight)
        rows, values, weight = rows.take(order), values[order], weight[order]
        levels, of_outputs = self._columns.level_counts, units(values, weight)

        def make(index: Array, bandwidth: Bandwidth | None, mismatch: Array | None) -> LocalFit:
            some = rows if len(index) == rows.count else rows.take(index)
            return self._local(kernel, bandwidth, some, values[index], weight[index], mismatch=mismatch, levels=levels)

        def loss(fit: LocalFit, index: Array) -> float:
            return left_out_error(fit, of_outputs, self.out_of_reach, index)

        return WidthSearch(make, loss, kernel, rows, weight, levels, *given, self._columns.number_names)

    def _given_bandwidth(self, rows: Rows, weight: Array, kernel: SmoothingKernel) -> Bandwidth | None:
        """None if it is to be chosen by leaving rows out, or if there are no numbers."""
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
                f"tells them apart, to {most[place]:g}, which takes no notice of them."
            )
        return np.asarray(np.minimum(given, most))

    def _sentence(self) -> str:
        if self.bandwidth_choice_ is None:
            return f"the answer is {self._what}"
        choice = self.bandwidth_choice_
        return (
            f"the answer is {self._what}; the leave-one-out error {choice.error:.4g} is the least of "
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

    # Answering.

    def _answers(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._answers_there(X) if is_tensor(X) else self._answers_to(self._read(X, reset=False))

    def _answers_there(self, X: Any) -> Any:
        """For a tensor, where it lies if sums over rows are taken there, else in main memory; a tensor there."""
        X = checked_tensor(self, X, reset=False)
        if not tensors.is_summed_fit(self._fit):
            return like(self._answers(to_numpy(X)), X)
        refuse_not_finite(self, X)
        found = tensors.answers(self._fit, X, self.out_of_reach)
        if self.out_of_reach == "error":
            self._refuse_lost(to_numpy(found[:, :1]))
        return found

    def _answers_to(self, rows: Rows) -> Array:
        found = answers(self._fit, rows, self.out_of_reach)
        if self.out_of_reach == "error":
            self._refuse_lost(found)
        return found

    def _refuse_lost(self, found: Array) -> None:
        if (lost := np.isnan(found[:, 0])).any():
            raise DataError(
                f"no row of the fit is in reach of row {int(np.argmax(lost))} of X at {self.bandwidth_}. "
                'Widen it, take the Gaussian kernel, which reaches everywhere, or give out_of_reach="nearest".'
            )

    def _answers_left_out(self) -> Array:
        """Of every row of the fit from all others; rows of weight 0 had no part in it."""
        check_is_fitted(self)
        if self._left_out is None:
            found = answers_left_out(self._fit, self.out_of_reach)
            if self._unseen is not None:
                known, found = found, np.empty((len(self._seen), found.shape[1]))
                found[self._seen], found[~self._seen] = known, answers(self._fit, self._unseen, self.out_of_reach)
            self._left_out = found
        return self._left_out

    def weights(self, X: Any) -> Any:
        """The weight of every row of the fit in the answer for every row of X.

        The matrix has as many numbers as there are pairs; it is refused where it does not fit into memory.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_queries, n_features)
            Rows to answer for.

        Returns
        -------
        weights : ndarray or tensor of shape (n_queries, n_samples)
            `weights(X) @ y` is `predict(X)`. Every row sums to one; NaN where no row of the fit is in reach. Of a
            tensor they are computed in main memory, and on its device.
        """
        check_is_fitted(self)
        if is_tensor(X):
            X = checked_tensor(self, X, reset=False)
        return like(self._weights(self._read(X, reset=False)), X)

    def _weights(self, rows: Rows) -> Array:
        size = (rows.count, len(self._seen))
        refuse_beyond_memory(
            8.0 * size[0] * size[1], f"a matrix of {size[0]:,} × {size[1]:,} weights", "ask for fewer rows at a time"
        )
        found = self._fit.weights(rows)
        if self._unseen is None:
            return found
        out = np.zeros(size)
        out[:, self._seen] = found
        out[np.isnan(found[:, 0])] = np.nan
        return out
