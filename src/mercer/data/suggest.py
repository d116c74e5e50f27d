"""What a mistyped name may have been meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: names listed in full; beyond that only the first ones
MOST_NAMES = 20


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence with the known names closest to `word`, or with all of them if none is close.

    Examples
    --------
    >>> did_you_mean("age", ["Age", "Sex"])
    "Did you mean 'Age'?"
    >>> did_you_mean("income", ["Age", "Sex"])
    "There are 'Age', 'Sex'."
    """
    names = list(known)
    folded = {name.casefold(): name for name in names}
    close = [folded[match] for match in difflib.get_close_matches(word.casefold(), folded)]
    if close:
        return f"Did you mean {_or(close)}?"
    return f"There are {listed(names)}." if names else "There are none."


def listed(names: list[str]) -> str:
    """Names in quotes, the first ones if there are many."""
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, … ({len(names)} in all)"


def _or(names: list[str]) -> str:
    return " or ".join(repr(name) for name in names)
