"""Assumption checks: short tests of data and models, each with a permanent code, a sentence and a remedy.

The codes are documented in docs/guides/assumption-checks.md. Codes 1xx are about the data, 2xx about assumptions of
models, 3xx about fitted models. A code is never reused. A check that does not apply to the data and models of a
comparison is not listed as passed (`is_applicable`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mercer.base.diagnosis import Finding
from mercer.base.pipelines import innermost_part
from mercer.comparison import _checks_of_data as data
from mercer.comparison import _checks_of_models as fits
from mercer.comparison import _checks_of_shape as shape
from mercer.comparison import _leakage as leakage
from mercer.comparison._check_result import CheckResult, CheckSkipped
from mercer.comparison._view import View

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison


class AssumptionCheck(NamedTuple):
    """A check: its code, name, default severity, and the function that yields its results."""

    code: str
    name: str
    severity: str
    run: Callable[[View], Iterator[CheckResult]]


class CheckReport(NamedTuple):
    """The findings of all checks.

    Attributes
    ----------
    findings : tuple of Finding
        Problems of the data or of the models, with remedies.
    passed : tuple of str
        Names of the checks without findings.
    undone : tuple of str
        The checks that could not be made, with the reason.
    """

    findings: tuple[Finding, ...]
    passed: tuple[str, ...]
    undone: tuple[str, ...]


ASSUMPTION_CHECKS = (
    AssumptionCheck("MRC101", "duplicates across folds", "warning", data.check_duplicates),
    AssumptionCheck("MRC102", "rare class", "warning", data.check_rare_classes),
    AssumptionCheck("MRC103", "leakage", "error", leakage.check_leakage),
    AssumptionCheck("MRC104", "mostly missing", "warning", data.check_mostly_missing),
    AssumptionCheck("MRC105", "uninformative columns", "note", data.check_uninformative_columns),
    AssumptionCheck("MRC106", "contradictions", "note", data.check_contradictions),
    AssumptionCheck("MRC107", "few rows", "warning", data.check_few_rows),
    AssumptionCheck("MRC108", "informative gaps", "note", data.check_informative_gaps),
    AssumptionCheck("MRC109", "too good to be true", "warning", leakage.check_too_good),
    AssumptionCheck("MRC110", "combination gives the target away", "error", leakage.check_combinations),
    AssumptionCheck("MRC111", "time series", "warning", data.check_time_series),
    AssumptionCheck("MRC112", "classes absent from training", "warning", data.check_absent_classes),
    AssumptionCheck("MRC201", "separation", "warning", shape.check_separation),
    AssumptionCheck("MRC202", "collinearity", "warning", shape.check_collinearity),
    AssumptionCheck("MRC203", "over-dispersion", "warning", shape.check_overdispersion),
    AssumptionCheck("MRC204", "unequal covariances", "note", shape.check_equal_covariances),
    AssumptionCheck("MRC205", "non-Gaussian columns", "note", shape.check_normality),
    AssumptionCheck("MRC206", "dependent columns", "note", shape.check_dependence),
    AssumptionCheck("MRC207", "unequal variance", "note", shape.check_equal_variance),
    AssumptionCheck("MRC301", "not converged", "warning", fits.check_convergence),
    AssumptionCheck("MRC302", "kernel not positive semidefinite", "warning", fits.check_kernel),
    AssumptionCheck("MRC303", "bandwidth at bound", "warning", fits.check_bandwidth_bound),
    AssumptionCheck("MRC304", "penalty at bound", "note", fits.check_penalty_bound),
    AssumptionCheck("MRC305", "probabilities off", "warning", fits.check_calibration),
    AssumptionCheck("MRC306", "no better than guessing", "error", fits.check_baseline),
    AssumptionCheck("MRC307", "approximate fit", "note", fits.check_approximate_fit),
)


#: checks made by `Comparison.problems`: cheap ones, for problems that may invalidate all scores
PROBLEM_CODES = ("MRC103", "MRC109", "MRC110", "MRC111", "MRC112")
SEVEREST_FIRST = ("error", "warning", "note")


def find_problems(comparison: Comparison, checks: Sequence[AssumptionCheck] = ASSUMPTION_CHECKS) -> list[Finding]:
    """Return the findings of the checks whose problems may invalidate all scores, severest first."""
    view = View(comparison)
    findings: list[Finding] = []
    for each in checks:
        if each.code not in PROBLEM_CODES:
            continue
        try:
            findings += [result.finding(each.code, each.severity) for result in each.run(view)]
        except CheckSkipped:
            continue
        except Exception as failure:
            sentence = f"The check for {each.name} could not be made: {type(failure).__name__}: {failure}"
            findings.append(
                Finding(
                    each.code, "note", sentence, "Check by hand that every column is known when predictions are made."
                )
            )
    return sorted(findings, key=lambda finding: SEVEREST_FIRST.index(finding.severity))


def check_assumptions(comparison: Comparison | View) -> CheckReport:
    """Make all assumption checks on the data and models of a comparison.

    A check that fails itself does not stop the others: it is listed with its error.

    Parameters
    ----------
    comparison : Comparison
        The result of `compare`.

    Returns
    -------
    report : CheckReport
        Findings with `code`, `severity`, `sentence`, `remedy` and `columns`; checks that passed; checks that could not
        be made.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import check_assumptions, compare
    >>> ages = np.random.default_rng(0).normal(45, 10, size=60)
    >>> comparison = compare(ages[:, None], ages > 45, models=["NaiveBayes"])
    >>> [finding.code for finding in check_assumptions(comparison).findings if finding.severity == "error"]
    ['MRC103']
    """
    return run_checks(comparison if isinstance(comparison, View) else View(comparison), ASSUMPTION_CHECKS)


def run_checks(view: View, checks: Sequence[AssumptionCheck]) -> CheckReport:
    """Return the report of the given checks; a check that fails is listed with its error."""
    findings, passed, undone = [], [], []
    for each in checks:
        try:
            findings_of_check = [result.finding(each.code, each.severity) for result in each.run(view)]
        except CheckSkipped as reason:
            undone.append(f"{each.code} ({each.name}): {reason}")
            continue
        except Exception as failure:
            undone.append(f"{each.code} ({each.name}): {type(failure).__name__}: {failure}")
            continue
        findings += findings_of_check
        if not findings_of_check:
            passed.append(f"{each.code} {each.name}")
    return CheckReport(tuple(findings), tuple(passed), tuple(undone))


def is_applicable(code: str, view: View) -> bool:
    """Return whether the check with this code applies to the data and models of a comparison."""
    return code not in _CONDITIONS or _CONDITIONS[code](view)


def _has_classes(view: View) -> bool:
    return view.classification


def _has_several_amounts(view: View) -> bool:
    return not view.sparse and len(view.amounts) > 1


def _has_gaps(view: View) -> bool:
    return any("missing" in note for column in view.schema for note in column.notes)


def _has_model_with(*attributes: str) -> Callable[[View], bool]:
    """Return a condition: whether a fitted model of the comparison has one of these attributes."""

    def condition(view: View) -> bool:
        models = (innermost_part(entry.fitted, -1) for entry in view.ranked if entry.fitted is not None)
        return any(hasattr(model, name) for model in models for name in attributes)

    return condition


_CONDITIONS: dict[str, Callable[[View], bool]] = {
    "MRC102": _has_classes,
    "MRC104": _has_gaps,
    "MRC106": _has_classes,
    "MRC108": _has_gaps,
    "MRC201": _has_classes,
    "MRC202": _has_several_amounts,
    "MRC203": lambda view: view.comparison.task.name == "counts",
    "MRC204": lambda view: _has_classes(view) and _has_several_amounts(view),
    "MRC205": lambda view: _has_classes(view) and bool(view.amounts),
    "MRC206": lambda view: _has_classes(view) and _has_several_amounts(view),
    "MRC207": lambda view: view.comparison.task.name in ("regression", "amounts"),
    "MRC302": _has_model_with("kernel_", "dual_coef_"),
    "MRC303": _has_model_with("bandwidth_"),
    "MRC304": lambda view: any(entry.choice is not None for entry in view.ranked),
    "MRC305": lambda view: _has_classes(view) and bool(view.probabilistic),
    "MRC307": _has_model_with("kernel_", "dual_coef_"),
}
