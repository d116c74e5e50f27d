"""One model on every split."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from statistics import median_low
from time import perf_counter as now
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._errors import DataError, NotConvergedWarning, TargetLeakWarning
from mercer._typing import Array
from mercer.comparison.entry import Entry
from mercer.comparison.measuring.units import scores_by_unit, signals_by_unit
from mercer.comparison.racing.shared_features import SharedFeatures
from mercer.comparison.racing.simplicity import Simplicity, simplicity_of
from mercer.comparison.racing.size import size_of
from mercer.comparison.taking_part.entrants import Entrant
from mercer.comparison.taking_part.inner import InnerFolds
from mercer.decide import CalibrationError, calibration_error
from mercer.report.wording import counted
from mercer.using.metrics import Forecast
from mercer.using.tasks import Split, Task

#: warnings of one model that are reported; the rest is counted
MOST_WARNINGS = 3
#: rows from which fewer resamples are enough for an interval
MANY_ROWS = 10_000


class Trial(NamedTuple):
    """What came of one split."""

    forecast: Forecast
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


def _check(forecast: Forecast) -> None:
    """Raise where a prediction is NaN or an infinite number, because no measure of it would be finite."""
    predicted = forecast.decisions if forecast.log_proba is None else forecast.log_proba
    wrong = np.isnan(predicted) if forecast.log_proba is not None else ~np.isfinite(predicted)
    if wrong.any():
        rows = int(wrong.any(axis=tuple(range(1, predicted.ndim))).sum())
        kind = "NaN" if np.isnan(predicted).any() else "infinite"
        raise ArithmeticError(f"the prediction is {kind} for {counted(rows, 'row')}")


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
