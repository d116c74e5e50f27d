"""What a mistyped name may have been meant to be, in few words however many names there are and however long."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

#: names listed in full; beyond that only the first ones
MOST_NAMES = 20
#: characters of a name that are shown; longer ones are texts, of which none is a misspelling of another
LONGEST_NAME = 40
#: characters of a list of names
LONGEST_LIST = 400
#: similarity, from 0 to 1, of a name that may have been meant: "target" and "Age" have 0.67, "Bon" and "Bonn" 0.86
ALIKE = 0.75


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
    if close := _close(word, names):
        return f"Did you mean {' or '.join(map(quoted, close))}?"
    return f"There are {listed(names)}." if names else "There are none."


def listed(names: list[str]) -> str:
    """Names in quotes, the first ones if there are many.

    Examples
    --------
    >>> listed([f"x{j}" for j in range(1000)])[-29:]
    "'x18', 'x19', … (1000 in all)"
    """
    shown: list[str] = []
    for name in map(quoted, names[:MOST_NAMES]):
        if shown and len(", ".join([*shown, name])) > LONGEST_LIST:
            break
        shown.append(name)
    return ", ".join(shown if len(shown) == len(names) else [*shown, f"… ({len(names)} in all)"])


def quoted(value: Any) -> str:
    """How a value is written in code, cut short where it is long.

    Examples
    --------
    >>> quoted("a" * 100), quoted(1.5)
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'", '1.5')
    """
    if isinstance(value, str):
        return repr(value if len(value) <= LONGEST_NAME else f"{value[:LONGEST_NAME]}…")
    written = repr(value)
    return written if len(written) <= LONGEST_NAME else f"{written[:LONGEST_NAME]}…"


def _close(word: str, names: list[str]) -> list[str]:
    if len(word) > LONGEST_NAME:
        return []
    folded = {name.casefold(): name for name in names if len(name) <= LONGEST_NAME}
    return [folded[match] for match in difflib.get_close_matches(word.casefold(), folded, cutoff=ALIKE)]
