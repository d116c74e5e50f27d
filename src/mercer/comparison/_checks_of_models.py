"""Checks of models fitted to all rows: MRC3xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.application.metrics import Prediction
from mercer.comparison._check_result import CheckResult
from mercer.comparison._view import View, certified
from mercer.decision import calibration_error
from mercer.kernels.positive_definite import PositiveDefinite
from mercer.report.wording import format_number


def _parts(view: View) -> Iterator[tuple[str, Any]]:
    """Names of entries, and the estimators of mercer in their models."""
    for entry in view.ranked:
        for part in certified(view.fitted(entry)):
            yield entry.name, part


def not_converged(view: View) -> Iterator[CheckResult]:
    for name, part in _parts(view):
        proof = part.certificate_
        if not proof.holds:
            yield CheckResult(
                f"{name} stopped before its optimum: {proof.kind} {proof.value:.2g}, allowed {proof.tolerance:.2g} "
                f"({proof.sentence}).",
                "Allow more steps (max_iter), put columns in standard units, or strengthen the penalty.",
            )


def indefinite_kernel(view: View) -> Iterator[CheckResult]:
    for name, part in _parts(view):
        told = getattr(part, "diagnosis_", None)
        if isinstance(told, PositiveDefinite) and not told.holds:
            yield CheckResult(
                f"The kernel of {name} is no inner product on these rows: {told.sentence.rstrip('.')}.",
                "Use a positive definite kernel, e.g. RBF; the optimum of this one is not unique.",
            )


def bandwidth_at_bound(view: View) -> Iterator[CheckResult]:
    for name, part in _parts(view):
        for bandwidth in _bandwidths(part):
            criterion = getattr(bandwidth, "criterion", None)
            if criterion is None or len(criterion.widths) < 3:
                continue
            place = int(np.argmin(criterion.values))
            if place in (0, len(criterion.widths) - 1):
                end = "narrowest" if place == 0 else "widest"
                yield CheckResult(
                    f"The bandwidth that {name} chose is the {end} of those it tried ({criterion.chosen:.4g}), so that "
                    "the best one may lie beyond.",
                    "At the narrowest, look for repeated values; at the widest, the column says nothing: leave it out "
                    "or give a bandwidth.",
                )
                break


def _bandwidths(part: Any) -> list[Any]:
    several = getattr(part, "bandwidths_", None)
    if several is not None:
        return list(several)
    return [choice] if (choice := getattr(part, "bandwidth_choice_", None)) is not None else []


#: strengths of penalties that a comparison chooses itself, and the least values from which the end is worth a word: of
#: three, two are ends
PENALTIES, MANY_VALUES = ("C", "alpha"), 5
#: the chosen strength of a penalty, and what was tried
TUNED = (("C_", "Cs_"), ("alpha_", "alphas_"), ("alpha_", "alphas"))


def penalty_at_bound(view: View) -> Iterator[CheckResult]:
    for name, part in _parts(view):
        for chosen, tried in TUNED:
            if told := _at_end(name, chosen.rstrip("_"), getattr(part, chosen, None), getattr(part, tried, None), 3):
                yield told
                break
    for entry in view.ranked:
        view.fitted(entry)
        choice = view.comparison.entry(entry.name).choice
        if choice is None or choice.parameter not in PENALTIES:
            continue
        if told := _at_end(entry.name, *choice, MANY_VALUES):
            yield told


def _at_end(name: str, parameter: str, chosen: Any, tried: Any, least: int) -> CheckResult | None:
    """Whether what was chosen is the first or the last of at least so many values."""
    values, found = np.unique(_numbers(tried)), _numbers(chosen)
    if len(values) < least or not (at_end := np.isin(found, values[[0, -1]])).any():
        return None
    end, least_tried, most_tried = (format_number(value, 3) for value in (found[at_end][0], values[0], values[-1]))
    return CheckResult(
        f"{name} chose {parameter} = {end}, the end of what it tried ({least_tried} to {most_tried}).",
        "Try a wider range.",
    )


def _numbers(values: Any) -> Any:
    if values is None or isinstance(values, str):
        return np.zeros(0)
    try:
        return np.ravel(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        return np.zeros(0)


def probabilities_off(view: View) -> Iterator[CheckResult]:
    """Whether the best model's probabilities are further from frequencies than chance, and enough to matter."""
    entry = view.best(probable=True) if view.classification else None
    if entry is None:
        return
    proba, truth = view.probabilities(entry)
    if len(truth) < 50:
        return
    found = calibration_error(proba, truth)
    if found.p_value < 0.01 and found.matters:
        yield CheckResult(
            f"The probabilities of {entry.name} are off by {found.error:.3f} on average, where chance alone gives "
            f"{found.by_chance:.3f}.",
            "Wrap the model in Calibrated, which learns the difference on rows that are held out.",
        )


def no_better_than_guessing(view: View) -> Iterator[CheckResult]:
    """Whether the best model beats one that does not read the columns.

    With a baseline this is the verdict, which compares both on the same splits; without one, the interval of the best
    score decides.
    """
    best, verdict = view.best(), view.comparison.verdict()
    if best is None or best.kind == "baseline":  # no model was judged: there is nothing to say of the columns
        return
    if verdict.baseline is not None and verdict.best is not None:
        return
    metric, known = view.comparison.task.metric, _of_knowing_nothing(view)
    mean, low, high = view.comparison.interval(best.name)
    if not np.isfinite(mean) or known is None:
        return
    worst = low if metric.larger_is_better else high
    worst = mean if np.isnan(worst) else worst
    if verdict.baseline is not None or metric.gain(worst) <= metric.gain(known):
        yield CheckResult(
            f"{best.name} is not surely better than knowing nothing of the columns: {metric.heading} {mean:.4g}, and "
            f"{known:.4g} for always giving the same answer.",
            "Do not use a model yet: look for other columns, more rows, or a mistake in how they were joined.",
        )


def _of_knowing_nothing(view: View) -> float | None:
    """The first measure, for the shares of the classes or the mean of the training rows as the answer to all."""
    task, values = view.comparison.task, []
    for train, test in view.comparison.splits:
        learnt = task.truth[train]
        if view.classification:
            shares = np.bincount(learnt, minlength=len(view.labels)) / len(learnt)
            with np.errstate(divide="ignore"):
                log_proba = np.tile(np.log(shares), (len(test), 1))
            forecast = Prediction(np.full(len(test), shares.argmax()), log_proba)
        else:
            forecast = Prediction(np.full(len(test), learnt.mean()))
        values.append(task.scores(forecast, test, train)[task.metric.name])
    return float(np.mean(values)) if np.isfinite(values).all() else None


def approximate(view: View) -> Iterator[CheckResult]:
    for name, part in _parts(view):
        plan = getattr(part, "plan_", None)
        if plan is not None and not getattr(plan, "exact", True):
            yield CheckResult(
                f"{name} is approximate: {plan.path}.", "Ask for the exact fit if the rows are few enough for it."
            )
