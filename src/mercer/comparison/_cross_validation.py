"""Cross-validate models one after the other within a time budget, refit them on all rows, and rank them."""

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
from sklearn.pipeline import Pipeline

from mercer._errors import DataError, NotConvergedWarning, TargetLeakWarning
from mercer._typing import Array
from mercer.application.metrics import Prediction
from mercer.application.tasks import ClassificationTask, Split, Task, name_folds
from mercer.base import resolve, traits_of
from mercer.base.compared import INNER_FOLDS
from mercer.comparison._entrants import Entrant
from mercer.comparison._entry import ChosenParameter, Entry, Simplicity, assess_simplicity, measure_size
from mercer.comparison._inner_search import InnerFolds, InnerSplitter, Tuned
from mercer.comparison._paired import SIGNIFICANCE_LEVEL, scores_by_unit, signals_by_unit
from mercer.comparison._score_tests import baseline_differences
from mercer.comparison._shared_features import SharedFeatures
from mercer.comparison.time_limit import Budget, OutOfTime
from mercer.data import Table
from mercer.decision import CalibrationError, calibration_error
from mercer.decision.reliability import CALIBRATION_ADVICE
from mercer.report.wording import format_count, join_words

#: distinct warnings of one model that are reported; the others are counted
MAX_REPORTED_WARNINGS = 3
#: rows above which the interval of a calibration error uses fewer resamples
MANY_RESAMPLED_ROWS = 10_000


class Trial(NamedTuple):
    """The results of one split."""

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
    """Fit and score a model on every split; a failure or warnings become notes of its entry.

    `units` has the unit of each row: the held-out rows of one unit count as one observation of the scores.
    `before_split` is called before each split; `inner` receives the rows of each fit. `shared` caches the features that
    other models have computed for the same splits.
    """
    trials: list[Trial] = []
    failure = ""
    simplicity = Simplicity(False, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, split in enumerate(splits):
            before_split()
            try:
                trial = run_trial(entrant, task, split, inner, shared)
                if number == 0:
                    simplicity = assess_simplicity(trial.model, entrant.table.take_native(split[1][:1]))
                trials.append(trial._replace(model=None))
            except Exception as problem:
                failure = f"fold {number + 1}: {_name_features(describe_problem(problem), entrant, split)}"
                break
    if failure:
        return _make_failed_entry(entrant, task, splits, failure)
    # the comparison reports columns that leak the target as problems; warnings about future defaults concern code
    messages = [each.message for each in caught if not issubclass(each.category, (TargetLeakWarning, FutureWarning))]
    stopped = [each for each in messages if isinstance(each, NotConvergedWarning | ConvergenceWarning)]
    notes = _summarize_warnings(each for each in messages if each not in stopped)
    entry = _make_entry(entrant, task, splits, units, trials, (*_describe_early_stop(entrant.model, stopped), *notes))
    named = tuple(_name_features(note, entrant, splits[0]) for note in entry.notes)
    return replace(entry, **simplicity._asdict(), converged=not stopped, notes=named)


def _name_features(message: str, entrant: Entrant, split: Split) -> str:
    """Replace 'x0', 'x1', … in the message of a model by the names of its features, which a pipeline gives it."""
    if not isinstance(entrant.model, Pipeline) or not re.search(r"'x\d+'", message):
        return message
    try:
        steps = clone(entrant.model[:-1]).fit(entrant.table.take_native(split[0]))
        names = [str(name) for name in steps.get_feature_names_out()]
    except Exception:  # features without names
        return message
    return re.sub(
        r"'x(\d+)'", lambda match: repr(names[int(match[1])]) if int(match[1]) < len(names) else match[0], message
    )


def run_trial(
    entrant: Entrant, task: Task, split: Split, inner: InnerFolds | None = None, shared: SharedFeatures | None = None
) -> Trial:
    """Fit a copy of the model to the training rows of a split, and score it on the held-out rows.

    The seconds include those of shared features that were computed for another model.
    """
    train, test = split
    model = clone(entrant.model)
    features = None if shared is None else shared.of(model, entrant.table, split, task.y)
    learner, X = (model, entrant.table.take_native(train)) if features is None else (model[1:], features.train)
    with nullcontext() if inner is None else inner.within(train):
        start = now()
        learner.fit(X, task.y[train])
        fitted = now()
    rows = entrant.table.take_native(test) if features is None else features.test
    predict_start = now()
    forecast = task.forecast(learner, rows)
    fit_seconds, predict_seconds = fitted - start, now() - predict_start
    if features is not None:
        model.steps = [(model.steps[0][0], features.transformer), *learner.steps]
        fit_seconds, predict_seconds = fit_seconds + features.fit_seconds, predict_seconds + features.transform_seconds
    _check_finite_forecast(forecast)
    scores = task.scores(forecast, test, train)
    return Trial(forecast, scores, fit_seconds, predict_seconds, measure_size(model), model)


def describe_problem(problem: BaseException | Warning | str) -> str:
    """Return the type and the first line of an exception or a warning."""
    first = next(iter(str(problem).strip().splitlines()), "")
    return f"{type(problem).__name__}: {first}"


def _check_finite_forecast(forecast: Prediction) -> None:
    """Raise ArithmeticError for predictions that are NaN or infinite, for which no measure is finite."""
    predicted = forecast.decisions if forecast.log_proba is None else forecast.log_proba
    wrong = np.isnan(predicted) if forecast.log_proba is not None else ~np.isfinite(predicted)
    if wrong.any():
        rows = int(wrong.any(axis=tuple(range(1, predicted.ndim))).sum())
        kind = "NaN" if np.isnan(predicted).any() else "infinite"
        raise ArithmeticError(f"the prediction is {kind} for {format_count(rows, 'row')}")


def _make_entry(
    entrant: Entrant, task: Task, splits: list[Split], units: Array, trials: list[Trial], notes: tuple[str, ...]
) -> Entry:
    """Return the entry of a model that was scored on all splits."""
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
        impossible=sum(
            task.count_impossible(trial.forecast, split) for trial, split in zip(trials, splits, strict=True)
        ),
        notes=(*task.remarks([trial.forecast for trial in trials], splits), *notes),
        calibration=_measure_calibration(held_out, task.truth) if probabilistic else None,
        probabilistic=probabilistic,
    )


def _mean_over_repeats(task: Task, splits: list[Split], trials: list[Trial]) -> Array:
    """Return the mean prediction of each row by models fitted without it; NaN for a row that was never held out."""
    held_out = [task.to_array(trial.forecast) for trial in trials]
    total, times = np.zeros((len(task.truth), *held_out[0].shape[1:])), np.zeros(len(task.truth))
    for (_, test), held in zip(splits, held_out, strict=True):
        total[test] += held
        times[test] += 1
    with np.errstate(invalid="ignore"):
        return np.asarray((total.T / times).T)


def _measure_calibration(held_out: Array, truth: Array) -> CalibrationError | None:
    """Return the calibration error of all held-out rows, because the bins of a single split would have too few."""
    rows = ~np.isnan(held_out).any(axis=1)
    try:
        return calibration_error(held_out[rows], truth[rows], repeats=200 if rows.sum() <= MANY_RESAMPLED_ROWS else 50)
    except DataError:  # a model whose probabilities do not sum to one
        return None


def _make_failed_entry(entrant: Entrant, task: Task, splits: list[Split], failure: str) -> Entry:
    undefined = np.full(len(splits), np.nan)
    return Entry(
        name=entrant.name,
        model=entrant.model,
        table=entrant.table,
        kind=entrant.kind,
        partner=entrant.partner,
        scores={metric.name: undefined for metric in task.metrics},
        held_out=np.full((len(task.truth), *task.width), np.nan),
        notes=(failure,),
        failed=True,
    )


def _describe_early_stop(model: Any, warned: Sequence[Warning | str]) -> list[str]:
    """Return a sentence about fits that stopped before their optimum, with the parameter that allows more steps."""
    if not warned:
        return []
    evidence = re.split(r"[.;] (?=[A-Z])|\n", str(warned[0]).strip())[0].rstrip(".")
    evidence = re.sub(r"(\d+) iteration\(s\)", lambda match: format_count(int(match[1]), "iteration"), evidence)
    limits = [
        value for name, value in model.get_params().items() if name.endswith("max_iter") and isinstance(value, int)
    ]
    more = f"max_iter={10 * max(limits)}" if limits else "a larger max_iter"
    sentence = (
        f"stopped before its optimum ({evidence}), so that its score may be worse than it could be. Allow more "
        f"steps: {more} in Python, --set {more if limits else 'max_iter=10000'} in `mercer fit`."
    )
    return [sentence]


def _summarize_warnings(messages: Iterable[Warning | str]) -> tuple[str, ...]:
    """Return every warning once, ignoring differences in numbers between splits."""
    alike: dict[str, list[str]] = {}
    for message in map(describe_problem, messages):
        alike.setdefault(re.sub(r"\d[\d.,e+-]*", "#", message), []).append(message)
    sentences = [
        first if len(same) == 1 else f"{first} (and {len(same) - 1} similar)"
        for same in alike.values()
        for first in same[:1]
    ]
    more = len(sentences) - MAX_REPORTED_WARNINGS
    return (*sentences[:MAX_REPORTED_WARNINGS], *([f"… and {more} other warnings"] if more > 0 else []))


def refit(model: Any, table: Table, y: Any, inner: InnerFolds | None = None) -> tuple[Any, ChosenParameter | None]:
    """Fit a model on all rows; return it with its search replaced by the chosen parameter, and the choice."""
    folds = nullcontext() if inner is None else inner.within(np.arange(len(y)))
    with warnings.catch_warnings(), folds:
        warnings.simplefilter("ignore")  # the same warnings in the splits are in the notes
        model = clone(model).fit(table.native, y)
        choice = find_choice(model)  # `replace_search` drops it
        return replace_search(model, table.native, y), choice


def find_choice(model: Any) -> ChosenParameter | None:
    """Return the parameter that a fitted model chose; None without a search or with one value per class."""
    if hasattr(model, "steps"):
        return find_choice(model.steps[-1][1])
    if hasattr(model, "regressor_"):
        return find_choice(model.regressor_)
    if isinstance(model, Tuned):
        return ChosenParameter(model.parameter.rpartition("__")[2], model.best_value_, tuple(model.values))
    if (parameter := _replaceable_parameter(model)) is not None:
        value, tried = getattr(model, f"{parameter}_"), getattr(model, f"{parameter}s_")
        return ChosenParameter(parameter, float(value), tuple(tried.tolist()))
    return None


def _replaceable_parameter(model: Any) -> str | None:
    """Return the name of the parameter that a fitted model has chosen, if it has one value for all classes."""
    declared = traits_of(model)
    if declared.settle is None or np.ndim(getattr(model, f"{declared.chooses}_")) > 0:
        return None
    return declared.chooses


def replace_search(model: Any, X: Any, y: Any) -> Any:
    """Return a fitted model with the parameters that its search chose, without the search."""
    if hasattr(model, "steps"):
        *first, (name, last) = model.steps
        if isinstance(last, Tuned) or traits_of(last).chooses or hasattr(last, "regressor_"):
            model.steps = [*first, (name, replace_search(last, model[:-1].transform(X) if first else X, y))]
        return model
    if isinstance(model, Tuned):
        return model.best_estimator_
    if isinstance(getattr(model, "cv", None), InnerSplitter):
        model.cv = INNER_FOLDS
    if _replaceable_parameter(model) is not None:
        settle = traits_of(model).settle
        assert settle is not None
        return resolve(settle)(model).fit(X, y)
    if hasattr(model, "regressor_") and isinstance(model.regressor_, Tuned):
        model.regressor_ = model.regressor_.best_estimator_
        model.regressor = clone(model.regressor_)
    return model


def rank_entries(entries: Sequence[Entry], task: Task, overlap: float) -> tuple[tuple[Entry, ...], list[str]]:
    """Return the entries, best first, and notes about the order.

    Entries are ordered by the first measure, ties by the next. Entries whose first measure is missing or infinite come
    after the others, failures last. There is one exception: if a baseline has the best measure because all models are
    overconfident, a model of significantly higher accuracy comes first, because its probabilities can be calibrated.
    """

    def key(entry: Entry) -> tuple[Any, ...]:
        gains = [float(metric.gain(entry.mean(metric.name))) for metric in task.metrics]
        # NaN is replaced because it is not equal to itself: ties of missing measures are broken by the next one
        return entry.failed, *((True, 0.0) if math.isnan(gain) else (False, -gain) for gain in gains)

    order = sorted(entries, key=key)
    notes = _note_missing_measures(order, task)
    if not order or order[0].kind != "baseline" or not isinstance(task, ClassificationTask):
        return tuple(order), notes
    baseline, *others = order
    better = _find_more_accurate(baseline, others, task, overlap)
    if not better:
        return tuple(order), notes
    first = better[0]
    note = (
        f"{first.name} comes before {baseline.name} although its {task.metric.heading} is higher: it is right more "
        f"often, beyond chance. Calibrate its probabilities ({CALIBRATION_ADVICE})."
    )
    return (first, baseline, *(entry for entry in others if entry is not first)), [note, *notes]


def _note_missing_measures(order: Sequence[Entry], task: Task) -> list[str]:
    """Return notes on the models without a finite value of the first measure."""
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


def _find_more_accurate(baseline: Entry, others: Sequence[Entry], task: Task, overlap: float) -> list[Entry]:
    """Return the models with probabilities whose accuracy is significantly higher than that of the baseline."""
    able = [entry for entry in others if entry.probabilistic and not entry.failed]
    accuracy = next(metric for metric in task.metrics if metric.name == "accuracy")
    differences = baseline_differences(able, baseline, accuracy, overlap)
    return [
        entry
        for entry in able
        if differences[entry.name].adjusted < SIGNIFICANCE_LEVEL and differences[entry.name].mean > 0
    ]


#: called with the stage, the number of steps done, the total, and the name of the next step
Progress = Callable[[str, int, int, str], None]


def ignore_progress(stage: str, done: int, total: int, name: str) -> None:
    """Do nothing: the default callback for progress."""


@dataclass
class CrossValidationRun:
    """The cross-validation of several models: entries done so far, and models left out for lack of time."""

    task: Task
    splits: list[Split]
    units: Array
    budget: Budget
    progress: Progress
    inner: InnerFolds | None = None
    entries: list[Entry] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    @cached_property
    def _shared(self) -> SharedFeatures:
        return SharedFeatures(len(self.splits))

    def run(self, entrants: list[Entrant]) -> None:
        """Cross-validate the entrants in turn; on Ctrl-C `entries` has those that are completed."""
        total = len(self.splits) * len(entrants)
        for place, entrant in enumerate(entrants):
            try:
                self.entries.append(self._run(entrant, place, total))
            except OutOfTime as reason:
                self.late.append(f"{entrant.name} ({reason})")
        self.progress("cross-validation", total, total, "")

    def score_baseline(self, entrant: Entrant) -> Entry:
        """Cross-validate a cheap baseline, regardless of the time left; it is not added to the `entries`."""
        return cross_validate(entrant, self.task, self.splits, self.units, before_split=lambda: None, inner=self.inner)

    def notes(self) -> list[str]:
        """Return a note on the models that were left out."""
        if not self.late:
            return []
        return [f"Left out to keep {self.budget.name}: {', '.join(self.late)}."]

    @property
    def candidates(self) -> list[Entry]:
        """The entries that may be recommended."""
        return [entry for entry in self.entries if entry.kind != "reference"]

    @property
    def reference(self) -> Entry | None:
        """The entry of the reference; None if it was not scored."""
        return next((entry for entry in self.entries if entry.kind == "reference"), None)

    def unfinished(self, entrants: list[Entrant]) -> list[str]:
        """Return the names of the candidates that were not scored."""
        scored = {entry.name for entry in self.entries}
        return [entrant.name for entrant in entrants if entrant.name not in scored and entrant.kind != "reference"]

    def interruption_note(self, entrants: list[Entrant]) -> str:
        """Return a note on the models that were not scored because of Ctrl-C."""
        return f"Stopped by Ctrl-C before these were done: {', '.join(self.unfinished(entrants))}."

    def _run(self, entrant: Entrant, place: int, total: int) -> Entry:
        """Cross-validate one model within the budget."""
        begun: list[float] = []

        def before_split() -> None:
            begun.append(self.budget.elapsed)
            done = len(begun) - 1
            fold = f"{entrant.name}, fold {done + 1} of {len(self.splits)}"
            self.progress("cross-validation", len(self.splits) * place + done, total, fold)
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
