"""What sections and checks look at: a sample of the rows, the columns by kind, and the models fitted to all rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._typing import Array
from mercer.application.shown import AMOUNTS, some_columns
from mercer.application.tasks import ClassificationTask
from mercer.base.pipelines import last_step, nested_models
from mercer.comparison.time_limit import Budget
from mercer.data import Kind, Schema, Table
from mercer.explanation import drivers
from mercer.explanation.column_drivers import Driver
from mercer.families import NegativeBinomial

if TYPE_CHECKING:
    from mercer.comparison._entry import Entry
    from mercer.comparison.comparison import Comparison

#: rows that sections look at: a picture shows no more
MOST_ROWS = 5_000
#: rows up to which every model is fitted to all of them again; beyond, the best, and those whose time grows with the
#: rows alone: by rows and kinds rather than by seconds, so that the same seed gives the same page
MOST_REFITTED, QUICK = 20_000, ("generative", "discriminative", "baseline")
#: seconds that one fit may have taken, for those that no such rule foresees
FUSE = 60.0
#: what an explanation by Shapley values may take, about, and predictions for it at least and at most
SECONDS_OF_EXPLANATION, EVALUATIONS = 2.0, (1_500, 40_000)
SECONDS_PER_VALUE, SECONDS_PER_COMPARISON = 1e-7, 4e-10


@dataclass(frozen=True, eq=False)
class View:
    """A comparison as its sections see it.

    With a limit of time, a model is fitted to all rows only if its fits to the splits took less than what is left.
    """

    comparison: Comparison
    most_rows: int = MOST_ROWS
    budget: Budget = field(default_factory=lambda: Budget(None))
    _models: dict[str, Any] = field(default_factory=dict)
    _drivers: dict[str, list[Driver]] = field(default_factory=dict)

    @cached_property
    def rows(self) -> Array:
        """Positions of the rows looked at, in order: all of them, if they are few."""
        return some_rows(self.comparison.table.n_rows, self.most_rows)

    @property
    def sparse(self) -> bool:
        """Whether the rows are a sparse matrix, whose columns have neither names nor kinds."""
        return self.comparison.table.library == "scipy"

    def note(self) -> str:
        """A sentence about the sample, where there is one."""
        return drawn(self.rows, self.comparison.table.n_rows)

    @cached_property
    def schema(self) -> Schema:
        """What the columns are, by all rows; of a sparse matrix by its type."""
        table = self.comparison.table
        return Schema.of(table) if self.sparse else Schema.infer(table)

    @cached_property
    def table(self) -> Table:
        """The rows looked at."""
        return self.comparison.table.take(self.rows)

    @cached_property
    def telling(self) -> Table:
        """All rows, without columns that name them."""
        table = self.comparison.table
        kept = [column.name for column in self.schema if column.kind is not Kind.IDENTIFIER]
        if len(kept) == table.n_columns or not kept:
            return table
        return Table.of(some_columns(table, kept), dates=True)

    @cached_property
    def amounts(self) -> list[str]:
        """Columns of numbers that are no names."""
        return [column.name for column in self.schema if column.kind in AMOUNTS]

    @cached_property
    def numbers(self) -> Array:
        """The values of `amounts` in the rows looked at, NaN where missing."""
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
        """Class codes, or numbers, of the rows looked at."""
        return np.asarray(self.comparison.task.truth)[self.rows]

    @cached_property
    def ranked(self) -> tuple[Entry, ...]:
        """Entries that were scored, best first."""
        return self.comparison.done

    @cached_property
    def probable(self) -> tuple[Entry, ...]:
        """Those with probabilities: others only name a class."""
        return tuple(entry for entry in self.ranked if entry.probabilistic)

    @cached_property
    def learnt(self) -> tuple[Entry, ...]:
        """Those with probabilities that depend on the row: the recommended one, then the others by score."""
        learning = [entry for entry in self.probable if entry.kind != "baseline"]
        first = self.comparison.entry() if learning else None
        return tuple(sorted(learning, key=lambda entry: entry is not first))

    def held_out(self, entry: Entry) -> tuple[Array, Array]:
        """What the model said of rows that it had not seen, and the truth of these."""
        return entry.held_out[entry.answered], np.asarray(self.comparison.task.truth)[entry.answered]

    def probabilities(self, entry: Entry) -> tuple[Array, Array]:
        """The same of a model with probabilities, which sum to 1 but for rounding: so that they do."""
        held, truth = self.held_out(entry)
        proba = np.clip(held, 0, 1)
        return proba / proba.sum(axis=1, keepdims=True), truth

    @cached_property
    def affordable(self) -> tuple[str, ...]:
        """Names of those that are fitted to all rows: the best, and others that do not take long."""
        few = self.comparison.table.n_rows <= MOST_REFITTED
        best = self.best()
        quick = [
            entry
            for entry in self.ranked
            if entry is not best and (few or entry.kind in QUICK) and not entry.fit_seconds > FUSE
        ]
        return tuple(entry.name for entry in (*([] if best is None else [best]), *quick))

    def fitted(self, entry: Entry) -> Any:
        """The entry's model on all rows, or None where that failed or would take too long."""
        if entry.name not in self.affordable:
            return None
        if entry.name not in self._models:
            if entry.fitted is None and entry.fit_seconds > self.budget.left:
                return None
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the comparison has told
                    self._models[entry.name] = self.comparison.fitted(entry.name)
            except Exception:
                self._models[entry.name] = None
        return self._models[entry.name]

    def overdispersed(self, entry: Entry) -> float:
        """Return r of the entry's negative binomial distribution, fitted to all rows; ∞, a Poisson's, of any other."""
        family = getattr(last_step(self.fitted(entry)), "family_", None)
        return float(family.r or np.inf) if isinstance(family, NegativeBinomial) else np.inf

    def evaluations(self, entry: Entry) -> int:
        """Return how many rows a model predicts for an explanation: by its size, so that the same seed gives the same.

        A prediction reads all columns and, of a kernel machine, compares them with those of all rows of the fit. The
        costs are those measured on two cores, and come to about two seconds.
        """
        rows, columns = entry.table.shape
        seconds = columns * (SECONDS_PER_VALUE + rows * SECONDS_PER_COMPARISON)
        return int(np.clip(SECONDS_OF_EXPLANATION / seconds, *EVALUATIONS))

    def drivers(self, entry: Entry) -> list[Driver]:
        """Return the columns that move what the fitted model says most; none where it is not fitted to all rows."""
        if entry.name not in self._drivers:
            model = self.fitted(entry)
            if model is not None:
                self._drivers[entry.name] = drivers(model, self.shown(entry), max_evaluations=self.evaluations(entry))
            else:
                self._drivers[entry.name] = []
        return self._drivers[entry.name]

    def shown(self, entry: Entry, rows: Array | None = None) -> Any:
        """Rows of the table (those looked at, if not given) as the entry's model is shown them."""
        return entry.table.take_native(self.rows if rows is None else rows)

    def recommended_first(self) -> list[Entry]:
        """Return the entries that learn from rows: the recommended one, then the others by score."""
        first = self.comparison.entry().name
        learning = [entry for entry in self.ranked if entry.kind not in ("baseline", "reference")]
        return sorted(learning, key=lambda entry: entry.name != first)

    def best(self, *, probable: bool = False) -> Entry | None:
        """Return the recommended entry, or else the best by score (with probabilities) that is not a baseline."""
        entries = self.probable if probable else self.ranked
        recommended = self.comparison.verdict().best
        if recommended is not None and (chosen := [each for each in entries if each.name == recommended.name]):
            return chosen[0]
        return next((entry for entry in entries if entry.kind != "baseline"), entries[0] if entries else None)


def some_rows(n: int, most: int, seed: int = 0) -> Array:
    """Positions of all rows, or of a sample of so many, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def drawn(rows: Array, n: int) -> str:
    """A sentence that says of how many of n rows something is; none where it is of all."""
    return f"From {len(rows):,} of the {n:,} rows, drawn at random." if len(rows) < n else ""


def certified(model: Any) -> list[Any]:
    """The outermost estimator of a model that has a certificate, if one has."""
    return [layer for layer in nested_models(model) if hasattr(layer, "certificate_")][:1]
