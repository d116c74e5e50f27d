"""The result of a check: a finding, or the reason why it was skipped."""

from __future__ import annotations

from typing import NamedTuple

from mercer.base.diagnosis import Finding


class CheckSkipped(Exception):
    """Raised by a check that cannot be made; the message is the reason."""


class CheckResult(NamedTuple):
    """A sentence, a remedy, the columns concerned, and a severity if it differs from that of the check."""

    sentence: str
    remedy: str
    columns: tuple[str, ...] = ()
    severity: str = ""

    def finding(self, code: str, severity: str) -> Finding:
        """Return the finding of the check with this code and default severity."""
        return Finding(code, self.severity or severity, self.sentence, self.remedy, self.columns)
