"""Assumption checks: small questions to data and models, each with a code that stays, a sentence and a remedy.

The codes are documented in docs/guides/assumption-checks.md. 1xx are about the data, 2xx about what models assume of
them, 3xx about fitted models. A code is never used again for something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from mercer.comparison.checking import _checks_of_data as data
from mercer.comparison.checking import _checks_of_models as fits
from mercer.comparison.checking import _checks_of_shape as shape
from mercer.comparison.checking import leakage
from mercer.comparison.checking.found import Found, NotAsked
from mercer.comparison.view import View
from mercer.models.diagnosis import Finding

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison


class Check(NamedTuple):
    """A question: its code, what it asks in a few words, and who answers it."""

    code: str
    name: str
    severity: str
    look: Callable[[View], Iterator[Found]]


class Checked(NamedTuple):
    """What all checks found, how many had nothing to say, and those that could not be done, with the reason."""

    findings: tuple[Finding, ...]
    passed: tuple[str, ...]
    undone: tuple[str, ...]


CHECKS = (
    Check("MRC101", "duplicates across folds", "warning", data.duplicates),
    Check("MRC102", "rare class", "warning", data.rare_class),
    Check("MRC103", "leakage", "error", leakage.leakage),
    Check("MRC104", "mostly missing", "warning", data.mostly_missing),
    Check("MRC105", "says nothing", "note", data.says_nothing),
    Check("MRC106", "contradictions", "note", data.contradictions),
    Check("MRC107", "few rows", "warning", data.few_rows),
    Check("MRC108", "missing tells", "note", data.missing_tells),
    Check("MRC109", "too good to be true", "warning", leakage.too_good),
    Check("MRC110", "combination gives the target away", "error", leakage.combined),
    Check("MRC111", "time series", "warning", data.time_series),
    Check("MRC112", "classes absent from training", "warning", data.absent_classes),
    Check("MRC201", "separation", "warning", shape.separation),
    Check("MRC202", "collinearity", "warning", shape.collinearity),
    Check("MRC203", "over-dispersion", "warning", shape.overdispersion),
    Check("MRC204", "unequal covariances", "note", shape.unequal_covariances),
    Check("MRC205", "non-Gaussian columns", "note", shape.non_gaussian),
    Check("MRC206", "dependent columns", "note", shape.dependent),
    Check("MRC207", "unequal variance", "note", shape.unequal_variance),
    Check("MRC301", "not converged", "warning", fits.not_converged),
    Check("MRC302", "kernel not positive semidefinite", "warning", fits.indefinite_kernel),
    Check("MRC303", "bandwidth at bound", "warning", fits.bandwidth_at_bound),
    Check("MRC304", "penalty at bound", "note", fits.penalty_at_bound),
    Check("MRC305", "probabilities off", "warning", fits.probabilities_off),
    Check("MRC306", "no better than guessing", "error", fits.no_better_than_guessing),
    Check("MRC307", "approximate fit", "note", fits.approximate),
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
