"""What a check says: a finding, or why it was not made."""

from __future__ import annotations

from typing import NamedTuple

from mercer.base.diagnosis import Finding


class NotAsked(Exception):
    """Why a check was not made."""


class CheckResult(NamedTuple):
    """A sentence, a remedy, the columns that it is about, and a severity where it is not that of its check."""

    sentence: str
    remedy: str
    columns: tuple[str, ...] = ()
    severity: str = ""

    def finding(self, code: str, severity: str) -> Finding:
        """Return the finding of the check with this code and usual severity."""
        return Finding(code, self.severity or severity, self.sentence, self.remedy, self.columns)
