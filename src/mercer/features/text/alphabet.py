"""What Python says of each character, as tables for compiled loops."""

from __future__ import annotations

from functools import cache

import numpy as np

from mercer._jit.text.characters import OF_WORD, WHITE, Alphabet

#: characters beyond these planes are private or not assigned: of no word, and without a lower case
CHARACTERS, ALL_CHARACTERS = 0x40000, 0x110000
PAGE = 256


@cache
def alphabet() -> Alphabet:
    """The characters of regular expressions: `\\w` is a letter, digit or underscore, `\\s` is white space.

    A lower case of several characters has no place in a table: `characters.describe` finds documents that need one.
    """
    characters = [chr(point) for point in range(CHARACTERS)]
    lower = np.arange(ALL_CHARACTERS, dtype=np.int32)
    lower[:CHARACTERS] = [ord(low) if len(low := c.lower()) == 1 else ord(c) for c in characters]
    kinds = np.zeros(ALL_CHARACTERS, dtype=np.uint8)
    kinds[:CHARACTERS][[c.isalnum() or c == "_" for c in characters]] = OF_WORD
    kinds[:CHARACTERS][[c.isspace() for c in characters]] = WHITE
    return _paged(lower, kinds)


@cache
def ascii_alphabet() -> Alphabet:
    """The same for documents of ASCII alone, which is there at once."""
    characters = [chr(point) for point in range(PAGE)]
    kinds = np.zeros((1, PAGE), dtype=np.uint8)
    kinds[0, [c.isspace() for c in characters]] = WHITE
    return Alphabet(np.zeros(1, dtype=np.uint16), np.zeros((1, PAGE), dtype=np.int32), kinds)


def _paged(lower: np.ndarray, kinds: np.ndarray) -> Alphabet:
    """Pages that are the same are kept once: lower cases as what is added, so that most are."""
    points = np.arange(ALL_CHARACTERS, dtype=np.int32)
    both = np.hstack([(lower - points).reshape(-1, PAGE), kinds.reshape(-1, PAGE).astype(np.int32)])
    distinct, pages = np.unique(both, axis=0, return_inverse=True)
    return Alphabet(
        pages.ravel().astype(np.uint16),
        np.ascontiguousarray(distinct[:, :PAGE]),
        np.ascontiguousarray(distinct[:, PAGE:].astype(np.uint8)),
    )
