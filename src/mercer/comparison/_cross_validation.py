"""All models one after the other, as long as there is time."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from statistics import median_low
from time import perf_counter as now
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._errors import DataError, NotConvergedWarning, TargetLeakWarning
from mercer._typing import Array
from mercer.application.metrics import Prediction
from mercer.application.tasks import ClassificationTask, Split, Task, name_folds
from mercer.base import resolve, traits_of
from mercer.comparison._entrants import Entrant
from mercer.comparison._entry import ChosenParameter, Entry, Simplicity, simplicity_of, size_of
from mercer.comparison._inner import INNER_FOLDS, Inner, InnerFolds, Tuned
from mercer.comparison._judging import score_difference
from mercer.comparison._paired import LEVEL, holm, scores_by_unit, signals_by_unit
from mercer.comparison._shared_features import SharedFeatures
from mercer.comparison.time_limit import Budget, OutOfTime
from mercer.data import Table
from mercer.decision import CalibrationError, calibration_error
from mercer.decision.reliability import CALIBRATION_ADVICE
from mercer.report.wording import format_count, join_words

# One model on every split.

#: warnings of one model that are reported; the rest is counted
MOST_WARNINGS = 3
#: rows from which fewer resamples are enough for an interval
MANY_ROWS = 10_000


class Trial(NamedTuple):
    """What came of one split."""

    forecast: Prediction
    scores: dict[str, float]
    fit_seconds: float
    predict_seconds: float
    size_bytes: float
    model: Any = None


def cross_validate(
    entrant: Entrant,
    task: Task,
    splits: list[Split],
    units: Array,
    *,
    before_split: Callable[[], None],
    inner: InnerFolds | None = None,
    shared: SharedFeatures | None = None,
) -> Entry:
    """Fit and score a model on every split. Whatever it fails of, or warns of, becomes a note of its entry.

    `units` has the unit of each row: what is held out of one unit counts as one observation of the scores.
    `before_split` is called before each split; `inner` is given the rows of each fit. `shared` has the features that
    models of the same splits have made before.
    """
    trials: list[Trial] = []
    failure = ""
    simplicity = Simplicity(False, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, split in enumerate(splits):
            before_split()
            try:
                trial = tried(entrant, task, split, inner, shared)
                if number == 0:
                    simplicity = simplicity_of(trial.model, entrant.table.take_native(split[1][:1]))
                trials.append(trial._replace(model=None))
            except Exception as problem:
                failure = f"fold {number + 1}: {described(problem)}"
                break
    if failure:
        return _failed(entrant, task, splits, failure)
    # columns that give the target away are among the problems of the comparison; later defaults concern code
    messages = [each.message for each in caught if not issubclass(each.category, (TargetLeakWarning, FutureWarning))]
    stopped = [each for each in messages if isinstance(each, NotConvergedWarning | ConvergenceWarning)]
    notes = _told(each for each in messages if each not in stopped)
    entry = _entry(entrant, task, splits, units, trials, (*_stopped_early(entrant.model, stopped), *notes))
    return replace(entry, **simplicity._asdict(), converged=not stopped)


def tried(
    entrant: Entrant, task: Task, split: Split, inner: InnerFolds | None = None, shared: SharedFeatures | None = None
) -> Trial:
    """Fit a fresh copy of the model to the rows of a split, and score it on the others.

    The seconds include those of features that another model of the split has made before.
    """
    from sklearn.base import clone

    train, test = split
    model = clone(entrant.model)
    features = None if shared is None else shared.of(model, entrant.table, split, task.y)
    learner, X = (model, entrant.table.take_native(train)) if features is None else (model[1:], features.train)
    with nullcontext() if inner is None else inner.within(train):
        start = now()
        learner.fit(X, task.y[train])
        fitted = now()
    rows = entrant.table.take_native(test) if features is None else features.test
    asked = now()
    forecast = task.forecast(learner, rows)
    answered = now()
    fit_seconds, predict_seconds = fitted - start, answered - asked
    if features is not None:
        model.steps = [(model.steps[0][0], features.transformer), *learner.steps]
        fit_seconds, predict_seconds = fit_seconds + features.fit_seconds, predict_seconds + features.transform_seconds
    _check(forecast)
    scores = task.scores(forecast, test, train)
    return Trial(forecast, scores, fit_seconds, predict_seconds, size_of(model), model)


def described(problem: BaseException | Warning | str) -> str:
    """Type and first line of an exception or a warning."""
    first = next(iter(str(problem).strip().splitlines()), "")
    return f"{type(problem).__name__}: {first}"


def _check(forecast: Prediction) -> None:
    """Raise where a prediction is NaN or an infinite number, because no measure of it would be finite."""
    predicted = forecast.decisions if forecast.log_proba is None else forecast.log_proba
    wrong = np.isnan(predicted) if forecast.log_proba is not None else ~np.isfinite(predicted)
    if wrong.any():
        rows = int(wrong.any(axis=tuple(range(1, predicted.ndim))).sum())
        kind = "NaN" if np.isnan(predicted).any() else "infinite"
        raise ArithmeticError(f"the prediction is {kind} for {format_count(rows, 'row')}")


def _entry(
    entrant: Entrant, task: Task, splits: list[Split], units: Array, trials: list[Trial], notes: tuple[str, ...]
) -> Entry:
    held_out = _mean_over_repeats(task, splits, trials)
    scores = {metric.name: np.array([trial.scores[metric.name] for trial in trials]) for metric in task.metrics}
    probabilistic = trials[0].forecast.log_proba is not None
    outcomes = [task.outcome(trial.forecast, test, train) for trial, (train, test) in zip(trials, splits, strict=True)]
    unit_of = [units[test] for _, test in splits]
    with np.errstate(over="ignore", invalid="ignore"):  # as in the scores
        by_unit = scores_by_unit(task.metrics, outcomes, unit_of)
        signal = signals_by_unit(task.metrics, outcomes, unit_of)
    return Entry(
        name=entrant.name,
        model=entrant.model,
        table=entrant.table,
        kind=entrant.kind,
        partner=entrant.partner,
        scores=scores,
        by_unit=by_unit,
        signal=signal,
        held_out=held_out,
        # the lower median, because the first fit of a process may compile
        fit_seconds=median_low([trial.fit_seconds for trial in trials]),
        predict_seconds=median_low([trial.predict_seconds for trial in trials]),
        size_bytes=median_low([trial.size_bytes for trial in trials]),
        impossible=sum(task.impossible(trial.forecast, split) for trial, split in zip(trials, splits, strict=True)),
        notes=(*task.remarks([trial.forecast for trial in trials], splits), *notes),
        calibration=_calibration(held_out, task.truth) if probabilistic else None,
        probabilistic=probabilistic,
    )


def _mean_over_repeats(task: Task, splits: list[Split], trials: list[Trial]) -> Array:
    """What was said of each row by models that had not seen it; NaN for a row that was never held out."""
    held_out = [task.held(trial.forecast) for trial in trials]
    total, times = np.zeros((len(task.truth), *held_out[0].shape[1:])), np.zeros(len(task.truth))
    for (_, test), held in zip(splits, held_out, strict=True):
        total[test] += held
        times[test] += 1
    with np.errstate(invalid="ignore"):
        return np.asarray((total.T / times).T)


def _calibration(held_out: Array, truth: Array) -> CalibrationError | None:
    """Over all rows that were held out: bins of a single split would hold too few to tell error from chance."""
    rows = ~np.isnan(held_out).any(axis=1)
    try:
        return calibration_error(held_out[rows], truth[rows], repeats=200 if rows.sum() <= MANY_ROWS else 50)
    except DataError:  # a model whose probabilities do not sum to one
        return None


def _failed(entrant: Entrant, task: Task, splits: list[Split], failure: str) -> Entry:
    nothing = np.full(len(splits), np.nan)
    return Entry(
        name=entrant.name,
        model=entrant.model,
        table=entrant.table,
        kind=entrant.kind,
        partner=entrant.partner,
        scores={metric.name: nothing for metric in task.metrics},
        held_out=np.full((len(task.truth), *task.width), np.nan),
        notes=(failure,),
        failed=True,
    )


def _stopped_early(model: Any, warned: Sequence[Warning | str]) -> list[str]:
    """Return a sentence about fits that stopped before their optimum, with the parameter that allows more steps."""
    if not warned:
        return []
    evidence = re.split(r"[.;] (?=[A-Z])|\n", str(warned[0]).strip())[0].rstrip(".")
    limits = [
        value for name, value in model.get_params().items() if name.endswith("max_iter") and isinstance(value, int)
    ]
    more = f"max_iter={10 * max(limits)}" if limits else "a larger max_iter"
    sentence = (
        f"stopped before its optimum ({evidence}), so that its score may be too low. Allow more steps: {more} in "
        f"Python, --set {more if limits else 'max_iter=10000'} in `mercer fit`."
    )
    return [sentence]


def _told(messages: Iterable[Warning | str]) -> tuple[str, ...]:
    """Every warning once, however its numbers differ from split to split."""
    alike: dict[str, list[str]] = {}
    for message in map(described, messages):
        alike.setdefault(re.sub(r"\d[\d.,e+-]*", "#", message), []).append(message)
    sentences = [
        first if len(same) == 1 else f"{first} (and {len(same) - 1} more like it)"
        for same in alike.values()
        for first in same[:1]
    ]
    more = len(sentences) - MOST_WARNINGS
    return (*sentences[:MOST_WARNINGS], *([f"… and {more} other warnings"] if more > 0 else []))


# A model of a comparison on all rows.


def refit(model: Any, table: Table, y: Any, inner: InnerFolds | None = None) -> tuple[Any, ChosenParameter | None]:
    """Return a model, tuned and fitted on all rows, with the settings that a search within it chose, and the choice."""
    placed = nullcontext() if inner is None else inner.within(np.arange(len(y)))
    with warnings.catch_warnings(), placed:
        warnings.simplefilter("ignore")  # what it warns of, it warned of in the splits, and that is in the notes
        model = clone(model).fit(table.native, y)
        choice = choice_of(model)  # which is forgotten where it is settled
        return settled(model, table.native, y), choice


def choice_of(model: Any) -> ChosenParameter | None:
    """What a fitted model has chosen, where it searches; None where it does not, or chose for each class."""
    if hasattr(model, "steps"):
        return choice_of(model.steps[-1][1])
    if hasattr(model, "regressor_"):
        return choice_of(model.regressor_)
    if isinstance(model, Tuned):
        return ChosenParameter(model.parameter.rpartition("__")[2], model.best_value_, tuple(model.values))
    if (parameter := _settled_parameter(model)) is not None:
        value, tried = getattr(model, f"{parameter}_"), getattr(model, f"{parameter}s_")
        return ChosenParameter(parameter, float(value), tuple(tried.tolist()))
    return None


def _settled_parameter(model: Any) -> str | None:
    """Return the parameter that a fitted model has chosen, if it can be given instead: one value for all classes."""
    declared = traits_of(model)
    if declared.settle is None or np.ndim(getattr(model, f"{declared.chooses}_")) > 0:
        return None
    return declared.chooses


def settled(model: Any, X: Any, y: Any) -> Any:
    """A fitted model with the parameters that its search chose, as if somebody had given them."""
    if hasattr(model, "steps"):
        *first, (name, last) = model.steps
        if isinstance(last, Tuned) or traits_of(last).chooses or hasattr(last, "regressor_"):
            model.steps = [*first, (name, settled(last, model[:-1].transform(X) if first else X, y))]
        return model
    if isinstance(model, Tuned):
        return model.best_estimator_
    if isinstance(getattr(model, "cv", None), Inner):
        model.cv = INNER_FOLDS
    if _settled_parameter(model) is not None:
        settle = traits_of(model).settle
        assert settle is not None
        return resolve(settle)(model).fit(X, y)
    if hasattr(model, "regressor_") and isinstance(model.regressor_, Tuned):
        model.regressor_ = model.regressor_.best_estimator_
        model.regressor = clone(model.regressor_)
    return model


# Which model comes first.


def ranked(entries: Sequence[Entry], task: Task, overlap: float) -> tuple[tuple[Entry, ...], list[str]]:
    """Return entries best first by the first measure, ties by the next, and notes about the order.

    Entries whose first measure is missing or infinite come after those whose first measure is finite, failures last.
    One exception: where a baseline has the best measure because all models are overconfident, a model that is right
    more often beyond chance comes first, because its probabilities can be calibrated.
    """

    def key(entry: Entry) -> tuple[Any, ...]:
        gains = [float(metric.gain(entry.mean(metric.name))) for metric in task.metrics]
        # NaN does not equal itself: two models without a measure would not be compared by the next
        return entry.failed, *((True, 0.0) if math.isnan(gain) else (False, -gain) for gain in gains)

    order = sorted(entries, key=key)
    notes = _without_measure(order, task)
    if not order or order[0].kind != "baseline" or not isinstance(task, ClassificationTask):
        return tuple(order), notes
    guess, *others = order
    better = _decide_better(guess, others, task, overlap)
    if not better:
        return tuple(order), notes
    first = better[0]
    note = (
        f"{first.name} comes before {guess.name} although its {task.metric.heading} is higher: it is right more often, "
        f"beyond chance. Calibrate its probabilities ({CALIBRATION_ADVICE})."
    )
    return (first, guess, *(entry for entry in others if entry is not first)), [note, *notes]


def _without_measure(order: Sequence[Entry], task: Task) -> list[str]:
    """Name the models that have no finite value of the measure that models are ranked by, and say why."""
    scored = [entry for entry in order if not entry.failed]
    heading, name = task.metric.heading, task.metric.name
    notes = []
    if missing := [entry.name for entry in scored if math.isnan(entry.mean(name))]:
        why = "no probabilities and therefore " if isinstance(task, ClassificationTask) else ""
        have = "has" if len(missing) == 1 else "have"
        notes.append(
            f"{join_words(missing)} {have} {why}no {heading}, and come{'s' * (len(missing) == 1)} after the others."
        )
    for entry in scored:
        if math.isinf(entry.mean(name)):
            where = name_folds(np.isinf(entry.scores[name]).tolist())
            notes.append(f"{entry.name}: its {heading} is infinite in {where}; it is not recommended.")
    return notes


def _decide_better(guess: Entry, others: Sequence[Entry], task: Task, overlap: float) -> list[Entry]:
    """Models with probabilities that are right more often than guessing: on noise, half of them are so by chance."""
    able = [entry for entry in others if entry.probabilistic and not entry.failed]
    accuracy = next(metric for metric in task.metrics if metric.name == "accuracy")
    found = [score_difference(entry, guess, accuracy, overlap) for entry in able]
    adjusted = holm([each.p for each in found])
    return [entry for entry, each, p in zip(able, found, adjusted, strict=True) if p < LEVEL and each.mean > 0]


#: told the stage, how many of its steps are done, of how many, and what is next
Progress = Callable[[str, int, int, str], None]


def untold(stage: str, done: int, total: int, name: str) -> None:
    """To whom nothing is told."""


@dataclass
class Race:
    """What is done so far, and who was left out for lack of time."""

    task: Task
    splits: list[Split]
    units: Array
    budget: Budget
    tell: Progress
    inner: InnerFolds | None = None
    entries: list[Entry] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    @cached_property
    def _shared(self) -> SharedFeatures:
        return SharedFeatures(len(self.splits))

    def run(self, entrants: list[Entrant]) -> None:
        """Cross-validate each in turn; on Ctrl-C `entries` has those that were done."""
        total = len(self.splits) * len(entrants)
        for place, entrant in enumerate(entrants):
            try:
                self.entries.append(self._run(entrant, place, total))
            except OutOfTime as reason:
                self.late.append(f"{entrant.name} ({reason})")
        self.tell("cross-validation", total, total, "")

    def aside(self, entrant: Entrant) -> Entry:
        """Cross-validate a model that costs next to nothing, whatever time is left; it is not one of the `entries`."""
        return cross_validate(entrant, self.task, self.splits, self.units, before_split=lambda: None, inner=self.inner)

    def notes(self) -> list[str]:
        if not self.late:
            return []
        return [f"Left out to keep {self.budget.name}: {', '.join(self.late)}."]

    @property
    def candidates(self) -> list[Entry]:
        """The entries that may be recommended."""
        return [entry for entry in self.entries if entry.kind != "reference"]

    @property
    def reference(self) -> Entry | None:
        return next((entry for entry in self.entries if entry.kind == "reference"), None)

    def unfinished(self, entrants: list[Entrant]) -> list[str]:
        """Names of candidates that were not done, whatever the reason."""
        done = {entry.name for entry in self.entries}
        return [entrant.name for entrant in entrants if entrant.name not in done and entrant.kind != "reference"]

    def stopped(self, entrants: list[Entrant]) -> str:
        """A note on those that Ctrl-C left no time for."""
        return f"Stopped by Ctrl-C before these were done: {', '.join(self.unfinished(entrants))}."

    def _run(self, entrant: Entrant, place: int, total: int) -> Entry:
        begun: list[float] = []

        def before_split() -> None:
            begun.append(self.budget.elapsed)
            done = len(begun) - 1
            fold = f"{entrant.name}, fold {done + 1} of {len(self.splits)}"
            self.tell("cross-validation", len(self.splits) * place + done, total, fold)
            self.budget.check(len(self.splits), [later - earlier for earlier, later in pairwise(begun)])

        self.budget.check_cost(entrant.model, entrant.table, self.splits)
        with self.budget.cutting():
            return cross_validate(
                entrant,
                self.task,
                self.splits,
                self.units,
                before_split=before_split,
                inner=self.inner,
                shared=self._shared,
            )
