"""The result of `estimate_cost`."""

from __future__ import annotations

from dataclasses import dataclass

#: maximum time in seconds of an exact fit with `approximate="auto"`
MAX_EXACT_SECONDS = 10.0


@dataclass(frozen=True)
class Cost:
    """Time and memory of a fit, whether the memory suffices, and a sentence with all of it."""

    seconds: float
    bytes: float
    fits: bool
    sentence: str

    @property
    def bearable(self) -> bool:
        """True if the fit has enough memory and takes little time, so that `approximate="auto"` is exact."""
        return self.fits and self.seconds <= MAX_EXACT_SECONDS

    def __str__(self) -> str:
        return self.sentence
