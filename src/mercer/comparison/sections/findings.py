"""What the assumption checks found."""

from __future__ import annotations

from typing import Any

from mercer.comparison._view import View
from mercer.comparison.checks import check_assumptions, is_applicable
from mercer.report import Note, Section
from mercer.report.wording import format_count

NOTE_LEVELS = {"note": "info", "warning": "warning", "error": "bad"}
SEVERITIES = ("error", "warning", "note")


def findings(view: View) -> Section:
    """Findings with their codes, severest first, and the checks that found nothing; others do not apply."""
    checked = check_assumptions(view)
    found = sorted(checked.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    blocks: list[Any] = [
        Note(finding.sentence, NOTE_LEVELS[finding.severity], finding.code, finding.remedy)  # type: ignore[arg-type]
        for finding in found
    ]
    passed = [each for each in checked.passed if is_applicable(each.partition(" ")[0], view)]
    if passed:
        blocks.append(Note(f"Checks that found nothing: {', '.join(passed)}.", "good"))
    blocks += [Note(f"Not checked: {sentence}") for sentence in checked.undone]
    if note := view.note():
        blocks.append(note)
    return Section(
        "checks",
        "Checks of the data and the models",
        tuple(blocks),
        f"{format_count(len({each.code for each in found}) + len(passed) + len(checked.undone), 'check')} apply here. "
        "The guide “Assumption checks” of the documentation explains each by its code.",
    )
