"""What strings look like that were meant to be numbers or dates, and what to do about it, in a few words."""

from __future__ import annotations

import re

import numpy as np

from mercer._suggest import listed, quoted
from mercer.data.seen_values import Seen

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d*(\.\d{3})*,\d+")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
DATE = re.compile(r"(\d{1,2}[/.]\d{1,2}[/.](\d\d){1,2}|\d{4}[/.]\d{1,2}[/.]\d{1,2})([ T].*)?")
ALL_OF = (
    (DATE, "looks like dates; write 2024-02-01"),
    (THOUSANDS, "looks like numbers with commas between thousands; write 1234.5"),
    (DECIMAL_COMMA, "looks like numbers with a decimal comma; write points"),
)
#: words that are shown of those among numbers
SHOWN = 3


def resembles(seen: Seen) -> str | None:
    """What a column of strings looks like; None where it is what it is."""
    if seen.labels is None or seen.halvings or not seen.present:
        return None
    words = seen.labels.labels.tolist()
    for pattern, remark in ALL_OF:
        if all(map(pattern.fullmatch, words)):
            return remark
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
