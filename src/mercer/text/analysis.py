"""From a document to its terms in Python: lower case, accents, tokens, stop words, runs of words or characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from mercer._typing import Array
from mercer.data.texts import SURROGATES, Texts
from mercer.text import _document_loops as loops
from mercer.text._document_loops import (
    AS_IT_IS,
    CHARACTERS,
    OF_WORD,
    PLAIN,
    PYTHONS,
    WHITE,
    WITHIN_WORDS,
    WORDS,
    Alphabet,
    CutRule,
)

# What Python says of each character, as tables for compiled loops.

#: characters beyond these planes are private or not assigned: of no word, and without a lower case
CODE_POINTS, ALL_CODE_POINTS = 0x40000, 0x110000
PAGE = 256


@cache
def alphabet() -> Alphabet:
    """The characters of regular expressions: `\\w` is a letter, digit or underscore, `\\s` is white space.

    A lower case of several characters has no place in a table: `characters.describe` finds documents that need one.
    """
    characters = [chr(point) for point in range(CODE_POINTS)]
    lower = np.arange(ALL_CODE_POINTS, dtype=np.int32)
    lower[:CODE_POINTS] = [ord(low) if len(low := c.lower()) == 1 else ord(c) for c in characters]
    kinds = np.zeros(ALL_CODE_POINTS, dtype=np.uint8)
    kinds[:CODE_POINTS][[c.isalnum() or c == "_" for c in characters]] = OF_WORD
    kinds[:CODE_POINTS][[c.isspace() for c in characters]] = WHITE
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
    points = np.arange(ALL_CODE_POINTS, dtype=np.int32)
    both = np.hstack([(lower - points).reshape(-1, PAGE), kinds.reshape(-1, PAGE).astype(np.int32)])
    distinct, pages = np.unique(both, axis=0, return_inverse=True)
    return Alphabet(
        pages.ravel().astype(np.uint16),
        np.ascontiguousarray(distinct[:, :PAGE]),
        np.ascontiguousarray(distinct[:, PAGE:].astype(np.uint8)),
    )


# How documents become terms, as far as compiled loops know how.

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
    def how(self) -> CutRule:
        """The same for compiled loops."""
        unit = {"word": WORDS, "char": CHARACTERS, "char_wb": WITHIN_WORDS}[self.unit]
        return CutRule(unit, self.lowercase, self.shortest, *self.grams)

    def read(self, texts: Texts) -> PreparedAnalysis:
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
        return PreparedAnalysis(data, offsets, states, known, len(by_python))

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
class PreparedAnalysis:
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


_SPACES = re.compile(r"\s\s+")


@dataclass(frozen=True)
class Analyzer:
    """A document to its terms, step by step; a step that is None is left out."""

    decode: Callable[[Any], Any]
    preprocess: Callable[[Any], Any] | None = None
    tokenize: Callable[[Any], Any] | None = None
    stop_words: frozenset[Any] | None = None
    ngrams: Callable[[Any], Any] | None = None

    def __call__(self, document: Any) -> Any:
        found = self.decode(document)
        for step in (self.preprocess, self.tokenize, self._without_stop_words, self.ngrams):
            if step is not None:
                found = step(found)
        return found

    def _without_stop_words(self, tokens: Any) -> Any:
        stop = self.stop_words
        return tokens if stop is None else [token for token in tokens if token not in stop]


class WordAnalyzer:
    """Whole words of at least so many characters, of a document in lower case if that is wanted.

    Those of ASCII are had by turning all that is of no word into blanks, sooner than by a pattern.
    """

    def __init__(self, shortest: int, lowercase: bool) -> None:
        self._shortest, self._lowercase = shortest, lowercase
        self._find = re.compile(r"\w" * shortest + "+").findall
        characters = [chr(point) if chr(point).isalnum() or chr(point) == "_" else " " for point in range(128)]
        self._table = "".join(characters).lower() if lowercase else "".join(characters)

    def __call__(self, text: str) -> list[str]:
        if not text.isascii():
            return self._find(text.lower() if self._lowercase else text)
        words, shortest = text.translate(self._table).split(), self._shortest
        return words if shortest == 1 else [word for word in words if len(word) >= shortest]


@dataclass(frozen=True)
class Preprocess:
    """A string in lower case, if that is wanted, and then without accents."""

    lowercase: bool
    strip_accents: Callable[[str], str] | None

    def __call__(self, text: str) -> str:
        if self.lowercase:
            text = text.lower()
        return text if self.strip_accents is None else self.strip_accents(text)


@dataclass(frozen=True)
class WordNgrams:
    """Sequences of `low` to `high` tokens, joined by a space; the shorter ones come first."""

    low: int
    high: int

    def __call__(self, tokens: Any) -> Any:
        if self.high == 1:
            return tokens
        words = list(tokens)
        return [term for n in _lengths(self.low, self.high, len(words)) for term in _joined(words, n)]


@dataclass(frozen=True)
class CharNgrams:
    """Sequences of `low` to `high` characters; runs of white space count as one blank."""

    low: int
    high: int

    def __call__(self, text: str) -> list[str]:
        text = _SPACES.sub(" ", text)
        return [term for n in _lengths(self.low, self.high, len(text)) for term in _windows(text, n)]


@dataclass(frozen=True)
class WordCharNgrams:
    """Sequences of characters inside words, each of which has a blank on both sides; a shorter word is one term."""

    low: int
    high: int

    def __call__(self, text: str) -> list[str]:
        return [term for word in text.split() for term in self._of_word(f" {word} ")]

    def _of_word(self, word: str) -> Iterator[str]:
        for n in range(self.low, self.high + 1):
            if n >= len(word):
                yield word
                return
            yield from _windows(word, n)


def _lengths(low: int, high: int, longest: int) -> range:
    """Lengths that fit; sequences of one are had even of nothing, where there are none."""
    return range(low, min(high, longest) + 1)


def _joined(words: list[Any], n: int) -> Iterable[Any]:
    return words if n == 1 else (" ".join(words[start : start + n]) for start in range(len(words) - n + 1))


def _windows(text: str, n: int) -> Iterable[str]:
    return (text[start : start + n] for start in range(len(text) - n + 1))


def strip_accents_unicode(text: str) -> str:
    """Without combining marks, after compatibility decomposition (NFKD).

    Examples
    --------
    >>> strip_accents_unicode("naïve Größe")
    'naive Große'
    """
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def strip_accents_ascii(text: str) -> str:
    """What of the compatibility decomposition (NFKD) is ASCII.

    Examples
    --------
    >>> strip_accents_ascii("naïve Größe")
    'naive Groe'
    """
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
