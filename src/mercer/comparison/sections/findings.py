"""The section on the findings of the assumption checks."""

from __future__ import annotations

from typing import Any

from mercer.comparison._view import View
from mercer.comparison.checks import SEVEREST_FIRST, check_assumptions, is_applicable
from mercer.report import Note, Section
from mercer.report.wording import format_count

#: level of a note for each severity of a finding
NOTE_LEVELS = {"note": "info", "warning": "warning", "error": "bad"}


def findings(view: View) -> Section:
    """Return the findings, severest first, and the names of the checks that passed; other checks do not apply."""
    checked = check_assumptions(view)
    ordered = sorted(checked.findings, key=lambda finding: SEVEREST_FIRST.index(finding.severity))
    blocks: list[Any] = [
        Note(finding.sentence, NOTE_LEVELS[finding.severity], finding.code, finding.remedy)  # type: ignore[arg-type]
        for finding in ordered
    ]
    passed = [each for each in checked.passed if is_applicable(each.partition(" ")[0], view)]
    if passed:
        blocks.append(Note(f"Checks that found nothing: {', '.join(passed)}.", "good"))
    blocks += [Note(f"Not checked: {sentence}") for sentence in checked.undone]
    if note := view.note():
        blocks.append(note)
    n_checks = len({each.code for each in ordered}) + len(passed) + len(checked.undone)
    return Section(
        "checks",
        "Checks of the data and the models",
        tuple(blocks),
        f"{format_count(n_checks, 'check')} apply here. "
        "The guide “Assumption checks” of the documentation explains each by its code.",
    )
