"""Findings of a fit about its data, with a remedy for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mercer._stored import stored

#: the name of the intercept among the terms of a model
INTERCEPT = "(intercept)"


@stored()
@dataclass(frozen=True)
class Finding:
    """One property of the data that matters, and what to do about it.

    Examples
    --------
    >>> print(Finding("collinear", "warning", "'b' is twice 'a'.", "Leave one of them out.", ("a", "b")))
    warning (collinear): 'b' is twice 'a'. Leave one of them out.
    """

    code: str  # stable, for programs
    severity: str  # "note", "warning" or "error"
    sentence: str
    remedy: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.severity} ({self.code}): {self.sentence} {self.remedy}"


@stored()
@dataclass(frozen=True)
class Diagnosis:
    """All findings of a fit; empty, and false, if there are none.

    Examples
    --------
    >>> print(Diagnosis())
    nothing to report
    """

    findings: tuple[Finding, ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(finding.code for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "nothing to report"
