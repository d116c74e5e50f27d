"""What a fit takes."""

from __future__ import annotations

from dataclasses import dataclass

#: seconds that nobody minds
BEARABLE = 10.0


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes that a fit needs, whether there is room for it, and all this in a sentence."""

    seconds: float
    bytes: float
    fits: bool
    sentence: str

    @property
    def bearable(self) -> bool:
        """Whether nobody would mind: what `approximate="auto"` is exact for."""
        return self.fits and self.seconds <= BEARABLE

    def __str__(self) -> str:
        return self.sentence
