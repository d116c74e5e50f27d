"""What the assumption checks found."""

from __future__ import annotations

from typing import Any

from mercer.comparison.checking.checks import CHECKS, check_assumptions
from mercer.comparison.view import View
from mercer.report import Note, Section

LEVELS = {"note": "info", "warning": "warning", "error": "bad"}
ORDER = ("error", "warning", "note")


def findings(view: View) -> Section:
    """Findings with their codes, severest first; and what was checked without one."""
    checked = check_assumptions(view)
    found = sorted(checked.findings, key=lambda finding: ORDER.index(finding.severity))
    blocks: list[Any] = [
        Note(finding.sentence, LEVELS[finding.severity], finding.code, finding.remedy)  # type: ignore[arg-type]
        for finding in found
    ]
    if checked.passed:
        blocks.append(Note(f"Nothing to report from {', '.join(checked.passed)}.", "good"))
    blocks += [Note(f"Could not be checked: {sentence}") for sentence in checked.undone]
    if note := view.note():
        blocks.append(note)
    return Section(
        "checks",
        "Assumption checks",
        tuple(blocks),
        f"{len(CHECKS)} questions asked of the data and the models. "
        "Codes do not change; the guide “Assumption checks” of the documentation says what each asks.",
    )
