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
    """A property of the data that matters, and what to do about it.

    Attributes
    ----------
    code : str
        A stable name, for programs.
    severity : {"note", "warning", "error"}
        How much it matters.
    sentence, remedy : str
        What was found, and what to do.
    columns : tuple of str
        Names of the columns concerned.

    Examples
    --------
    >>> print(Finding("collinear", "warning", "'b' is twice 'a'.", "Leave one of them out.", ("a", "b")))
    warning (collinear): 'b' is twice 'a'. Leave one of them out.
    """

    code: str
    severity: str
    sentence: str
    remedy: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.severity} ({self.code}): {self.sentence} {self.remedy}"


@stored()
@dataclass(frozen=True)
class Diagnosis:
    """All findings of a fit, as a collection; empty, and false, if there are none.

    Attributes
    ----------
    findings : tuple of Finding
        The findings.

    Examples
    --------
    >>> print(Diagnosis())
    nothing to report
    """

    findings: tuple[Finding, ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings, such as "collinear"."""
        return tuple(finding.code for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "nothing to report"
