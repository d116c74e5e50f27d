"""The object behind the page: models side by side on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer._errors import DataError
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.application.metrics import Metric
from mercer.application.tasks import Split, Task
from mercer.comparison._entry import Entry
from mercer.comparison._inner import InnerFolds
from mercer.comparison._judging import score_interval
from mercer.comparison._paired import Interval, overlap_of
from mercer.data import Table
from mercer.report import Grid, grid_html
from mercer.report.wording import format_plain

if TYPE_CHECKING:
    from mercer.base.diagnosis import Finding
    from mercer.comparison._cross_validation import Progress
    from mercer.comparison._verdict import Verdict
    from mercer.comparison.time_limit import Budget
    from mercer.files import ModelCard
    from mercer.report.records import Page


@dataclass(eq=False)
class Comparison:
    """Models from best to worst; those that could not be fitted come last and say why. `compare` makes it.

    Attributes
    ----------
    title : str
        Rows, columns, target and splits in a line.
    task : Task
        How the target is read, and why (`task.reason`); `task.labels`, `task.metrics`, `task.truth`.
    table : Table
        The rows as they came.
    y : array of shape (n_rows,)
        The target as the models are shown it.
    splits : list of (train, test)
        Positions of the rows that models were fitted to and scored on.
    entries : tuple of Entry
        Best first.
    unfinished : tuple of str
        Names of models that should have taken part, had there been time, or no Ctrl-C.
    notes : tuple of str
        What a reader should know about data, splits and who took no part.
    seconds : float
        That all of it took.
    settings : mapping
        How to have the same numbers again: seed, folds, repeats, versions.
    inner : InnerFolds or None
        Folds within the rows of a fit, by which models choose their settings, where groups or times were given.
    reference : Entry or None
        Gradient-boosted trees on the same splits: not one of the `entries`, and never recommended.
    unlisted_baseline : Entry or None
        The baseline on the same splits where `models` were given and none of them is one: not one of the `entries`.
    target, source, unit : str
        Name of the column that is predicted, of the file without its folder, and what the numbers of the target are
        written with ("$", "%"); "" where they are not known.
    """

    title: str
    task: Task
    table: Table
    y: Array
    splits: list[Split]
    entries: tuple[Entry, ...]
    unfinished: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    inner: InnerFolds | None = None
    reference: Entry | None = None
    unlisted_baseline: Entry | None = None
    _problems: list[Finding] | None = field(default=None, init=False, repr=False)
    target: str = ""
    source: str = ""
    unit: str = ""

    @property
    def names(self) -> list[str]:
        """Of the entries, best first."""
        return [entry.name for entry in self.entries]

    @property
    def done(self) -> tuple[Entry, ...]:
        """The entries that were scored."""
        return tuple(entry for entry in self.entries if not entry.failed)

    @property
    def baseline(self) -> Entry | None:
        """What is reached without the columns: a baseline among the entries, or else the one that is not listed."""
        return next((entry for entry in self.done if entry.kind == "baseline"), self.unlisted_baseline)

    @property
    def best_(self) -> Any:
        """The recommended model, fitted to all rows."""
        return self.fitted()

    def entry(self, name: str | None = None) -> Entry:
        """Return the entry of that name; by default the recommended one, or, where none is, the first by score."""
        if name is None:
            if not self.done:
                raise DataError(f"None of the models could be fitted: {self.entries[0].notes[0]}.")
            return self.verdict().best or self.done[0]
        everyone = (*self.entries, self.reference, self.unlisted_baseline)
        found = next((entry for entry in everyone if entry is not None and entry.name == str(name)), None)
        if found is None:
            raise DataError(f"No model {name!r} took part. {did_you_mean(str(name), self.names)}")
        return found

    def fitted(self, name: str | None = None) -> Any:
        """Return a model (by default the recommended one) fitted to all rows; it is fitted once and kept."""
        entry = self.entry(name)
        if entry.fitted is None:
            from mercer.comparison._cross_validation import refit

            model, choice = refit(entry.model, entry.table, self.y, self.inner)
            entry = replace(entry, fitted=model, choice=choice)
            self.entries = tuple(entry if each.name == entry.name else each for each in self.entries)
            if self.reference is not None and self.reference.name == entry.name:
                self.reference = entry
            if self.unlisted_baseline is not None and self.unlisted_baseline.name == entry.name:
                self.unlisted_baseline = entry
        return entry.fitted

    def problems(self) -> list[Finding]:
        """Return what may make the scores worthless, severest first: the checks that do not need the page.

        Columns, sums and products that give the target away, scores that are too good to be true, random splits of a
        time series, and classes absent from training rows. Each has a `code`, a `sentence`, a `remedy` and `columns`.
        A check that fails is a note with its error.
        """
        from mercer.comparison.checks import find_problems

        if self._problems is None:
            self._problems = find_problems(self)
        return list(self._problems)

    def verdict(self) -> Verdict:
        """Return which model to use, and why: the simplest within chance of the best score."""
        from mercer.comparison._verdict import verdict_of

        return verdict_of(self)

    def card(self, name: str | None = None) -> ModelCard:
        """The card of a model (by default the recommended one), fitted to all rows; `save` writes it with the model."""
        from mercer.comparison._export import card

        return card(self, name)

    def model_and_card(self) -> tuple[Any, ModelCard]:
        """The recommended model, fitted to all rows, and its card: what `mercer.save` writes of a comparison."""
        return self.fitted(), self.card()

    def metric(self, name: str | None = None) -> Metric:
        """A measure by its name; by default that which models are ranked by."""
        if name is None:
            return self.task.metric
        names = [metric.name for metric in self.task.metrics]
        if name not in names:
            raise DataError(f"There is no measure {name!r} of {self.task.name}. {did_you_mean(name, names)}")
        return self.task.metrics[names.index(name)]

    def interval(self, name: str, metric: str | None = None) -> Interval:
        """Mean of a measure (by default that which models are ranked by) over the splits, and its 95% interval.

        Rows (or groups, or blocks of time) are the observations; of a median, the splits are.
        """
        entry, chosen = self.entry(name), self.metric(metric)
        return score_interval(entry, chosen, overlap_of(self.splits))

    def leaderboard(self) -> Grid:
        """What each model reached, as a table."""
        from mercer.comparison._leaderboard import leaderboard

        return leaderboard(self)

    def differences(self) -> Grid:
        """Which models are worse than the best beyond chance: paired tests, corrected for how many there are."""
        from mercer.comparison._leaderboard import differences

        return differences(self)

    def sentences(self) -> list[str]:
        """Return which model to use and why, in plain words; then what else is worth knowing."""
        from mercer.comparison._verdict import details

        return [*self.verdict().sentences, *details(self)]

    def frame(self, library: str | None = None) -> Any:
        """A row for each model, as a frame of a library: pandas if it is installed, else pyarrow."""
        from mercer.comparison._leaderboard import frame

        return frame(self, library)

    def json(self) -> dict[str, Any]:
        """All that was found, as strict JSON can say it: NaN is null, infinity the string "inf"."""
        from mercer.comparison._export import as_json

        return as_json(self)

    def markdown(self) -> str:
        """Leaderboard, differences and sentences as Markdown."""
        from mercer.comparison._export import as_markdown

        return as_markdown(self)

    def plot_leaderboard(self, metric: str | None = None, ax: Any = None) -> Any:
        """Draw a measure of every model with its interval; returns the matplotlib Axes."""
        from mercer.comparison._pictures import leaderboard_picture

        return leaderboard_picture(self, metric, ax)

    def plot_calibration(self, names: list[str] | None = None, ax: Any = None) -> Any:
        """Draw how often what was predicted with a probability happened; returns the matplotlib Axes."""
        from mercer.comparison._pictures import calibration_picture

        return calibration_picture(self, names, ax)

    def plot_roc(self, names: list[str] | None = None, label: Any = None, ax: Any = None) -> Any:
        """Draw ROC curves of a class (by default the last); returns the matplotlib Axes."""
        from mercer.comparison._pictures import roc_picture

        return roc_picture(self, names, label, ax)

    def page(self) -> Page:
        """What the page says, as records."""
        from mercer.comparison.sections import page

        return page(self)

    def report(
        self,
        path: str | Path,
        *,
        progress: Progress | None = None,
        time_limit: float | Budget | None = None,
        patience: float | None = 15.0,
    ) -> Path:
        """Write one self-contained HTML page, and return where it is.

        `progress(stage, done, total, name)` is told the stages "refit" (the best model on all rows) and "page", which
        has a step for each section. With a `time_limit` in seconds, sections that are not done in time are left out by
        name; without one, after `patience` seconds of work (None for no bound). Ctrl-C leaves no half of a page.
        """
        from mercer._atomic import write_atomically
        from mercer.comparison._cross_validation import untold
        from mercer.comparison.sections.whole import STEPS, page
        from mercer.comparison.time_limit import Budget
        from mercer.report.page import page_html

        tell, budget = progress or untold, Budget.of(time_limit, patience)
        if self.done and not self.entry().fit_seconds > budget.left:
            tell("refit", 0, 1, self.entry().name)
            # out of time, or all rows are too much for a model that the splits were not: the page goes without it
            with suppress(Exception), budget.cutting():
                self.fitted()
            tell("refit", 1, 1, "")
        made = page(self, budget=budget, progress=tell)
        write_atomically(path, page_html(made))
        tell("page", STEPS, STEPS, "")
        return Path(path)

    def __str__(self) -> str:
        return str(self.leaderboard())

    def __repr__(self) -> str:
        """Title, recommended model with its score, and how many problems there are."""
        verdict = self.verdict()
        what = f" of {self.target!r}" if self.target else ""
        lines = [f"Comparison{what}: {self.title}"]
        if verdict.best is not None:
            score = format_plain(verdict.best.mean(verdict.metric.name), "#.3g").rstrip(".")
            lines.append(f"recommended: {verdict.best.name} ({verdict.metric.heading} {score})")
        else:
            lines.append("recommended: none")
        lines.append(f"models: {len(self.entries)}; problems: {len(verdict.problems) or 'none found'}")
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        return grid_html(self.leaderboard())
