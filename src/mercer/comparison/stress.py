"""Measure the effect of missing and noisy values on models (the claims of lecture 2)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError
from mercer._typing import Array
from mercer.application.metrics import Outcome, accuracy, log_loss
from mercer.application.tasks import ClassificationTask
from mercer.application.training_table import AMOUNT_KINDS
from mercer.comparison._cross_validation import describe_problem
from mercer.comparison._splits import check_repeats
from mercer.comparison.learning_curves import (
    Progress,
    check_choice,
    count_train_rows,
    ignore_experiment_progress,
    make_class_task,
    name_by_class,
    run_repeats,
)
from mercer.data import Kind, Schema, Table
from mercer.data.dates import MICROSECONDS_PER_DAY
from mercer.data.frame_like import frame_like
from mercer.decision import calibration_error
from mercer.report import Axis, Chart, Field, Grid, Line, grid_html
from mercer.report.axes import prepare_axes

#: mask of the entries to remove
BooleanArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Corruptible:
    """A table whose rows can be returned with values removed or with noise."""

    table: Table

    @classmethod
    def of(cls, X: Any) -> Corruptible:
        table = X if isinstance(X, Table) else Table.of(X, dates=True)
        if table.library == "scipy":
            raise DataError(
                "A sparse matrix cannot have missing values, and noise would make it dense; give an array or a frame."
            )
        return cls(table)

    @cached_property
    def measured(self) -> list[int]:
        """Columns of numbers that are amounts, not codes."""
        return [j for j, column in enumerate(Schema.infer(self.table)) if column.kind in AMOUNT_KINDS]

    def rows(self, rows: Array) -> Any:
        """Return rows unchanged."""
        return self.table.take(rows).native

    def damage(self, kind: str, rows: Array, amount: float, scale: Array, rng: np.random.Generator) -> Any:
        """Return rows with values removed ("missing") or with noise."""
        return self.remove_values(rows, amount, rng) if kind == "missing" else self.add_noise(rows, amount, scale, rng)

    def remove_values(self, rows: Array, share: float, rng: np.random.Generator) -> Any:
        """Return rows in which each value is missing with probability `share`."""
        part = self.table.take(rows)
        removed = rng.random(part.shape) < share
        return _rebuild(part, lambda j, column: _remove_values(column, removed[:, j]))

    def add_noise(self, rows: Array, amount: float, scale: Array, rng: np.random.Generator) -> Any:
        """Return rows with normal noise of `amount` standard deviations (`scale`) in each measured column."""
        part = self.table.take(rows)
        noise = amount * scale * rng.standard_normal((part.n_rows, len(self.measured)))
        of_column = dict(zip(self.measured, noise.T, strict=True))
        return _rebuild(part, lambda j, column: column + of_column[j] if j in of_column else column)

    def scale(self, rows: Array) -> Array:
        """Return standard deviations of the measured columns over some rows."""
        if not self.measured:
            return np.zeros(0)
        return _standard_deviations(np.asarray(self.table.take(rows).numbers(self.measured), dtype=float))


def _standard_deviations(numbers: Array) -> Array:
    """Return the standard deviation of the finite values of each column, 0 without any, scaled against overflow."""
    finite = np.isfinite(numbers)
    count, known = np.maximum(finite.sum(axis=0), 1), np.where(finite, numbers, 0.0)
    largest = np.abs(known).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    away = np.where(finite, known / unit - (known / unit).sum(axis=0) / count, 0.0)
    return np.asarray(unit * np.sqrt(np.square(away).sum(axis=0) / count))


def _rebuild(part: Table, change: Callable[[int, Array], Array]) -> Any:
    """Return the same table with every column changed."""
    columns = [change(j, _column_values(part, j)) for j in range(part.n_columns)]
    return part.like(dict(zip(part.names, columns, strict=True)))


def _column_values(part: Table, column: int) -> Array:
    """Return a column as floats with NaN, as times with NaT, or as objects with None."""
    if part.kinds[column] is Kind.DATE:
        days = np.asarray(part.numbers([column])[:, 0], dtype=float)
        with np.errstate(invalid="ignore"):
            times = (days * MICROSECONDS_PER_DAY).round().astype("datetime64[us]")
        return np.asarray(np.where(np.isnan(days), np.datetime64("NaT"), times))
    if part.kinds[column].numeric:
        return np.asarray(part.numbers([column])[:, 0], dtype=float)
    codes, labels = part.coded(column)
    values = np.array([*labels.tolist(), None], dtype=object)  # code −1, the last entry, is a missing value
    return np.asarray(values[codes])


def _remove_values(column: Array, gone: BooleanArray) -> Array:
    column = column.copy()
    column[gone] = {"O": None, "M": np.datetime64("NaT")}.get(column.dtype.kind, np.nan)
    return column


Damage = Literal["missing", "noise"]
Measure = Literal["accuracy", "log_loss", "calibration"]
DAMAGES: tuple[Damage, ...] = ("missing", "noise")
MEASURES: tuple[Measure, ...] = ("accuracy", "log_loss", "calibration")
#: which rows are damaged, in words
DAMAGE_PLACES = {"test": "damaged rows to predict", "train": "damaged rows to learn from", "both": "damaged rows"}
STRESS_WORDS = {
    "missing": "share of values removed",
    "noise": "noise, in standard deviations",
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "calibration": "calibration error",
}


@dataclass(frozen=True, eq=False)
class Stress:
    """Scores of models on held-out rows with missing or noisy values.

    Attributes
    ----------
    names : tuple of str
        Names of the models.
    amounts : mapping from damage to array
        The amounts of each damage, "missing" or "noise".
    measured : mapping from damage to array of shape (n_models, n_amounts, n_repeats, 3)
        Accuracy, log loss and calibration error; NaN where they are not defined.
    where : {"test", "train", "both"}
        Which rows were damaged: the held-out rows, the training rows, or both.
    n_test : int
        Rows held out in each repeat.
    notes : tuple of str
        Models whose gaps were filled, and failures.
    """

    names: tuple[str, ...]
    amounts: dict[str, Array]
    measured: dict[str, Array]
    where: str
    n_test: int
    notes: tuple[str, ...] = ()

    def frame(self, library: str = "pandas") -> Any:
        """Return means over the repeats as a frame of any library: "pandas", "polars", …"""
        columns = [np.array(column) for column in zip(*self._rows(), strict=True)]
        return frame_like(("model", "damage", "amount", *MEASURES), columns, library)

    def _rows(self) -> list[tuple[Any, ...]]:
        return [
            (name, damage, amount, *means)
            for damage in DAMAGES
            for name, of_model in zip(self.names, self._means(damage), strict=True)
            for amount, means in zip(self.amounts[damage].tolist(), of_model.tolist(), strict=True)
        ]

    def _means_of(self, damage: Damage, measure: Measure) -> Array:
        """Return the means of one measure: (models, amounts)."""
        check_choice(damage, DAMAGES, "damage")
        check_choice(measure, MEASURES, "measure")
        return np.asarray(self._means(damage)[:, :, MEASURES.index(measure)])

    def _means(self, damage: Damage) -> Array:
        """Return the means over the repeats with a value: (models, amounts, measures)."""
        values = self.measured[damage]
        known = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(known, values, 0.0).sum(axis=2) / known.sum(axis=2))

    def grid(self) -> Grid:
        """Return the means as a table."""
        forms = {"accuracy": ".4f", "log_loss": "#.4g", "calibration": ".4f"}
        fields = (
            Field("model"),
            Field("damage"),
            Field("amount", "g"),
            *(Field(STRESS_WORDS[measure], forms[measure]) for measure in MEASURES),
        )
        title = f"Under stress: {DAMAGE_PLACES[self.where]}; {self.n_test} rows held out"
        return Grid(title, fields, tuple(self._rows()), self.notes)

    def chart(self, damage: Damage = "missing", measure: Measure = "accuracy") -> Chart:
        """Return one measure under one damage as a record for a page."""
        means = self._means_of(damage, measure)
        means = np.where(np.isfinite(means), means, np.nan)
        lines = tuple(Line(name, self.amounts[damage], values) for name, values in zip(self.names, means, strict=True))
        change = "values are removed" if damage == "missing" else "noise is added"
        title = f"{STRESS_WORDS[measure].capitalize()} as {change}"
        return Chart(title, Axis(STRESS_WORDS[damage]), Axis(STRESS_WORDS[measure]), lines, self._caption())

    def _caption(self) -> str:
        return " ".join(f"{note.removesuffix('.')}." for note in (DAMAGE_PLACES[self.where].capitalize(), *self.notes))

    def plot(self, damage: Damage = "missing", measure: Measure = "accuracy", ax: Any = None) -> Any:
        """Draw one measure under one damage; return the Axes. Requires matplotlib."""
        means = self._means_of(damage, measure)
        ax = prepare_axes(ax, STRESS_WORDS[damage], STRESS_WORDS[measure])
        for name, values in zip(self.names, means, strict=True):
            ax.plot(self.amounts[damage], values, "o-", markersize=3, linewidth=1.6, label=name)
        ax.legend(frameon=False)
        return ax

    def __str__(self) -> str:
        return str(self.grid())

    def _repr_html_(self) -> str:
        return grid_html(self.grid())


def stress(
    models: Any,
    X: Any,
    y: Any,
    *,
    missing: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    noise: Sequence[float] = (0.0, 0.25, 0.5, 1.0, 2.0),
    where: Literal["test", "train", "both"] = "test",
    repeats: int = 5,
    test_size: float = 1 / 3,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Stress:
    """Measure accuracy, log loss and calibration on held-out rows with values removed or with noise.

    By default models are fitted to unchanged rows, and predict the same held-out rows with increasing damage.
    Generative models integrate missing values out. For a model that does not accept them, a `TableFeatures` step fills
    them, with a note.

    Parameters
    ----------
    models : estimator, sequence of estimators, or mapping from name to estimator
        Classifiers, which are not changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Numbers, categories, missing values.
    y : array-like of shape (n_samples,)
        Class labels of any type.
    missing : sequence of float, default=(0, 0.1, …, 0.5)
        Probabilities that a value is removed.
    noise : sequence of float, default=(0, 0.25, 0.5, 1, 2)
        Standard deviations of normal noise, relative to those of each column of amounts; other columns are unchanged.
    where : {"test", "train", "both"}, default="test"
        Which rows are damaged: the held-out rows, the training rows, or both.
    repeats : int, default=5
        Number of repeats, each with new held-out rows and damage.
    test_size : float or int, default=1/3
        Share of the rows to hold out, or their number.
    random_state : int, default=0
        Seed of the held-out rows and the damage, which is the same for all models.
    progress : callable, default=None
        Called as `progress(done, total, model)` before every fit, and after the last.

    Returns
    -------
    stress : Stress
        `.frame()`, `.plot()`, `.chart()`.

    Raises
    ------
    ExperimentInterrupted
        On Ctrl-C (it is a `KeyboardInterrupt`): its `result` has the repeats that were done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import GaussianNB, stress
    >>> result = stress([GaussianNB()], *load_iris(return_X_y=True), missing=[0, 0.5], noise=[], repeats=2)
    >>> result.frame("pyarrow").column_names
    ['model', 'damage', 'amount', 'accuracy', 'log_loss', 'calibration']
    """
    named, rows = _name_models(models), Corruptible.of(X)
    task = make_class_task(y, rows.table.n_rows)
    amounts = {"missing": _check_shares(missing), "noise": _check_deviations(noise)}
    n_test = len(task.codes) - count_train_rows(task.codes, test_size)
    check_choice(where, tuple(DAMAGE_PLACES), "where")
    check_repeats(repeats)
    if not any(map(len, amounts.values())):
        raise DataError("missing and noise are both empty; give at least one amount.")
    trials = _StressTrials(rows, task, named, amounts, where, repeats, n_test, progress or ignore_experiment_progress)
    return run_repeats(trials, repeats, task.codes, test_size, random_state)


def _name_models(models: Any) -> dict[str, Any]:
    named = name_by_class([models] if hasattr(models, "get_params") or isinstance(models, str) else models)
    if not named:
        raise DataError("There are no models; give one or more.")
    return named


def _check_shares(missing: Sequence[float]) -> Array:
    shares = np.asarray(missing, dtype=float).ravel()
    if not ((shares >= 0) & (shares <= 1)).all():
        raise DataError(f"missing must be probabilities from 0 to 1, not {shares.tolist()}.")
    return shares


def _check_deviations(noise: Sequence[float]) -> Array:
    amounts = np.asarray(noise, dtype=float).ravel()
    if not ((amounts >= 0) & np.isfinite(amounts)).all():
        raise DataError(f"noise must be numbers of standard deviations, 0 or more, not {amounts.tolist()}.")
    return amounts


class _StressTrials:
    """Fits and predictions of all models in every condition."""

    def __init__(
        self,
        rows: Corruptible,
        task: ClassificationTask,
        models: dict[str, Any],
        amounts: dict[str, Array],
        where: str,
        repeats: int,
        n_test: int,
        progress: Progress,
    ) -> None:
        self.rows, self.task, self.models = rows, task, models
        self.amounts, self.where, self.n_test, self.progress = amounts, where, n_test, progress
        self.measured: dict[str, Array] = {
            damage: np.full((len(models), len(amounts[damage]), repeats, len(MEASURES)), np.nan) for damage in DAMAGES
        }
        self.messages: dict[str, list[str]] = {}
        conditions = sum(map(len, amounts.values())) if where != "test" else 1
        self.total, self.done = repeats * len(models) * conditions, 0

    def run(self, repeat: int, train: Array, test: Array, rng: np.random.Generator) -> None:
        known, truth = self.task.y[train], self.task.codes[test]
        clean, scale = self.rows.rows(train), self.rows.scale(train)
        models = {} if self.where != "test" else {name: self._fit(name, clean, known) for name in self.models}
        for damage in DAMAGES:
            for place, amount in enumerate(self.amounts[damage].tolist()):
                fitted_to = clean if self.where == "test" else self.rows.damage(damage, train, amount, scale, rng)
                is_unchanged = self.where == "train"
                X = self.rows.rows(test) if is_unchanged else self.rows.damage(damage, test, amount, scale, rng)
                for position, name in enumerate(self.models):
                    model = models[name] if self.where == "test" else self._fit(name, fitted_to, known)
                    self.measured[damage][position, place, repeat] = self._measure(name, model, X, truth)

    def result(self, repeats: int) -> Stress:
        """Return the result of the completed repeats."""
        notes = [f"{name}: {words}" for name, sentences in self.messages.items() for words in dict.fromkeys(sentences)]
        if len(self.amounts["noise"]) and not self.rows.measured:
            notes.append("No column is an amount that noise could be added to.")
        measured = {damage: values[:, :, :repeats] for damage, values in self.measured.items()}
        return Stress(tuple(self.models), self.amounts, measured, self.where, self.n_test, tuple(notes))

    def _fit(self, name: str, X: Any, y: Array) -> Any:
        """Return the fitted model, or None with a note if it cannot be fitted."""
        self.progress(self.done, self.total, name)
        self.done += 1
        model, filled = _accept_gaps(self.models[name])
        if filled:
            self._note(name, "missing values are filled by TableFeatures")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return model.fit(X, y)
        except Exception as failure:
            self._note(name, f"not fitted: {describe_problem(failure)}")
            return None

    def _measure(self, name: str, model: Any, X: Any, truth: Array) -> tuple[float, float, float]:
        if model is None:
            return np.nan, np.nan, np.nan
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                forecast = self.task.forecast(model, X)
        except Exception as failure:
            self._note(name, describe_problem(failure))
            return np.nan, np.nan, np.nan
        outcome, calibration = Outcome(truth, forecast), np.nan
        if forecast.log_proba is not None:
            calibration = calibration_error(np.exp(forecast.log_proba), truth, repeats=0).error
        return accuracy(outcome), log_loss(outcome), calibration

    def _note(self, name: str, sentence: str) -> None:
        self.messages.setdefault(name, []).append(sentence)


def _accept_gaps(model: Any) -> tuple[Any, bool]:
    """Return a copy of a model, with a step that fills missing values if the model does not accept them."""
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.utils import get_tags

    from mercer.preprocessing import TableFeatures

    steps = [step for _, step in getattr(model, "steps", [("", model)]) if step not in (None, "passthrough")]
    first = steps[0] if steps else model
    if isinstance(first, TableFeatures) or get_tags(first).input_tags.allow_nan:
        return clone(model), False
    return make_pipeline(TableFeatures(unseen="ignore"), clone(model)), True
