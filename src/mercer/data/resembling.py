"""A remark on strings most of which are numbers."""

from __future__ import annotations

import re

import numpy as np

from mercer._suggest import listed, quoted
from mercer.data.seen_values import SeenValues

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
#: words that are shown of those among numbers
SHOWN = 3


def resembles(seen: SeenValues) -> str | None:
    """Return a remark on a column of strings of which half or more are numbers; None on others."""
    if seen.labels is None or seen.halvings or not seen.present:
        return None
    words = seen.labels.labels.tolist()
    numbers = np.array([NUMBER.fullmatch(word) is not None for word in words])
    n_numbers = int(seen.labels.counts[numbers].sum())
    if not seen.present <= 2 * n_numbers < 2 * seen.present:
        return None
    others = [word for word, number in zip(words, numbers, strict=True) if not number]
    start = f"{n_numbers} of {seen.present} values are numbers"
    if len(others) > 1:
        return f"{start}; {listed(others[:SHOWN])}{', …' if len(others) > SHOWN else ''} are not"
    if n_numbers + 1 == seen.present:
        return f"{start}; {quoted(others[0])} is not"
    return f"{start}, the others are {quoted(others[0])}: no value? Say so"
