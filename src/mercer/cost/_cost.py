"""The result of `estimate_cost`."""

from __future__ import annotations

from dataclasses import dataclass

#: maximum time in seconds of an exact fit with `approximate="auto"`
MAX_EXACT_SECONDS = 10.0


@dataclass(frozen=True)
class Cost:
    """Estimate of the time and the memory of a fit.

    Attributes
    ----------
    seconds : float
        Time.
    bytes : float
        Memory.
    fits : bool
        Whether that memory is free.
    sentence : str
        The estimate in words.
    """

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
