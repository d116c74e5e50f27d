"""How documents become terms, as far as compiled loops know how."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mercer._jit.text import characters as loops
from mercer._jit.text.characters import AS_IT_IS, PLAIN, PYTHONS, Alphabet
from mercer._jit.text.cutting import CHARACTERS, WITHIN_WORDS, WORDS, How
from mercer._typing import Array
from mercer.data.texts import SURROGATES, Texts
from mercer.features.text.alphabet import alphabet, ascii_alphabet

#: patterns whose tokens are whole words of at least so many characters as there are \w
WHOLE_WORDS = re.compile(r"(?:\(\?u\))?(?:\\b)?((?:\\w)+)\+(?:\\b)?")


def shortest_word(pattern: str) -> int | None:
    """Characters of the shortest word that a pattern finds, if it finds whole words; otherwise None.

    Examples
    --------
    >>> shortest_word(r"(?u)\\b\\w\\w+\\b"), shortest_word(r"\\w+"), shortest_word(r"[a-z]+")
    (2, 1, None)
    """
    found = WHOLE_WORDS.fullmatch(pattern)
    return len(found[1]) // 2 if found else None


@dataclass(frozen=True)
class Analysis:
    """Which terms a document has: its words, or its characters, in runs of from `grams[0]` to `grams[1]`."""

    unit: Literal["word", "char", "char_wb"] = "word"
    lowercase: bool = True
    #: what becomes of characters beyond ASCII, in Python, after their lower case
    accents: Callable[[str], str] | None = None
    grams: tuple[int, int] = (1, 1)
    #: characters that a word has at least
    shortest: int = 2
    stop_words: frozenset[str] = frozenset()

    @property
    def how(self) -> How:
        """The same for compiled loops."""
        unit = {"word": WORDS, "char": CHARACTERS, "char_wb": WITHIN_WORDS}[self.unit]
        return How(unit, self.lowercase, self.shortest, *self.grams)

    def read(self, texts: Texts) -> Prepared:
        """Documents as the scanner takes them: those whose lower case needs Python have it already."""
        states = np.empty(len(texts), dtype=np.uint8)
        data, offsets = _read_only(texts)
        loops.describe(data, offsets, self.lowercase, states)
        if self.accents is not None:
            states[states != PLAIN] = PYTHONS
        by_python = np.flatnonzero(states == PYTHONS)
        if len(by_python):
            data, offsets = _read_only(self._with_lower_case(texts, by_python))
            states[by_python] = AS_IT_IS
        known = alphabet() if (states != PLAIN).any() else ascii_alphabet()
        return Prepared(data, offsets, states, known, len(by_python))

    def _with_lower_case(self, texts: Texts, positions: Array) -> Texts:
        pieces = [
            texts.data[start:stop].tobytes() for start, stop in zip(texts.offsets, texts.offsets[1:], strict=False)
        ]
        for position in positions:
            document = texts[position].lower() if self.lowercase else texts[position]
            document = document if self.accents is None else self.accents(document)
            pieces[position] = document.encode("utf-8", SURROGATES)
        return Texts.packed(pieces)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Documents, what is known of each, and of the characters in them."""

    data: Array
    offsets: Array
    states: Array
    alphabet: Alphabet
    #: documents whose lower case was found by Python
    by_python: int

    @property
    def has_lone_surrogates(self) -> bool:
        """Whether a document has half of a character that UTF-16 writes in two; no word has."""
        if (self.states == PLAIN).all():
            return False
        return bool(((self.data[:-1] == 0xED) & (self.data[1:] >= 0xA0)).any())


def _read_only(texts: Texts) -> tuple[Array, Array]:
    """Bytes and offsets of one type of array, whoever they come from: loops are compiled for each type."""
    data, offsets = texts.data.view(), np.ascontiguousarray(texts.offsets).view()
    data.flags.writeable = offsets.flags.writeable = False
    return data, offsets
