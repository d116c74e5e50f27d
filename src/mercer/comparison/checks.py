"""Which checks apply to a comparison: one that cannot find anything is not listed as passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from mercer.base.diagnosis import Finding
from mercer.base.pipelines import part_of
from mercer.comparison import _checks_of_data as data
from mercer.comparison import _checks_of_models as fits
from mercer.comparison import _checks_of_shape as shape
from mercer.comparison import _leakage as leakage
from mercer.comparison._check_result import CheckResult, NotAsked
from mercer.comparison._view import View

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison


# Assumption checks: small questions to data and models, each with a code that stays, a sentence and a remedy.
#
# The codes are documented in docs/guides/assumption-checks.md. 1xx are about the data, 2xx about what models assume of
# them, 3xx about fitted models. A code is never used again for something else.


class AssumptionCheck(NamedTuple):
    """A question: its code, what it asks in a few words, and who answers it."""

    code: str
    name: str
    severity: str
    look: Callable[[View], Iterator[CheckResult]]


class Checked(NamedTuple):
    """What all checks found, how many had nothing to say, and those that could not be done, with the reason."""

    findings: tuple[Finding, ...]
    passed: tuple[str, ...]
    undone: tuple[str, ...]


CHECKS = (
    AssumptionCheck("MRC101", "duplicates across folds", "warning", data.duplicates),
    AssumptionCheck("MRC102", "rare class", "warning", data.rare_class),
    AssumptionCheck("MRC103", "leakage", "error", leakage.leakage),
    AssumptionCheck("MRC104", "mostly missing", "warning", data.mostly_missing),
    AssumptionCheck("MRC105", "says nothing", "note", data.says_nothing),
    AssumptionCheck("MRC106", "contradictions", "note", data.contradictions),
    AssumptionCheck("MRC107", "few rows", "warning", data.few_rows),
    AssumptionCheck("MRC108", "missing tells", "note", data.missing_tells),
    AssumptionCheck("MRC109", "too good to be true", "warning", leakage.too_good),
    AssumptionCheck("MRC110", "combination gives the target away", "error", leakage.combined),
    AssumptionCheck("MRC111", "time series", "warning", data.time_series),
    AssumptionCheck("MRC112", "classes absent from training", "warning", data.absent_classes),
    AssumptionCheck("MRC201", "separation", "warning", shape.separation),
    AssumptionCheck("MRC202", "collinearity", "warning", shape.collinearity),
    AssumptionCheck("MRC203", "over-dispersion", "warning", shape.overdispersion),
    AssumptionCheck("MRC204", "unequal covariances", "note", shape.unequal_covariances),
    AssumptionCheck("MRC205", "non-Gaussian columns", "note", shape.non_gaussian),
    AssumptionCheck("MRC206", "dependent columns", "note", shape.dependent),
    AssumptionCheck("MRC207", "unequal variance", "note", shape.unequal_variance),
    AssumptionCheck("MRC301", "not converged", "warning", fits.not_converged),
    AssumptionCheck("MRC302", "kernel not positive semidefinite", "warning", fits.indefinite_kernel),
    AssumptionCheck("MRC303", "bandwidth at bound", "warning", fits.bandwidth_at_bound),
    AssumptionCheck("MRC304", "penalty at bound", "note", fits.penalty_at_bound),
    AssumptionCheck("MRC305", "probabilities off", "warning", fits.probabilities_off),
    AssumptionCheck("MRC306", "no better than guessing", "error", fits.no_better_than_guessing),
    AssumptionCheck("MRC307", "approximate fit", "note", fits.approximate),
)


#: checks that `Comparison.problems` makes: cheap ones, of what may make all scores worthless
FIRST = ("MRC103", "MRC109", "MRC110", "MRC111", "MRC112")
SEVEREST_FIRST = ("error", "warning", "note")


def find_problems(comparison: Comparison) -> list[Finding]:
    """Return the findings of the checks that a reader needs before any score, severest first."""
    view = View(comparison)
    findings: list[Finding] = []
    for each in CHECKS:
        if each.code not in FIRST:
            continue
        try:
            findings += [result.finding(each.code, each.severity) for result in each.look(view)]
        except NotAsked:
            continue
        except Exception as failure:
            sentence = f"The check for {each.name} could not be made: {type(failure).__name__}: {failure}"
            findings.append(
                Finding(
                    each.code, "note", sentence, "Check by hand that every column is known when predictions are made."
                )
            )
    return sorted(findings, key=lambda finding: SEVEREST_FIRST.index(finding.severity))


def check_assumptions(comparison: Comparison | View) -> Checked:
    """Make all assumption checks on the data and models of a comparison.

    A check that fails itself does not stop the others: it is listed with its error.

    Parameters
    ----------
    comparison : Comparison
        What `compare` returned.

    Returns
    -------
    checked : Checked
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
    view = comparison if isinstance(comparison, View) else View(comparison)
    findings, passed, undone = [], [], []
    for each in CHECKS:
        try:
            found = [result.finding(each.code, each.severity) for result in each.look(view)]
        except NotAsked as reason:
            undone.append(f"{each.code} ({each.name}): {reason}")
            continue
        except Exception as failure:
            undone.append(f"{each.code} ({each.name}): {type(failure).__name__}: {failure}")
            continue
        findings += found
        if not found:
            passed.append(f"{each.code} {each.name}")
    return Checked(tuple(findings), tuple(passed), tuple(undone))


def applies(code: str, view: View) -> bool:
    """Return whether the check of that code is about data and models such as these."""
    return code not in _CONDITIONS or _CONDITIONS[code](view)


def _classes(view: View) -> bool:
    return view.classification


def _several_amounts(view: View) -> bool:
    return not view.sparse and len(view.amounts) > 1


def _has_gaps(view: View) -> bool:
    return any("missing" in note for column in view.schema for note in column.notes)


def _some_model(*attributes: str) -> Callable[[View], bool]:
    """Whether a model that took part has one of these attributes once it is fitted."""

    def found(view: View) -> bool:
        models = (part_of(entry.fitted, -1) for entry in view.ranked if entry.fitted is not None)
        return any(hasattr(model, name) for model in models for name in attributes)

    return found


_CONDITIONS: dict[str, Callable[[View], bool]] = {
    "MRC102": _classes,
    "MRC104": _has_gaps,
    "MRC106": _classes,
    "MRC108": _has_gaps,
    "MRC201": _classes,
    "MRC202": _several_amounts,
    "MRC203": lambda view: view.comparison.task.name == "counts",
    "MRC204": lambda view: _classes(view) and _several_amounts(view),
    "MRC205": lambda view: _classes(view) and bool(view.amounts),
    "MRC206": lambda view: _classes(view) and _several_amounts(view),
    "MRC207": lambda view: view.comparison.task.name in ("regression", "amounts"),
    "MRC302": _some_model("kernel_", "dual_coef_"),
    "MRC303": _some_model("bandwidth_"),
    "MRC304": lambda view: any(entry.choice is not None for entry in view.ranked),
    "MRC305": lambda view: _classes(view) and bool(view.probable),
    "MRC307": _some_model("kernel_", "dual_coef_"),
}
