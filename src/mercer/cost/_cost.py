"""What a fit takes."""

from __future__ import annotations

from dataclasses import dataclass

#: seconds that a fit may take without being asked about
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
        """Whether it fits and takes no longer than anybody would wait: `approximate="auto"` is exact then."""
        return self.fits and self.seconds <= BEARABLE

    def __str__(self) -> str:
        return self.sentence
