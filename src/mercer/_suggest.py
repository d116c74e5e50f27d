"""Suggestions for misspelled names, short even if there are many names or long ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

#: number of names in a list; of more, only the first ones are listed
MAX_NAMES = 20
#: characters of a name; longer ones are texts, for which there are no suggestions
MAX_QUOTED_LENGTH = 40
#: characters of a list of names
MAX_LIST_LENGTH = 400
#: least similarity of a suggestion, from 0 to 1: "target" and "Age" have 0.67, "Bon" and "Bonn" 0.86
MIN_SIMILARITY = 0.75


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a sentence with the known names closest to `word`, or with all of them if none is close.

    Examples
    --------
    >>> did_you_mean("age", ["Age", "Sex"])
    "Did you mean 'Age'?"
    >>> did_you_mean("income", ["Age", "Sex"])
    "There are 'Age', 'Sex'."
    """
    names = list(known)
    if close := _close(word, names):
        return f"Did you mean {' or '.join(map(quoted, close))}?"
    return f"There are {listed(names)}." if names else "There are none."


def listed(names: list[str]) -> str:
    """Return names in quotes, only the first ones if there are many.

    Examples
    --------
    >>> listed([f"x{j}" for j in range(1000)])[-29:]
    "'x18', 'x19', … (1000 in all)"
    """
    shown: list[str] = []
    for name in map(quoted, names[:MAX_NAMES]):
        if shown and len(", ".join([*shown, name])) > MAX_LIST_LENGTH:
            break
        shown.append(name)
    return ", ".join(shown if len(shown) == len(names) else [*shown, f"… ({len(names)} in all)"])


def quoted(value: Any) -> str:
    """Return the representation of a value, truncated if it is long.

    Examples
    --------
    >>> quoted("a" * 100), quoted(1.5)
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'", '1.5')
    """
    if isinstance(value, str):
        return repr(value if len(value) <= MAX_QUOTED_LENGTH else f"{value[:MAX_QUOTED_LENGTH]}…")
    written = repr(value)
    return written if len(written) <= MAX_QUOTED_LENGTH else f"{written[:MAX_QUOTED_LENGTH]}…"


def _close(word: str, names: list[str]) -> list[str]:
    if len(word) > MAX_QUOTED_LENGTH:
        return []
    folded = {name.casefold(): name for name in names if len(name) <= MAX_QUOTED_LENGTH}
    return [folded[match] for match in difflib.get_close_matches(word.casefold(), folded, cutoff=MIN_SIMILARITY)]
