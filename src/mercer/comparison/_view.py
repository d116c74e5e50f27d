"""The data of sections and checks: a sample of the rows, columns by kind, and models fitted to all rows."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._typing import Array
from mercer.application.tasks import ClassificationTask
from mercer.application.training_table import AMOUNT_KINDS, select_columns
from mercer.base.pipelines import last_step, nested_models
from mercer.comparison.time_limit import Budget
from mercer.data import Kind, Schema, Table
from mercer.explanation import drivers
from mercer.explanation.column_drivers import Driver
from mercer.families import NegativeBinomial

if TYPE_CHECKING:
    from mercer.comparison._entry import Entry
    from mercer.comparison.comparison import Comparison

#: rows that sections use: more are not visible in a plot
MAX_VIEW_ROWS = 5_000
#: rows up to which every model is fitted to all rows: not a limit of seconds, so that a seed determines the page
MAX_REFIT_ROWS = 20_000
#: kinds of models, of linear time in the rows, that are fitted to more rows as well as the best model
QUICK_KINDS = ("generative", "discriminative", "baseline")
#: seconds of a fit to a split above which a model is not fitted to all rows
MAX_FIT_SECONDS = 60.0
#: approximate seconds of an explanation by Shapley values
EXPLANATION_SECONDS = 2.0
#: smallest and largest number of predictions for an explanation
EVALUATION_RANGE = (1_500, 40_000)
#: seconds to predict one value of a row, measured on two cores
SECONDS_PER_VALUE = 1e-7
#: seconds to compare one value with one row of the fit of a kernel machine, measured on two cores
SECONDS_PER_COMPARISON = 4e-10


@dataclass(frozen=True, eq=False)
class View:
    """A comparison with the data that its sections and checks share.

    With a time limit, a model is fitted to all rows only if its fits to the splits took less than the time left.
    """

    comparison: Comparison
    most_rows: int = MAX_VIEW_ROWS
    budget: Budget = field(default_factory=lambda: Budget(None))
    _models: dict[str, Any] = field(default_factory=dict)
    _drivers: dict[str, list[Driver]] = field(default_factory=dict)

    @cached_property
    def rows(self) -> Array:
        """Positions of the sampled rows, in order: all rows if they are few."""
        return sample_rows(self.comparison.table.n_rows, self.most_rows)

    @property
    def sparse(self) -> bool:
        """True if the rows are a sparse matrix, whose columns have neither names nor kinds."""
        return self.comparison.table.library == "scipy"

    def note(self) -> str:
        """Return a sentence about the sample; "" if there is none."""
        return describe_sample(self.rows, self.comparison.table.n_rows)

    @cached_property
    def schema(self) -> Schema:
        """The kinds of the columns, inferred from all rows; for a sparse matrix from its type."""
        table = self.comparison.table
        return Schema.of(table) if self.sparse else Schema.infer(table)

    @cached_property
    def table(self) -> Table:
        """The sampled rows."""
        return self.comparison.table.take(self.rows)

    @cached_property
    def without_identifiers(self) -> Table:
        """All rows, without identifier columns."""
        table = self.comparison.table
        kept = [column.name for column in self.schema if column.kind is not Kind.IDENTIFIER]
        if len(kept) == table.n_columns or not kept:
            return table
        return Table.of(select_columns(table, kept), dates=True)

    @cached_property
    def amounts(self) -> list[str]:
        """Columns of numbers that are amounts, not codes."""
        return [column.name for column in self.schema if column.kind in AMOUNT_KINDS]

    @cached_property
    def numbers(self) -> Array:
        """The values of `amounts` in the sampled rows, NaN where missing."""
        return self.table.numbers([self.table.positions[name] for name in self.amounts]).astype(float)

    @property
    def classification(self) -> bool:
        return isinstance(self.comparison.task, ClassificationTask)

    @cached_property
    def labels(self) -> list[str]:
        """Names of the classes."""
        return [str(label) for label in self.comparison.task.labels.tolist()]  # type: ignore[attr-defined]

    @cached_property
    def target(self) -> Array:
        """Class codes, or numbers, of the sampled rows."""
        return np.asarray(self.comparison.task.truth)[self.rows]

    @cached_property
    def ranked(self) -> tuple[Entry, ...]:
        """Entries that were scored, best first."""
        return self.comparison.done

    @cached_property
    def probabilistic(self) -> tuple[Entry, ...]:
        """Scored entries with probabilities."""
        return tuple(entry for entry in self.ranked if entry.probabilistic)

    @cached_property
    def learning(self) -> tuple[Entry, ...]:
        """Entries with probabilities that depend on the row: the recommended one, then the others by score."""
        entries = [entry for entry in self.probabilistic if entry.kind != "baseline"]
        first = self.comparison.entry() if entries else None
        return tuple(sorted(entries, key=lambda entry: entry is not first))

    def held_out(self, entry: Entry) -> tuple[Array, Array]:
        """Return the held-out predictions of a model, and the target of these rows."""
        return entry.held_out[entry.answered], np.asarray(self.comparison.task.truth)[entry.answered]

    def probabilities(self, entry: Entry) -> tuple[Array, Array]:
        """Return held-out probabilities, normalised against rounding, and the classes of these rows."""
        held, truth = self.held_out(entry)
        proba = np.clip(held, 0, 1)
        return proba / proba.sum(axis=1, keepdims=True), truth

    @cached_property
    def affordable(self) -> tuple[str, ...]:
        """Names of the models that are fitted to all rows: the best one, and those of short fits."""
        few = self.comparison.table.n_rows <= MAX_REFIT_ROWS
        best = self.best()
        quick = [
            entry
            for entry in self.ranked
            if entry is not best and (few or entry.kind in QUICK_KINDS) and not entry.fit_seconds > MAX_FIT_SECONDS
        ]
        return tuple(entry.name for entry in (*([] if best is None else [best]), *quick))

    def fitted(self, entry: Entry) -> Any:
        """Return the entry's model fitted to all rows, or None if the fit failed or would take too long."""
        if entry.name not in self.affordable:
            return None
        if entry.name not in self._models:
            if entry.fitted is None and entry.fit_seconds > self.budget.left:
                return None
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the comparison has the warnings in its notes
                    self._models[entry.name] = self.comparison.fitted(entry.name)
            except Exception:
                self._models[entry.name] = None
        return self._models[entry.name]

    def overdispersed(self, entry: Entry) -> float:
        """Return r of the entry's negative binomial distribution, fitted to all rows; ∞ (Poisson) for other models."""
        family = getattr(last_step(self.fitted(entry)), "family_", None)
        return float(family.r or np.inf) if isinstance(family, NegativeBinomial) else np.inf

    def evaluations(self, entry: Entry) -> int:
        """Return the number of predictions for an explanation, which takes about `EXPLANATION_SECONDS`.

        It depends only on the size of the table, so that a seed determines the page. A prediction reads all columns
        and, for a kernel machine, compares them with those of all rows of the fit.
        """
        rows, columns = entry.table.shape
        seconds = columns * (SECONDS_PER_VALUE + rows * SECONDS_PER_COMPARISON)
        return int(np.clip(EXPLANATION_SECONDS / seconds, *EVALUATION_RANGE))

    def drivers(self, entry: Entry) -> list[Driver]:
        """Return the columns with the largest effects on the fitted model's output; none if it is not fitted."""
        if entry.name not in self._drivers:
            model = self.fitted(entry)
            if model is not None:
                self._drivers[entry.name] = drivers(
                    model, self.rows_for(entry), max_evaluations=self.evaluations(entry)
                )
            else:
                self._drivers[entry.name] = []
        return self._drivers[entry.name]

    def drivers_in_time(self, entry: Entry) -> list[Driver]:
        """Return the drivers; none if there is no time to compute them, or if the model cannot be explained."""
        if entry.name not in self._drivers:
            with suppress(Exception), self.budget.cutting():
                self.drivers(entry)
        return self._drivers.get(entry.name, [])

    def rows_for(self, entry: Entry, rows: Array | None = None) -> Any:
        """Return rows of the table (by default the sampled ones) in the form that the entry's model gets."""
        return entry.table.take_native(self.rows if rows is None else rows)

    def recommended_first(self) -> list[Entry]:
        """Return the entries that learn from rows: the recommended one, then the others by score."""
        first = self.comparison.entry().name
        learning = [entry for entry in self.ranked if entry.kind not in ("baseline", "reference")]
        return sorted(learning, key=lambda entry: entry.name != first)

    def best(self, *, probabilistic: bool = False) -> Entry | None:
        """Return the recommended entry, or else the best by score (with probabilities) that is not a baseline."""
        entries = self.probabilistic if probabilistic else self.ranked
        recommended = self.comparison.verdict().best
        if recommended is not None and (chosen := [each for each in entries if each.name == recommended.name]):
            return chosen[0]
        return next((entry for entry in entries if entry.kind != "baseline"), entries[0] if entries else None)


def sample_rows(n: int, most: int, seed: int = 0) -> Array:
    """Return the sorted positions of all n rows, or of a sample of `most` rows."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def describe_sample(rows: Array, n: int) -> str:
    """Return a sentence on a sample of n rows; "" if it has all rows."""
    return f"From {len(rows):,} of the {n:,} rows, drawn at random." if len(rows) < n else ""


def find_certified(model: Any) -> list[Any]:
    """Return a list with the outermost part of a model that has a certificate; empty if none has."""
    return [layer for layer in nested_models(model) if hasattr(layer, "certificate_")][:1]
