"""Checks of models fitted to all rows: MRC3xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.application.metrics import Prediction
from mercer.comparison._check_result import CheckResult
from mercer.comparison._view import View, find_certified
from mercer.decision import calibration_error
from mercer.kernels.positive_definite import PositiveDefinite
from mercer.report.wording import format_number


def _certified_parts(view: View) -> Iterator[tuple[str, Any]]:
    """Yield the names of entries with the estimators of mercer in their models."""
    for entry in view.ranked:
        for part in find_certified(view.fitted(entry)):
            yield entry.name, part


def check_convergence(view: View) -> Iterator[CheckResult]:
    """Report fits that stopped before their optimum."""
    for name, part in _certified_parts(view):
        proof = part.certificate_
        if not proof.holds:
            yield CheckResult(
                f"{name} stopped before its optimum: {proof.kind} {proof.value:.2g}, allowed {proof.tolerance:.2g} "
                f"({proof.sentence}).",
                "Allow more steps (max_iter), put columns in standard units, or strengthen the penalty.",
            )


def check_kernel(view: View) -> Iterator[CheckResult]:
    """Report kernels that are not positive semidefinite on the rows."""
    for name, part in _certified_parts(view):
        diagnosis = getattr(part, "diagnosis_", None)
        if isinstance(diagnosis, PositiveDefinite) and not diagnosis.holds:
            yield CheckResult(
                f"The kernel of {name} is not an inner product on these rows: {diagnosis.sentence.rstrip('.')}.",
                "Use a positive definite kernel, e.g. RBF; the optimum of this one is not unique.",
            )


def check_bandwidth_bound(view: View) -> Iterator[CheckResult]:
    """Report bandwidths chosen at an end of the tried range."""
    for name, part in _certified_parts(view):
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
                    "At the narrowest, check for repeated values; at the widest, the column is uninformative: leave it "
                    "out or give a bandwidth.",
                )
                break


def _bandwidths(part: Any) -> list[Any]:
    several = getattr(part, "bandwidths_", None)
    if several is not None:
        return list(several)
    return [choice] if (choice := getattr(part, "bandwidth_choice_", None)) is not None else []


#: penalty strengths that a comparison chooses
PENALTY_PARAMETERS = ("C", "alpha")
#: number of tried values from which a choice at the end is reported: of three values, two are ends
MIN_TRIED_VALUES = 5
#: attributes with the chosen strength of a penalty, and with the tried values
TUNED_ATTRIBUTES = (("C_", "Cs_"), ("alpha_", "alphas_"), ("alpha_", "alphas"))


def check_penalty_bound(view: View) -> Iterator[CheckResult]:
    """Report penalty strengths chosen at an end of the tried range."""
    for name, part in _certified_parts(view):
        for chosen, tried in TUNED_ATTRIBUTES:
            if result := _check_end(
                name, chosen.rstrip("_"), getattr(part, chosen, None), getattr(part, tried, None), 3
            ):
                yield result
                break
    for entry in view.ranked:
        view.fitted(entry)
        choice = view.comparison.entry(entry.name).choice
        if choice is None or choice.parameter not in PENALTY_PARAMETERS:
            continue
        if result := _check_end(entry.name, *choice, MIN_TRIED_VALUES):
            yield result


def _check_end(name: str, parameter: str, chosen: Any, tried: Any, least: int) -> CheckResult | None:
    """Return a result if the chosen value is the smallest or largest of at least `least` tried values."""
    values, at = np.unique(_as_numbers(tried)), _as_numbers(chosen)
    if len(values) < least or not (at_end := np.isin(at, values[[0, -1]])).any():
        return None
    end, least_tried, most_tried = (format_number(value, 3) for value in (at[at_end][0], values[0], values[-1]))
    return CheckResult(
        f"{name} chose {parameter} = {end}, the end of what it tried ({least_tried} to {most_tried}).",
        "Try a wider range.",
    )


def _as_numbers(values: Any) -> Any:
    """Return values as a vector of numbers, empty if they are not numbers."""
    if values is None or isinstance(values, str):
        return np.zeros(0)
    try:
        return np.ravel(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        return np.zeros(0)


def check_calibration(view: View) -> Iterator[CheckResult]:
    """Report probabilities of the best model that are off by more than chance, and by enough to matter."""
    entry = view.best(probabilistic=True) if view.classification else None
    if entry is None:
        return
    proba, truth = view.probabilities(entry)
    if len(truth) < 50:
        return
    error = calibration_error(proba, truth)
    if error.p_value < 0.01 and error.matters:
        yield CheckResult(
            f"The probabilities of {entry.name} are off by {error.error:.3f} on average, with "
            f"{error.by_chance:.3f} expected by chance.",
            "Wrap the model in Calibrated, which learns the correction on held-out rows.",
        )


def check_baseline(view: View) -> Iterator[CheckResult]:
    """Report a best model that does not beat a model without columns.

    With a baseline the verdict compares both on the same splits; without one, the interval of the best score decides.
    """
    best, verdict = view.best(), view.comparison.verdict()
    if best is None or best.kind == "baseline":  # no model with columns was scored
        return
    if verdict.baseline is not None and verdict.best is not None:
        return
    metric, known = view.comparison.task.metric, _score_without_columns(view)
    mean, low, high = view.comparison.interval(best.name)
    if not np.isfinite(mean) or known is None:
        return
    worst = low if metric.larger_is_better else high
    worst = mean if np.isnan(worst) else worst
    if verdict.baseline is not None or metric.gain(worst) <= metric.gain(known):
        yield CheckResult(
            f"{best.name} is not clearly better than a constant prediction without the columns: {metric.heading} "
            f"{mean:.4g}, and {known:.4g} for the constant.",
            "Do not use a model yet: find other columns or more rows, or check for a mistake in how tables were "
            "joined.",
        )


def _score_without_columns(view: View) -> float | None:
    """Return the first measure of a constant prediction: the class shares or the mean of the training rows."""
    task, values = view.comparison.task, []
    for train, test in view.comparison.splits:
        known = task.truth[train]
        if view.classification:
            shares = np.bincount(known, minlength=len(view.labels)) / len(known)
            with np.errstate(divide="ignore"):
                log_proba = np.tile(np.log(shares), (len(test), 1))
            forecast = Prediction(np.full(len(test), shares.argmax()), log_proba)
        else:
            forecast = Prediction(np.full(len(test), known.mean()))
        values.append(task.scores(forecast, test, train)[task.metric.name])
    return float(np.mean(values)) if np.isfinite(values).all() else None


def check_approximate_fit(view: View) -> Iterator[CheckResult]:
    """Report approximate fits."""
    for name, part in _certified_parts(view):
        plan = getattr(part, "plan_", None)
        if plan is not None and not getattr(plan, "exact", True):
            yield CheckResult(
                f"{name} is approximate: {plan.path}.", "Choose the exact fit if the number of rows allows it."
            )
