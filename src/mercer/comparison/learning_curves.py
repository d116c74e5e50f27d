"""Learning curves of generative-discriminative pairs on growing training sets (Ng and Jordan 2002)."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from mercer._errors import DataError, EmptyDataError, ExperimentInterrupted
from mercer._typing import Array
from mercer.application.metrics import Outcome, accuracy, log_loss
from mercer.application.tasks import ClassificationTask
from mercer.comparison._cross_validation import describe_problem
from mercer.comparison._entrants import name_given
from mercer.comparison._paired import Difference, difference_of, interval_of, mean_of
from mercer.comparison._splits import check_repeats
from mercer.comparison.pairs import counterpart, half_of, innermost
from mercer.data import Table
from mercer.data.frame_like import frame_like
from mercer.data.labels import encode_labels
from mercer.report import Axis, Chart, Field, Grid, Line, grid_html
from mercer.report.axes import prepare_axes, set_log_axis
from mercer.report.wording import format_count

#: default number of training sizes
N_SIZES = 8
#: rows of the smallest training set
MIN_TRAIN_ROWS = 10
#: rows of each class in the smallest training set, if there are as many
ROWS_PER_CLASS = 2


class HeldOutRows(NamedTuple):
    """Training rows, ordered so that the first rows always include all classes, and held-out rows."""

    order: Array
    test: Array


def hold_out_rows(codes: Array, test_size: float, rng: np.random.Generator) -> HeldOutRows:
    """Hold out a number, or a share, of the rows, class by class."""
    counts = np.bincount(codes)
    share = test_size / len(codes) if test_size >= 1 else test_size
    places, test = [], []
    for code in np.flatnonzero(counts):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held = min(round(share * len(rows)), max(len(rows) - ROWS_PER_CLASS, 0))
        test.append(rows[:held])
        places.append(rows[held:])
    return HeldOutRows(_interleave_classes(places, rng), np.sort(np.concatenate(test)))


def _interleave_classes(places: list[Array], rng: np.random.Generator) -> Array:
    """Return the first rows of each class in turn, then all classes in proportion."""
    rows = np.concatenate(places)
    # sorting by the relative place within the class keeps the classes in proportion
    shares = np.concatenate([(np.arange(len(each)) + rng.random()) / max(len(each), 1) for each in places])
    turn = np.concatenate([np.minimum(np.arange(len(each)), ROWS_PER_CLASS) for each in places])
    return np.asarray(rows[np.lexsort((shares, turn))])


def count_train_rows(codes: Array, test_size: float) -> int:
    """Return the number of training rows."""
    n = len(codes)
    if not 0 < test_size < n:
        raise DataError(
            f"test_size must be a share of the rows, or from 1 to {n - 1} of the {n} rows, not {test_size:g}."
        )
    dealt = hold_out_rows(codes, test_size, np.random.default_rng(0))
    if not len(dealt.test):
        raise DataError(
            f"Of {n} rows none can be held out so that {ROWS_PER_CLASS} of each class are left; give more rows."
        )
    return len(dealt.order)


def make_sizes(most: int, classes: int, number: int = N_SIZES) -> Array:
    """Return `number` sizes in geometric progression, from a few rows of each class to all rows."""
    fewest = min(max(MIN_TRAIN_ROWS, ROWS_PER_CLASS * classes), most)
    return np.unique(np.geomspace(fewest, most, number).round().astype(int))


def check_sizes(sizes: Sequence[float] | None, most: int, classes: int) -> Array:
    """Return increasing numbers of rows; shares of the rows are converted to numbers."""
    if sizes is None:
        return make_sizes(most, classes)
    given = np.asarray(sizes, dtype=float).ravel()
    numbers = np.where(given <= 1, np.floor(given * most), given)
    wrong = ~((numbers >= classes) & (numbers <= most) & (numbers == np.floor(numbers)))
    if not given.size or wrong.any():
        named = "none" if not given.size else f"{given[np.argmax(wrong)]:g}"
        raise DataError(
            f"sizes must be numbers of rows from {classes} (one of each class) to {most} (those not held out), or "
            f"shares of them, not {named}."
        )
    return np.unique(numbers.astype(int))


Result = TypeVar("Result", covariant=True)
#: called with the number of fits done, the total, and the name of the next model
Progress = Callable[[int, int, str], None]


def name_by_class(models: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return models by their given names, or by their class names; ambiguous names become code, numbered if needed."""
    given = list(models.values()) if isinstance(models, Mapping) else list(models)
    for model in given:
        if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "get_params"):
            raise DataError(f"A model must be an estimator such as GaussianNB(), not {model!r}.")
    if isinstance(models, Mapping):
        return name_given(models)
    names = [type(innermost(model)).__name__ for model in given]
    if len(set(names)) < len(names):
        names = [" ".join(repr(model).split()) for model in given]
    if len(set(names)) < len(names):
        names = [f"{name} {position}" for position, name in enumerate(names, start=1)]
    return dict(zip(names, given, strict=True))


def make_class_task(y: Any, *n_rows: int) -> ClassificationTask:
    """Return the classification task of labels; raise DataError unless every table has one label per row."""
    task = ClassificationTask(*encode_labels(y))
    for rows in n_rows:
        if len(task.codes) != rows:
            raise DataError(f"X has {rows} rows, but y has {len(task.codes)} labels. Give one label per row.")
    if not len(task.codes):
        raise EmptyDataError("There are no rows; give at least a few of every class.")
    task.check()
    return task


def check_choice(given: str, known: Sequence[str], what: str) -> None:
    """Raise DataError for a name that is not among the known ones."""
    if given not in known:
        raise DataError(f"{what} must be one of {', '.join(map(repr, known))}, not {given!r}.")


class ExperimentTrials(Protocol[Result]):
    """The trials of an experiment: one run per repeat, and a result."""

    progress: Progress
    total: int

    def run(self, repeat: int, train: Array, test: Array, rng: np.random.Generator) -> None: ...

    def result(self, repeats: int) -> Result: ...


def run_repeats(
    trials: ExperimentTrials[Result], repeats: int, codes: Array, test_size: float, random_state: int
) -> Result:
    """Run an experiment `repeats` times, each with new held-out rows, and return its result.

    On Ctrl-C the exception has the result of the completed repeats; an incomplete one is left out.
    """
    rng, repeat = np.random.default_rng(random_state), 0
    try:
        for repeat in range(repeats):
            trials.run(repeat, *hold_out_rows(codes, test_size, rng), rng)
        trials.progress(trials.total, trials.total, "")
    except KeyboardInterrupt as stopped:
        kept = trials.result(repeat) if repeat else None
        raise ExperimentInterrupted(f"stopped by Ctrl-C; {repeat} of {repeats} repeats are done.", kept) from stopped
    return trials.result(repeats)


def ignore_experiment_progress(done: int, total: int, model: str) -> None:
    """Do nothing: the default callback for progress."""


#: resamples of the repeats for the interval of a crossover
CROSSOVER_RESAMPLES = 1000
#: quantiles of the resamples that are the ends of the interval
INTERVAL_QUANTILES = (0.025, 0.975)
#: finite value in place of an infinite difference, so that means can be computed
INFINITE_DIFFERENCE = 1e200
#: mean difference, relative to the differences, that is rounding: the curves are then equal
CURVE_ROUNDING = 1e-12


class Crossover(NamedTuple):
    """The size of the training set from which the second model stays ahead of the first.

    `size` is infinite if the second model is behind at the largest size, and `least` if it is ahead at every size.
    `low` and `high` enclose 95% of the sizes for resampled repeats; they are NaN for a single repeat.
    """

    size: float
    low: float
    high: float
    #: the smallest and the largest size at which both models were fitted
    least: int
    most: int
    #: whether the second model is behind at every smaller size
    once: bool = True

    @property
    def found(self) -> bool:
        """True if the curves cross between the smallest and the largest size."""
        return self.least < self.size < math.inf

    def __str__(self) -> str:
        if self.size == math.inf:
            return f"none up to {self.most:,}"
        if self.size <= self.least:
            return f"before {self.least:,}"
        if math.isnan(self.low):
            return f"{self.size:,.0f}"
        low = f"before {self.least:,}" if self.low <= self.least else f"{self.low:,.0f}"
        high = f"none up to {self.most:,}" if self.high == math.inf else f"{self.high:,.0f}"
        return f"{self.size:,.0f} ({low} to {high})"


def find_crossover(sizes: Array, first: Array, second: Array) -> Crossover:
    """Return the last change of sign of the mean difference between two arrays of losses, (sizes, repeats).

    Sizes at which a model failed in every repeat are left out. An infinite loss is larger than any other.

    Examples
    --------
    >>> first, second = np.array([[0.2], [0.2], [0.2]]), np.array([[0.4], [0.3], [0.1]])
    >>> print(find_crossover(np.array([10, 100, 1000]), first, second))
    316
    """
    with np.errstate(invalid="ignore"):  # ∞ − ∞ is NaN: neither is ahead
        ahead = np.clip(first - second, -INFINITE_DIFFERENCE, INFINITE_DIFFERENCE)
    compared = ~np.isnan(ahead).all(axis=1)
    if compared.any():
        sizes, ahead = sizes[compared], ahead[compared]
    mean = _mean_differences(ahead[:, None, :])[:, 0]
    size = _crossing(sizes, mean)
    low, high = _crossing_interval(sizes, ahead) if ahead.shape[1] > 1 else (math.nan, math.nan)
    return Crossover(size, low, high, int(sizes[0]), int(sizes[-1]), not (mean[sizes < size] > 0).any())


def _crossing_interval(sizes: Array, ahead: Array) -> tuple[float, float]:
    """Return the interval of the crossover for resampled repeats."""
    rng = np.random.default_rng(0)
    draws = rng.integers(ahead.shape[1], size=(CROSSOVER_RESAMPLES, ahead.shape[1]))
    means = _mean_differences(ahead[:, draws])  # (sizes, resamples)
    crossings = np.array([_crossing(sizes, mean) for mean in means.T])
    # a quantile between two finite sizes must not become infinite: take one of them
    low, high = np.quantile(crossings, INTERVAL_QUANTILES, method="inverted_cdf")
    return float(low), float(high)


def _mean_differences(ahead: Array) -> Array:
    """Return means over the last axis without NaN; NaN if all are NaN."""
    known = ~np.isnan(ahead)
    filled = np.where(known, ahead, 0.0)
    total = filled.sum(axis=-1)
    total = np.where(np.abs(total) <= CURVE_ROUNDING * np.abs(filled).sum(axis=-1), 0.0, total)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / known.sum(axis=-1))


def _crossing(sizes: Array, ahead: Array) -> float:
    """Return the size from which the difference stays positive, by interpolation of logarithms."""
    known = ~np.isnan(ahead)
    sizes, ahead = sizes[known], ahead[known]
    behind = np.flatnonzero(ahead <= 0)
    if not len(ahead) or (len(behind) and behind[-1] == len(ahead) - 1):
        return math.inf
    if not len(behind):
        return float(sizes[0])
    i = int(behind[-1])
    share = ahead[i] / (ahead[i] - ahead[i + 1])
    return float(sizes[i] ** (1 - share) * sizes[i + 1] ** share)


Measure = Literal["error", "log_loss"]
MEASURE_WORDS: dict[Measure, str] = {"error": "error", "log_loss": "log loss"}


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """Errors of both halves of a pair on held-out rows, by the size of the training set.

    Attributes
    ----------
    names : tuple of str
        Names of the generative and the discriminative model.
    sizes : ndarray of shape (n_sizes,)
        Rows of the training sets.
    errors, log_losses, fit_seconds : ndarray of shape (2, n_sizes, n_repeats)
        Results of each fit; NaN if it failed.
    n_test : int
        Rows held out in each repeat.
    notes : tuple of str
        Failures and warnings of fits.
    """

    names: tuple[str, ...]
    sizes: Array
    errors: Array
    log_losses: Array
    fit_seconds: Array
    n_test: int
    notes: tuple[str, ...] = ()

    @property
    def n_repeats(self) -> int:
        return int(self.errors.shape[2])

    @cached_property
    def crossover_(self) -> Crossover:
        """The size from which the discriminative model has the smaller error."""
        return self.crossover("error")

    def crossover(self, measure: Measure = "error") -> Crossover:
        """Return the size from which the discriminative model has the smaller "error" or "log_loss"."""
        return find_crossover(self.sizes, *self._values(measure))

    def settled(self, within: float = 0.01, measure: Measure = "error") -> tuple[int, ...]:
        """Return for each model the smallest size from which it stays `within` its value at the largest size."""
        means = self._intervals(measure)[:, :, 0]
        far = ~(means <= means[:, -1:] + within)
        last = [np.flatnonzero(each)[-1] + 1 if each.any() else 0 for each in far]
        return tuple(int(self.sizes[min(place, len(self.sizes) - 1)]) for place in last)

    def difference(self, measure: Measure = "error", size: int | None = None) -> Difference:
        """Return the difference of a measure, generative minus discriminative, after `size` rows or all."""
        if size is not None and size not in self.sizes:
            raise DataError(f"size must be one of {', '.join(map(str, self.sizes.tolist()))}, not {size!r}.")
        place = len(self.sizes) - 1 if size is None else int(np.searchsorted(self.sizes, size))
        # training sets of different repeats share rows: the larger the sets, the more rows
        overlap = self.n_test / self.sizes[-1] * (self.sizes[place] / self.sizes[-1])
        first, second = self._values(measure)[:, place]
        return difference_of(first, second, float(overlap))

    def frame(self, library: str = "pandas") -> Any:
        """Return means and 95% intervals by model and size, as a frame of any library: "pandas", "polars", …"""
        rows = [row for position in range(len(self.names)) for row in self._rows(position)]
        columns = {
            "model": np.array([name for name in self.names for _ in self.sizes]),
            "size": np.tile(self.sizes, len(self.names)),
        }
        names = ("error", "error_low", "error_high", "log_loss", "log_loss_low", "log_loss_high", "fit_seconds")
        columns |= {name: np.array(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
        return frame_like(tuple(columns), tuple(columns.values()), library)

    def _rows(self, position: int) -> list[tuple[float, ...]]:
        means = self._intervals("error")[position], self._intervals("log_loss")[position]
        seconds = [mean_of(each) for each in self.fit_seconds[position]]
        return [(*error, *loss, each) for error, loss, each in zip(*means, seconds, strict=True)]

    def grid(self) -> Grid:
        """Return the means as a table, with sentences about them as notes."""
        fields = [Field("rows", "d")]
        columns: list[list[Any]] = [self.sizes.tolist()]
        for measure, words in MEASURE_WORDS.items():
            for name, intervals in zip(self.names, self._intervals(measure), strict=True):
                fields.append(Field(f"{words}, {name}", ".4f"))
                columns.append(intervals[:, 0].tolist())
        repeats = format_count(self.n_repeats, "repeat")
        title = f"{self.names[0]} and {self.names[1]}, {repeats}, {self.n_test:,} rows held out"
        return Grid(title, tuple(fields), tuple(zip(*columns, strict=True)), (*self.sentences(), *self.notes))

    def sentences(self) -> tuple[str, ...]:
        """Return sentences on the crossover and on the largest size."""
        return (self._describe_crossover(), self._describe_largest_size())

    def _describe_crossover(self) -> str:
        first, second = self.names
        at = self.crossover_
        if not np.isfinite(self.errors).all(axis=0).any():
            return f"{first} and {second} were never fitted to the same rows."
        if at.size == np.inf:
            if at.once:
                return f"{second} does not overtake {first} up to {at.most:,} rows."
            return f"{second} has the smaller error at some sizes, but not at {at.most:,} rows."
        if not at.found:
            return f"{second} has the smaller error at every size, from {at.least:,} rows on."
        below = f"{first} has" if at.once else "now one has, now the other"
        return f"{second} has the smaller error from about {at} rows on; below, {below}."

    def _describe_largest_size(self) -> str:
        mean, low, high, _, _ = self.difference()
        if not np.isfinite(mean):
            return "Fits failed at the largest size, so there is no difference."
        if np.isnan(low):
            return f"After {self.sizes[-1]:,} rows the difference is {mean:+.4f}, in a single repeat."
        better, worse = (self.names[1], self.names[0]) if mean > 0 else self.names
        if not (low > 0 or high < 0):
            interval = f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"
            return f"After {self.sizes[-1]:,} rows the difference is within chance: {interval}."
        return (
            f"After {self.sizes[-1]:,} rows the error of {better} is smaller than that of {worse}, by {abs(mean):.4f}."
        )

    def chart(self, measure: Measure = "error") -> Chart:
        """Return the curves as a record for a page."""
        lines = []
        for position, name in enumerate(self.names):
            mean, low, high = np.where(np.isfinite(values := self._intervals(measure)[position].T), values, np.nan)
            lines.append(Line(name, self.sizes, mean, low, high, dashed=position == 1))
        caption = " ".join((*self.sentences(), "Bands are 95% intervals of the means.")) if measure == "error" else ""
        x = Axis("rows to learn from", "log", form=",.0f")
        return Chart(f"{self.names[0]} and {self.names[1]}", x, Axis(MEASURE_WORDS[measure]), tuple(lines), caption)

    def plot(self, measure: Measure = "error", ax: Any = None) -> Any:
        """Draw the curves with their intervals; return the Axes. Requires matplotlib."""
        intervals = self._intervals(measure)
        ax = prepare_axes(ax, "rows to learn from", MEASURE_WORDS[measure])
        for name, of_model in zip(self.names, intervals, strict=True):
            mean, low, high = of_model.T
            (line,) = ax.plot(self.sizes, mean, "o-", markersize=3, linewidth=1.6, label=name)
            ax.fill_between(self.sizes, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
        if measure == "error" and self.crossover_.found:
            ax.axvline(self.crossover_.size, color="0.4", linewidth=1, linestyle="--")
        set_log_axis(ax, self.sizes)
        ax.legend(frameon=False)
        return ax

    def _values(self, measure: Measure) -> Array:
        check_choice(measure, tuple(MEASURE_WORDS), "measure")
        return self.errors if measure == "error" else self.log_losses

    def _intervals(self, measure: Measure) -> Array:
        """Return mean, low and high over the successful repeats: (models, sizes, 3)."""
        return np.array([[interval_of(each, 0.0, low=0.0) for each in of_model] for of_model in self._values(measure)])

    def __str__(self) -> str:
        return str(self.grid())

    def _repr_html_(self) -> str:
        return grid_html(self.grid())


def learning_curves(
    pair: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[float] | None = None,
    repeats: int = 20,
    test_size: float = 1 / 3,
    random_state: int = 0,
    progress: Progress | None = None,
) -> LearningCurves:
    """Compute the errors of both halves of a generative-discriminative pair on growing training sets.

    In each repeat rows are held out, class by class, and the others are ordered so that the first rows always include
    all classes. Both models are fitted to the same first rows, and scored on the same held-out rows.

    Parameters
    ----------
    pair : estimator, two estimators, or mapping from two names to them
        A model, whose `counterpart` is the other half; or both models, the generative one first.
    X : array-like, sparse matrix, data frame or list of texts, with n_samples rows; or a pair of `Table`
        Rows for both models; or a table for each of them.
    y : array-like of shape (n_samples,)
        Class labels of any type.
    sizes : sequence of numbers, default=None
        Sizes of the training sets, in rows, or as shares (up to 1) of the rows that are not held out; by default eight,
        from 10 rows (or two of each class) to all.
    repeats : int, default=20
        Number of repeats, each with new held-out rows.
    test_size : float or int, default=1/3
        Share of the rows to hold out, or their number.
    random_state : int, default=0
        Seed of the held-out rows.
    progress : callable, default=None
        Called as `progress(done, total, model)` before every fit, and after the last.

    Returns
    -------
    curves : LearningCurves
        `.frame()`, `.plot()`, `.chart()`, and `.crossover_`, the size from which the discriminative model is better.

    Raises
    ------
    ExperimentInterrupted
        On Ctrl-C (it is a `KeyboardInterrupt`): its `result` has the curves of the repeats that were done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import LinearDiscriminantAnalysis, learning_curves
    >>> curves = learning_curves(LinearDiscriminantAnalysis(), *load_iris(return_X_y=True), sizes=[12, 60], repeats=3)
    >>> curves.names
    ('LinearDiscriminantAnalysis', 'LogisticRegression')
    """
    models = _check_pair(pair)
    tables = _tables(X)
    task = make_class_task(y, *map(len, tables))
    check_repeats(repeats)
    most = count_train_rows(task.codes, test_size)
    chosen = check_sizes(sizes, most, len(task.labels))
    trials = _CurveTrials(
        task, models, tables, chosen, repeats, len(task.codes) - most, progress or ignore_experiment_progress
    )
    return run_repeats(trials, repeats, task.codes, test_size, random_state)


class _CurveRows(NamedTuple):
    """Rows of a table or of a list of texts."""

    take: Callable[[Array], Any]
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows


def _tables(X: Any) -> list[_CurveRows]:
    if isinstance(X, tuple) and len(X) == 2 and all(isinstance(each, Table) for each in X):
        return [_rows_of(each) for each in X]
    return [_rows_of(X)] * 2


def _rows_of(X: Any) -> _CurveRows:
    if not isinstance(X, Table) and _is_texts(X):
        texts = np.asarray(X, dtype=object)
        return _CurveRows(lambda rows: texts[rows], len(texts))
    table = X if isinstance(X, Table) else Table.of(X, dates=True)
    return _CurveRows(lambda rows: table.take(rows).native, table.n_rows)


def _is_texts(X: Any) -> bool:
    """Return whether X is a vector of documents, as for vectorizers."""
    if getattr(X, "ndim", 1) != 1 or hasattr(X, "columns") or not hasattr(X, "__len__") or not len(X):
        return False
    return isinstance(next(iter(X)), str)


def _check_pair(pair: Any) -> dict[str, Any]:
    """Return the two models of a pair by their names, the generative one first."""
    if not isinstance(pair, Mapping) and hasattr(pair, "get_params"):
        pair = (pair, counterpart(pair))
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise DataError(f"A pair must be a model, two models, or two names with a model each, not {pair!r}.")
    first, second = name_by_class(pair).items()
    is_reversed = half_of(first[1]) == "discriminative" and half_of(second[1]) == "generative"
    return dict([second, first] if is_reversed else [first, second])


class _CurveTrials:
    """Fits of both models to each training set, with results of shape (models, sizes, repeats)."""

    def __init__(
        self,
        task: ClassificationTask,
        models: dict[str, Any],
        tables: list[_CurveRows],
        sizes: Array,
        repeats: int,
        n_test: int,
        progress: Progress,
    ) -> None:
        self.task, self.models, self.tables, self.sizes = task, models, tables, sizes
        self.n_test, self.progress = n_test, progress
        shape = (len(models), len(sizes), repeats)
        self.errors, self.losses, self.seconds = (np.full(shape, np.nan) for _ in range(3))
        self.total, self.done = int(np.prod(shape)), 0
        self._messages: dict[tuple[str, str], list[str]] = {}

    def run(self, repeat: int, train: Array, test: Array, rng: np.random.Generator) -> None:
        """Fit every model to the first training rows of each size."""
        for place, size in enumerate(self.sizes.tolist()):
            for position, (name, model) in enumerate(self.models.items()):
                self.progress(self.done, self.total, name)
                self.done += 1
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        measured = self._measure(model, self.tables[position], train[:size], test)
                    except Exception as failure:
                        self._messages.setdefault((name, "failed"), []).append(describe_problem(failure))
                        continue
                if caught:
                    self._messages.setdefault((name, "warned"), []).append(describe_problem(caught[0].message))
                where = position, place, repeat
                self.errors[where], self.losses[where], self.seconds[where] = measured

    def _measure(self, model: Any, rows: _CurveRows, train: Array, test: Array) -> tuple[float, float, float]:
        from sklearn.base import clone

        X, fresh = rows.take(train), clone(model)
        start = time.perf_counter()
        fresh.fit(X, self.task.y[train])
        seconds = time.perf_counter() - start
        outcome = Outcome(self.task.codes[test], self.task.forecast(fresh, rows.take(test)))
        return 1 - accuracy(outcome), log_loss(outcome), seconds

    def result(self, repeats: int) -> LearningCurves:
        """Return the result of the completed repeats."""
        errors, losses, seconds = (each[:, :, :repeats] for each in (self.errors, self.losses, self.seconds))
        return LearningCurves(tuple(self.models), self.sizes, errors, losses, seconds, self.n_test, self._notes())

    def _notes(self) -> tuple[str, ...]:
        fits = -(-self.done // len(self.models))
        return tuple(
            f"{name} {what} in {len(messages)} of {fits} fits, first: {messages[0]}"
            for (name, what), messages in self._messages.items()
        )
