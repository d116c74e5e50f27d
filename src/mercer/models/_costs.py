"""What a fit takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes that a fit needs, whether there is room for it, and all this in a sentence."""

    seconds: float
    bytes: float
    fits: bool
    sentence: str

    def __str__(self) -> str:
        return self.sentence
