"""Small damage to bytes, strings and JSON, as disks, editors and strangers do it; the same for the same seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

#: each of them makes one input, damaged in its own way
SEEDS = st.integers(0, 2**60)
#: numbers that lengths, counts and values are replaced by
SIZES = (0, 1, -1, 2, 7, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63, 10**18, 10**30)
#: what decides how a file of text is read
_TEXT = (
    *("\n", "\r", "\r\n", "\n\n", ",", ";", "\t", "|", '"', '""', ',"', '",', '"\n', " ", "#", "{", "}", ":", "[]"),
    *("NA", "?", "nan", "None", "null", "true", "0x1F", "1e400", "-0", "1,5", "٣", "+7", "1_0", "2024-02-29", "12:30"),
    *("99999999999999999999", "\u2028", "\u0085", "\x0b", "\xa0", "é", "\ufeff", "\0", "x" * 300),
)
WORDS_OF_TEXT = [*(word.encode() for word in _TEXT), b"\xff\xfe", b"\xfe\xff", b"\xff", b"\xed\xa0\x80"]


def damaged(octets: bytes, rng: Random, words: Sequence[bytes] = (b"\0", b"\xff"), most: int = 4) -> bytes:
    """Return the bytes after at most the given number of changes, sometimes without any."""
    for _ in range(rng.randrange(most + 1)):
        octets = _changed(octets, rng, words)
    return octets


def _changed(octets: bytes, rng: Random, words: Sequence[bytes]) -> bytes:
    """One change: a bit, a byte, a stretch that goes, comes twice, moves or is cut off, or a word put in."""
    start = rng.randrange(len(octets) + 1)
    stop = min(len(octets), start + rng.choice((1, 1, 2, 4, 16, len(octets))))
    stretch, end = octets[start:stop], octets[stop:]
    match rng.randrange(8):
        case 0 if stretch:
            return octets[:start] + bytes([stretch[0] ^ (1 << rng.randrange(8))]) + octets[start + 1 :]
        case 1 if stretch:
            return octets[:start] + bytes([rng.randrange(256)]) + octets[start + 1 :]
        case 2:
            return octets[:start] + end
        case 3:
            return octets[:stop] + stretch * rng.choice((1, 1, 2, 50)) + end
        case 4:
            return octets[:start] if rng.random() < 0.3 else end + octets[:start] + stretch
        case 5:
            return octets[:start] + rng.choice(words) + end
        case _:
            return octets[:start] + rng.choice(words) + octets[start:]


def in_json(value: Any, rng: Random, others: Sequence[Any] = ()) -> Any:
    """A copy of a JSON value in which one place is another: changed, swapped, left out, renamed or put deeper."""
    value = json.loads(json.dumps(value))
    places = list(_places(value))
    if not places:
        return rng.choice((None, [], {}))
    holder, key = rng.choice(places)
    match rng.randrange(7):
        case 0:
            holder[key] = rng.choice((None, True, "", "x", [], {}, 0.5, *SIZES, *others))
        case 1:
            other, from_key = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[from_key]))
        case 2:
            del holder[key]
        case 3 if isinstance(holder, dict):
            holder[rng.choice((*(k for _, k in places if isinstance(k, str)), "", "__class__", "x"))] = holder.pop(key)
        case 4 if isinstance(holder, list):
            holder.insert(key, holder[rng.randrange(len(holder))])
        case 5 if isinstance(holder[key], int | float):
            holder[key] = rng.choice((holder[key] + 1, -holder[key], holder[key] * 1000, *SIZES))
        case _:
            for _ in range(rng.choice((1, 3, 200))):
                holder[key] = rng.choice(([holder[key]], {"tuple": [holder[key]]}))
    return value


def _places(value: Any) -> Any:
    """Every place in a value: what holds it, and under which key."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        if not isinstance(holder, dict | list):
            continue
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            waiting.append(holder[key])
