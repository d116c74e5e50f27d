"""The result of `compare`: models, their scores, the verdict, and the report page."""

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
from mercer.comparison._inner_search import InnerFolds
from mercer.comparison._paired import Interval, overlap_of
from mercer.comparison._score_tests import score_interval
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
    """Models from best to worst, as returned by `compare`; failed models come last with the reason.

    Attributes
    ----------
    title : str
        Rows, columns, target and splits in one line.
    task : Task
        How the target is read, and why (`task.reason`); `task.labels`, `task.metrics`, `task.truth`.
    table : Table
        The rows as given.
    y : array of shape (n_rows,)
        The target as the models get it.
    splits : list of (train, test)
        Positions of the training and the held-out rows.
    entries : tuple of Entry
        The models, best first.
    unfinished : tuple of str
        Names of models that were not scored because of the time limit or Ctrl-C.
    notes : tuple of str
        Notes on the data, the splits, and models that were left out.
    seconds : float
        Duration of the comparison.
    settings : mapping
        Settings that reproduce the numbers: seed, folds, repeats, versions.
    inner : InnerFolds or None
        Folds within the rows of a fit, for models that choose parameters, if groups or times were given.
    reference : Entry or None
        Gradient-boosted trees on the same splits: not one of the `entries`, and never recommended.
    unlisted_baseline : Entry or None
        The baseline on the same splits if `models` were given without one: not one of the `entries`.
    target, source, unit : str
        Name of the target column, name of the file without its folder, and the unit of the target ("$", "%"); "" if
        unknown.
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
        """Names of the entries, best first."""
        return [entry.name for entry in self.entries]

    @property
    def done(self) -> tuple[Entry, ...]:
        """The entries that were scored."""
        return tuple(entry for entry in self.entries if not entry.failed)

    @property
    def baseline(self) -> Entry | None:
        """The baseline, which does not use the columns: one of the entries, or else the unlisted one."""
        return next((entry for entry in self.done if entry.kind == "baseline"), self.unlisted_baseline)

    @property
    def best_(self) -> Any:
        """The recommended model, fitted to all rows."""
        return self.fitted()

    def entry(self, name: str | None = None) -> Entry:
        """Return the entry with this name; by default the recommended one, or else the first by score."""
        if name is None:
            if not self.done:
                raise DataError(f"None of the models could be fitted: {self.entries[0].notes[0]}.")
            return self.verdict().best or self.done[0]
        entries = (*self.entries, self.reference, self.unlisted_baseline)
        match = next((entry for entry in entries if entry is not None and entry.name == str(name)), None)
        if match is None:
            raise DataError(f"The comparison has no model {name!r}. {did_you_mean(str(name), self.names)}")
        return match

    def fitted(self, name: str | None = None) -> Any:
        """Return a model (by default the recommended one) fitted to all rows; it is fitted once and stored."""
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
        """Return problems that may invalidate the scores, severest first.

        These are columns, sums and products that reveal the target, scores that are too good, random splits of a time
        series, and classes absent from training rows. Each has a `code`, a `sentence`, a `remedy` and `columns`. A
        check that fails is a note with its error.
        """
        from mercer.comparison.checks import find_problems

        if self._problems is None:
            self._problems = find_problems(self)
        return list(self._problems)

    def verdict(self) -> Verdict:
        """Return the recommended model, the simplest within chance of the best score, and the reasons."""
        from mercer.comparison._verdict import make_verdict

        return make_verdict(self)

    def card(self, name: str | None = None) -> ModelCard:
        """Return the card of a model (by default the recommended one) fitted to all rows; `save` stores both."""
        from mercer.comparison._export import make_comparison_card

        return make_comparison_card(self, name)

    def model_and_card(self) -> tuple[Any, ModelCard]:
        """Return the recommended model, fitted to all rows, and its card, as stored by `mercer.save`."""
        return self.fitted(), self.card()

    def metric(self, name: str | None = None) -> Metric:
        """Return a measure by its name; by default the one that models are ranked by."""
        if name is None:
            return self.task.metric
        names = [metric.name for metric in self.task.metrics]
        if name not in names:
            raise DataError(f"There is no measure {name!r} for {self.task.name}. {did_you_mean(name, names)}")
        return self.task.metrics[names.index(name)]

    def interval(self, name: str, metric: str | None = None) -> Interval:
        """Return the mean of a measure (by default the one that models are ranked by) and its 95% interval.

        The observations are rows, groups or blocks of time; for a median, the splits.
        """
        entry, chosen = self.entry(name), self.metric(metric)
        return score_interval(entry, chosen, overlap_of(self.splits))

    def leaderboard(self) -> Grid:
        """Return a table of the scores of all models."""
        from mercer.comparison._leaderboard import make_leaderboard

        return make_leaderboard(self)

    def differences(self) -> Grid:
        """Return a table of the differences from the best model: paired tests, corrected for their number."""
        from mercer.comparison._leaderboard import make_differences

        return make_differences(self)

    def sentences(self) -> list[str]:
        """Return the verdict in sentences, then further results."""
        from mercer.comparison._verdict import describe_details

        return [*self.verdict().sentences, *describe_details(self)]

    def frame(self, library: str | None = None) -> Any:
        """Return a frame with a row for each model, of a library: by default pandas if installed, else pyarrow."""
        from mercer.comparison._leaderboard import make_frame

        return make_frame(self, library)

    def json(self) -> dict[str, Any]:
        """Return all results for strict JSON: NaN is null, infinity the string "inf"."""
        from mercer.comparison._export import to_json

        return to_json(self)

    def markdown(self) -> str:
        """Return leaderboard, differences and sentences as Markdown."""
        from mercer.comparison._export import to_markdown

        return to_markdown(self)

    def plot_leaderboard(self, metric: str | None = None, ax: Any = None) -> Any:
        """Draw a measure of every model with its interval; return the matplotlib Axes."""
        from mercer.comparison._pictures import draw_leaderboard

        return draw_leaderboard(self, metric, ax)

    def plot_calibration(self, names: list[str] | None = None, ax: Any = None) -> Any:
        """Draw calibration curves; return the matplotlib Axes."""
        from mercer.comparison._pictures import draw_calibration

        return draw_calibration(self, names, ax)

    def plot_roc(self, names: list[str] | None = None, label: Any = None, ax: Any = None) -> Any:
        """Draw ROC curves of a class (by default the last); return the matplotlib Axes."""
        from mercer.comparison._pictures import draw_roc

        return draw_roc(self, names, label, ax)

    def page(self) -> Page:
        """Return the report page as records."""
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
        """Write one self-contained HTML page, and return its path.

        `progress(stage, done, total, name)` is called with the stages "refit" (the best model on all rows) and "page",
        which has a step for each section. Sections that are not done within the `time_limit` in seconds are left out
        with a note; without a limit, `patience` seconds of work apply (None for no limit). The file is written
        atomically, so that Ctrl-C leaves no incomplete page.
        """
        from mercer._atomic import write_atomically
        from mercer.comparison._cross_validation import ignore_progress
        from mercer.comparison.sections.whole import PAGE_STEPS, page
        from mercer.comparison.time_limit import Budget
        from mercer.report.page import page_html

        progress, budget = progress or ignore_progress, Budget.of(time_limit, patience)
        if self.done and not self.entry().fit_seconds > budget.left:
            progress("refit", 0, 1, self.entry().name)
            # out of time, or out of memory with all rows: the page is made without this model
            with suppress(Exception), budget.cutting():
                self.fitted()
            progress("refit", 1, 1, "")
        made = page(self, budget=budget, progress=progress)
        write_atomically(path, page_html(made))
        progress("page", PAGE_STEPS, PAGE_STEPS, "")
        return Path(path)

    def __str__(self) -> str:
        return str(self.leaderboard())

    def __repr__(self) -> str:
        """Return title, recommended model with its score, and the number of problems."""
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
