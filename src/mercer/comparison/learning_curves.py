"""Ng and Jordan's experiment: both halves of a pair, fitted to more and more rows."""

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
from mercer.comparison._cross_validation import described
from mercer.comparison._entrants import by_written_name
from mercer.comparison._paired import Difference, difference_of, interval_of, mean_of
from mercer.comparison._splits import check_repeats
from mercer.comparison.pairs import counterpart, half_of, innermost
from mercer.data import Table
from mercer.data.frame_like import frame_like
from mercer.data.labels import encode_labels
from mercer.report import Axis, Chart, Field, Grid, Line, grid_html
from mercer.report.axes import set_log_axis, prepare_axes
from mercer.report.wording import format_count

# Rows to hold out, and growing subsets of the others in which no class is absent.

#: sizes where none are named
SIZES = 8
#: rows of the smallest, and of each class that it has where there are as many
FEWEST, EACH = 10, 2


class Dealt(NamedTuple):
    """Rows to fit to, in an order of which every beginning has all classes, and rows to score on."""

    order: Array
    test: Array


def deal(codes: Array, test_size: float, rng: np.random.Generator) -> Dealt:
    """Hold out so many rows, or such a share of them, class by class."""
    counts = np.bincount(codes)
    share = test_size / len(codes) if test_size >= 1 else test_size
    places, test = [], []
    for code in np.flatnonzero(counts):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held = min(round(share * len(rows)), max(len(rows) - EACH, 0))
        test.append(rows[:held])
        places.append(rows[held:])
    return Dealt(_interleaved(places, rng), np.sort(np.concatenate(test)))


def _interleaved(places: list[Array], rng: np.random.Generator) -> Array:
    """The first rows of each class in turn, then all classes in proportion."""
    rows = np.concatenate(places)
    # a row's place within its class as a share: in their order, every beginning has each class in proportion
    shares = np.concatenate([(np.arange(len(each)) + rng.random()) / max(len(each), 1) for each in places])
    turn = np.concatenate([np.minimum(np.arange(len(each)), EACH) for each in places])
    return np.asarray(rows[np.lexsort((shares, turn))])


def train_rows(codes: Array, test_size: float) -> int:
    """How many rows are left to fit to."""
    n = len(codes)
    if not 0 < test_size < n:
        raise DataError(f"test_size is a share of the rows, or from 1 to {n - 1} of the {n} rows, not {test_size:g}.")
    dealt = deal(codes, test_size, np.random.default_rng(0))
    if not len(dealt.test):
        raise DataError(f"Of {n} rows none can be held out so that {EACH} of each class are left; give more rows.")
    return len(dealt.order)


def growing_sizes(most: int, classes: int, number: int = SIZES) -> Array:
    """So many numbers of rows, each as many times the one before: from a few of each class to all."""
    fewest = min(max(FEWEST, EACH * classes), most)
    return np.unique(np.geomspace(fewest, most, number).round().astype(int))


def checked_sizes(sizes: Sequence[float] | None, most: int, classes: int) -> Array:
    """Increasing numbers of rows; shares of those there are become numbers."""
    if sizes is None:
        return growing_sizes(most, classes)
    given = np.asarray(sizes, dtype=float).ravel()
    numbers = np.where(given <= 1, np.floor(given * most), given)
    wrong = ~((numbers >= classes) & (numbers <= most) & (numbers == np.floor(numbers)))
    if not given.size or wrong.any():
        named = "none" if not given.size else f"{given[np.argmax(wrong)]:g}"
        raise DataError(
            f"sizes are numbers of rows from {classes} (one of each class) to {most} (those not held out), or shares "
            f"of them, not {named}."
        )
    return np.unique(numbers.astype(int))


# What experiments with models have in common: who takes part under which name, and how they are repeated.

Result = TypeVar("Result", covariant=True)
#: told how many fits are done, of how many, and which model is next
Progress = Callable[[int, int, str], None]


def by_name(models: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Models under the names that they have or under those of their classes; where these are the same, as they are
    written, and numbered where that is the same, too."""
    given = list(models.values()) if isinstance(models, Mapping) else list(models)
    for model in given:
        if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "get_params"):
            raise DataError(f"A model is an estimator such as GaussianNB(), not {model!r}.")
    if isinstance(models, Mapping):
        return by_written_name(models)
    names = [type(innermost(model)).__name__ for model in given]
    if len(set(names)) < len(names):
        names = [" ".join(repr(model).split()) for model in given]
    if len(set(names)) < len(names):
        names = [f"{name} {position}" for position, name in enumerate(names, start=1)]
    return dict(zip(names, given, strict=True))


def classes_of(y: Any, *n_rows: int) -> ClassificationTask:
    """What is to be told apart, one label for each row of every table."""
    task = ClassificationTask(*encode_labels(y))
    for rows in n_rows:
        if len(task.codes) != rows:
            raise DataError(f"X has {rows} rows, but y has {len(task.codes)} labels. Give one label per row.")
    if not len(task.codes):
        raise EmptyDataError("There are no rows; give at least a few of every class.")
    task.check()
    return task


def check_among(given: str, known: Sequence[str], what: str) -> None:
    """Refuse a name that is none of those known."""
    if given not in known:
        raise DataError(f"{what} is one of {', '.join(map(repr, known))}, not {given!r}.")


class ExperimentTrials(Protocol[Result]):
    """What is done to models in each repeat, and what came of it."""

    tell: Progress
    total: int

    def run(self, repeat: int, train: Array, test: Array, rng: np.random.Generator) -> None: ...

    def result(self, repeats: int) -> Result: ...


def repeated(
    trials: ExperimentTrials[Result], repeats: int, codes: Array, test_size: float, random_state: int
) -> Result:
    """What came of so many repeats, in each of which rows are held out anew, class by class.

    Ctrl-C hands over what came of those that were done. One that was not is left out: its parts are not all there.
    """
    rng, repeat = np.random.default_rng(random_state), 0
    try:
        for repeat in range(repeats):
            trials.run(repeat, *deal(codes, test_size, rng), rng)
        trials.tell(trials.total, trials.total, "")
    except KeyboardInterrupt as stopped:
        kept = trials.result(repeat) if repeat else None
        raise ExperimentInterrupted(f"stopped by Ctrl-C; {repeat} of {repeats} repeats are done.", kept) from stopped
    return trials.result(repeats)


def untold(done: int, total: int, model: str) -> None:
    """To whom nothing is told."""


# From how many rows on the discriminative half of a pair is the better one.

#: resamples of the repeats for an interval
RESAMPLES = 1000
#: shares of them below and above it
BELOW, ABOVE = 0.025, 0.975
#: stands for an infinite difference, of which means can be taken
INFINITE = 1e200
#: mean difference, in units of the differences, that comes of rounding: such curves have met, and none is ahead
ROUNDING = 1e-12


class Crossover(NamedTuple):
    """The size of the training set from which the second model stays ahead of the first.

    `size` is infinite if it is behind at the largest size, `least` if it is ahead at every size. `low` and `high` hold
    95% of the sizes found from resampled repeats; a single repeat has none (NaN).
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
        """Whether the curves cross between the smallest and the largest size."""
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


def crossover_of(sizes: Array, first: Array, second: Array) -> Crossover:
    """From what both models lost, (sizes, repeats): where the mean difference changes its sign for the last time.

    Sizes at which a model failed in every repeat are left out. An infinite loss counts as more than any other.

    Examples
    --------
    >>> first, second = np.array([[0.2], [0.2], [0.2]]), np.array([[0.4], [0.3], [0.1]])
    >>> print(crossover_of(np.array([10, 100, 1000]), first, second))
    316
    """
    with np.errstate(invalid="ignore"):  # ∞ − ∞, of which nobody knows who is ahead
        ahead = np.clip(first - second, -INFINITE, INFINITE)
    compared = ~np.isnan(ahead).all(axis=1)
    if compared.any():
        sizes, ahead = sizes[compared], ahead[compared]
    mean = _means(ahead[:, None, :])[:, 0]
    size = _crossing(sizes, mean)
    low, high = _interval(sizes, ahead) if ahead.shape[1] > 1 else (math.nan, math.nan)
    return Crossover(size, low, high, int(sizes[0]), int(sizes[-1]), not (mean[sizes < size] > 0).any())


def _interval(sizes: Array, ahead: Array) -> tuple[float, float]:
    """Of the sizes found from repeats that are drawn anew."""
    rng = np.random.default_rng(0)
    draws = rng.integers(ahead.shape[1], size=(RESAMPLES, ahead.shape[1]))
    means = _means(ahead[:, draws])  # (sizes, resamples)
    found = np.array([_crossing(sizes, mean) for mean in means.T])
    # a quantile between two finite sizes must not become infinite: take one of them
    low, high = np.quantile(found, [BELOW, ABOVE], method="inverted_cdf")
    return float(low), float(high)


def _means(ahead: Array) -> Array:
    """Means over the last axis of what is there; NaN where there is nothing."""
    known = ~np.isnan(ahead)
    there = np.where(known, ahead, 0.0)
    total = there.sum(axis=-1)
    total = np.where(np.abs(total) <= ROUNDING * np.abs(there).sum(axis=-1), 0.0, total)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / known.sum(axis=-1))


def _crossing(sizes: Array, ahead: Array) -> float:
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


# What came of an experiment with growing training sets.

Measure = Literal["error", "log_loss"]
WORDS: dict[Measure, str] = {"error": "error", "log_loss": "log loss"}


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """What both halves of a pair got wrong on held-out rows, by the size of the training set.

    Attributes
    ----------
    names : tuple of str
        Of the generative and of the discriminative model.
    sizes : ndarray of shape (n_sizes,)
        Rows of the training sets.
    errors, log_losses, fit_seconds : ndarray of shape (2, n_sizes, n_repeats)
        Of each fit; NaN where it failed.
    n_test : int
        Rows held out in each repeat.
    notes : tuple of str
        Which fits failed, or warned.
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
        """The size from which the discriminative model has less of a measure, "error" or "log_loss"."""
        return crossover_of(self.sizes, *self._values(measure))

    def settled(self, within: float = 0.01, measure: Measure = "error") -> tuple[int, ...]:
        """For each model the smallest size from which on it is `within` of what it reaches at the largest."""
        means = self._intervals(measure)[:, :, 0]
        far = ~(means <= means[:, -1:] + within)
        last = [np.flatnonzero(each)[-1] + 1 if each.any() else 0 for each in far]
        return tuple(int(self.sizes[min(place, len(self.sizes) - 1)]) for place in last)

    def difference(self, measure: Measure = "error", size: int | None = None) -> Difference:
        """What the generative model has more of a measure than the discriminative one, after `size` rows or all."""
        if size is not None and size not in self.sizes:
            raise DataError(f"size is one of {', '.join(map(str, self.sizes.tolist()))}, not {size!r}.")
        place = len(self.sizes) - 1 if size is None else int(np.searchsorted(self.sizes, size))
        # training sets of different repeats share rows: the more of those there are, the larger the sets
        overlap = self.n_test / self.sizes[-1] * (self.sizes[place] / self.sizes[-1])
        first, second = self._values(measure)[:, place]
        return difference_of(first, second, float(overlap))

    def frame(self, library: str = "pandas") -> Any:
        """Means and their 95% intervals by model and size, as a frame of any library: "pandas", "polars", …"""
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
        """The means as a table to print, with what they say below."""
        fields = [Field("rows", "d")]
        columns: list[list[Any]] = [self.sizes.tolist()]
        for measure, words in WORDS.items():
            for name, intervals in zip(self.names, self._intervals(measure), strict=True):
                fields.append(Field(f"{words}, {name}", ".4f"))
                columns.append(intervals[:, 0].tolist())
        repeats = format_count(self.n_repeats, "repeat")
        title = f"{self.names[0]} and {self.names[1]}, {repeats}, {self.n_test:,} rows held out"
        return Grid(title, tuple(fields), tuple(zip(*columns, strict=True)), (*self.sentences(), *self.notes))

    def sentences(self) -> tuple[str, ...]:
        """What the curves say, in plain words."""
        return (self._about_crossover(), self._about_the_end())

    def _about_crossover(self) -> str:
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

    def _about_the_end(self) -> str:
        mean, low, high, _, _ = self.difference()
        if not np.isfinite(mean):
            return "There is nothing to say about the largest size, where fits failed."
        if np.isnan(low):
            return f"After {self.sizes[-1]:,} rows the difference is {mean:+.4f}, in a single repeat."
        better, worse = (self.names[1], self.names[0]) if mean > 0 else self.names
        if not (low > 0 or high < 0):
            told = f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"
            return f"After {self.sizes[-1]:,} rows the difference is no larger than chance: {told}."
        return f"After {self.sizes[-1]:,} rows {better} errs less often than {worse}, by {abs(mean):.4f}."

    def chart(self, measure: Measure = "error") -> Chart:
        """The curves as a record for a page."""
        lines = []
        for position, name in enumerate(self.names):
            mean, low, high = np.where(np.isfinite(found := self._intervals(measure)[position].T), found, np.nan)
            lines.append(Line(name, self.sizes, mean, low, high, dashed=position == 1))
        caption = " ".join((*self.sentences(), "Bands are 95% intervals of the means.")) if measure == "error" else ""
        x = Axis("rows to learn from", "log", form=",.0f")
        return Chart(f"{self.names[0]} and {self.names[1]}", x, Axis(WORDS[measure]), tuple(lines), caption)

    def plot(self, measure: Measure = "error", ax: Any = None) -> Any:
        """Draw the curves with their intervals; returns the Axes. Needs matplotlib."""
        intervals = self._intervals(measure)
        ax = prepare_axes(ax, "rows to learn from", WORDS[measure])
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
        check_among(measure, tuple(WORDS), "measure")
        return self.errors if measure == "error" else self.log_losses

    def _intervals(self, measure: Measure) -> Array:
        """Mean, low and high over the repeats in which the fit did not fail: (models, sizes, 3)."""
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
    """The errors of both halves of a generative-discriminative pair, fitted to more and more rows.

    In each repeat rows are held out, class by class, and the others are ordered such that the first rows, however many
    are taken, hold all classes. Both models are fitted to the same first rows, and scored on the same held-out rows.

    Parameters
    ----------
    pair : estimator, two estimators, or mapping from two names to them
        A model, whose `counterpart` is the other half; or both, the generative one first.
    X : array-like, sparse matrix, data frame or list of texts, with n_samples rows; or a pair of `Table`
        What both models are shown; or what each of them is.
    y : array-like of shape (n_samples,)
        Class labels of any type.
    sizes : sequence of numbers, default=None
        Sizes of the training sets, in rows, or as shares (up to 1) of the rows that are not held out; by default eight,
        from 10 rows (or two of each class) to all.
    repeats : int, default=20
        How many times the rows are dealt anew.
    test_size : float or int, default=1/3
        Share of the rows to hold out, or their number.
    random_state : int, default=0
        Fixes how rows are dealt.
    progress : callable, default=None
        Called as `progress(done, total, model)` before every fit, and after the last.

    Returns
    -------
    curves : LearningCurves
        `.frame()`, `.plot()`, `.chart()`, and `.crossover_`: from how many rows on the discriminative model wins.

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
    models = _models(pair)
    tables = _tables(X)
    task = classes_of(y, *map(len, tables))
    check_repeats(repeats)
    most = train_rows(task.codes, test_size)
    chosen = checked_sizes(sizes, most, len(task.labels))
    trials = _CurveTrials(task, models, tables, chosen, repeats, len(task.codes) - most, progress or untold)
    return repeated(trials, repeats, task.codes, test_size, random_state)


class _CurveRows(NamedTuple):
    """Rows of whatever holds them."""

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
    """Whether X is a vector of documents, as vectorisers take them."""
    if getattr(X, "ndim", 1) != 1 or hasattr(X, "columns") or not hasattr(X, "__len__") or not len(X):
        return False
    return isinstance(next(iter(X)), str)


def _models(pair: Any) -> dict[str, Any]:
    """The generative half by its name, then the other."""
    if not isinstance(pair, Mapping) and hasattr(pair, "get_params"):
        pair = (pair, counterpart(pair))
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise DataError(f"A pair is a model, two models, or two names with a model each, not {pair!r}.")
    first, second = by_name(pair).items()
    turned = half_of(first[1]) == "discriminative" and half_of(second[1]) == "generative"
    return dict([second, first] if turned else [first, second])


class _CurveTrials:
    """What comes of fitting both models to each subset: arrays of shape (models, sizes, repeats)."""

    def __init__(
        self,
        task: ClassificationTask,
        models: dict[str, Any],
        tables: list[_CurveRows],
        sizes: Array,
        repeats: int,
        n_test: int,
        tell: Progress,
    ) -> None:
        self.task, self.models, self.tables, self.sizes = task, models, tables, sizes
        self.n_test, self.tell = n_test, tell
        shape = (len(models), len(sizes), repeats)
        self.errors, self.losses, self.seconds = (np.full(shape, np.nan) for _ in range(3))
        self.total, self.done = int(np.prod(shape)), 0
        self._told: dict[tuple[str, str], list[str]] = {}

    def run(self, repeat: int, train: Array, test: Array, rng: np.random.Generator) -> None:
        """Fit every model to each beginning of the training rows."""
        for place, size in enumerate(self.sizes.tolist()):
            for position, (name, model) in enumerate(self.models.items()):
                self.tell(self.done, self.total, name)
                self.done += 1
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        measured = self._fitted(model, self.tables[position], train[:size], test)
                    except Exception as failure:
                        self._told.setdefault((name, "failed"), []).append(described(failure))
                        continue
                if caught:
                    self._told.setdefault((name, "warned"), []).append(described(caught[0].message))
                where = position, place, repeat
                self.errors[where], self.losses[where], self.seconds[where] = measured

    def _fitted(self, model: Any, rows: _CurveRows, train: Array, test: Array) -> tuple[float, float, float]:
        from sklearn.base import clone

        X, fresh = rows.take(train), clone(model)
        start = time.perf_counter()
        fresh.fit(X, self.task.y[train])
        seconds = time.perf_counter() - start
        outcome = Outcome(self.task.codes[test], self.task.forecast(fresh, rows.take(test)))
        return 1 - accuracy(outcome), log_loss(outcome), seconds

    def result(self, repeats: int) -> LearningCurves:
        """What came of so many repeats."""
        errors, losses, seconds = (each[:, :, :repeats] for each in (self.errors, self.losses, self.seconds))
        return LearningCurves(tuple(self.models), self.sizes, errors, losses, seconds, self.n_test, self._notes())

    def _notes(self) -> tuple[str, ...]:
        fits = -(-self.done // len(self.models))
        return tuple(
            f"{name} {what} in {len(messages)} of {fits} fits, first: {messages[0]}"
            for (name, what), messages in self._told.items()
        )
