"""The steps from a document to its terms in Python, and their description for the compiled scanner.

`_counting` decides which of the two finds the terms; the compiled scanner cuts words in `_document_loops.find_words`.
"""

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
    NEEDS_PYTHON,
    PLAIN,
    UNCHANGED,
    UNIT_CHARACTERS,
    UNIT_WITHIN_WORDS,
    UNIT_WORDS,
    WHITE,
    WORD_CHARACTER,
    Alphabet,
    CutRule,
)

#: Code points from here on are private or not assigned: they belong to no word and have no lower case.
CODE_POINTS = 0x40000
#: the number of code points in Unicode
ALL_CODE_POINTS = 0x110000
#: code points of a page of the tables
CODE_POINTS_PER_PAGE = 256


@cache
def alphabet() -> Alphabet:
    """Return the tables of Python's lower case and of the classes of regular expressions, `\\w` and `\\s`.

    A lower case of several characters does not fit in a table: `_document_loops.describe` finds documents that need
    one.
    """
    characters = [chr(point) for point in range(CODE_POINTS)]
    lower = np.arange(ALL_CODE_POINTS, dtype=np.int32)
    lower[:CODE_POINTS] = [ord(low) if len(low := c.lower()) == 1 else ord(c) for c in characters]
    kinds = np.zeros(ALL_CODE_POINTS, dtype=np.uint8)
    kinds[:CODE_POINTS][[c.isalnum() or c == "_" for c in characters]] = WORD_CHARACTER
    kinds[:CODE_POINTS][[c.isspace() for c in characters]] = WHITE
    return _paged(lower, kinds)


@cache
def ascii_alphabet() -> Alphabet:
    """Return the table for documents of ASCII alone, which is built without delay."""
    characters = [chr(point) for point in range(CODE_POINTS_PER_PAGE)]
    kinds = np.zeros((1, CODE_POINTS_PER_PAGE), dtype=np.uint8)
    kinds[0, [c.isspace() for c in characters]] = WHITE
    return Alphabet(np.zeros(1, dtype=np.uint16), np.zeros((1, CODE_POINTS_PER_PAGE), dtype=np.int32), kinds)


def _paged(lower: np.ndarray, kinds: np.ndarray) -> Alphabet:
    """Build an alphabet that stores identical pages once; storing lower case as a difference makes most pages
    identical.
    """
    points = np.arange(ALL_CODE_POINTS, dtype=np.int32)
    both = np.hstack(
        [(lower - points).reshape(-1, CODE_POINTS_PER_PAGE), kinds.reshape(-1, CODE_POINTS_PER_PAGE).astype(np.int32)]
    )
    distinct, pages = np.unique(both, axis=0, return_inverse=True)
    return Alphabet(
        pages.ravel().astype(np.uint16),
        np.ascontiguousarray(distinct[:, :CODE_POINTS_PER_PAGE]),
        np.ascontiguousarray(distinct[:, CODE_POINTS_PER_PAGE:].astype(np.uint8)),
    )


#: token patterns whose tokens are whole words of at least as many characters as the pattern has `\w`
WHOLE_WORDS = re.compile(r"(?:\(\?u\))?(?:\\b)?((?:\\w)+)\+(?:\\b)?")


def shortest_word(pattern: str) -> int | None:
    """Return the length of the shortest word that a pattern matches if it matches whole words, else None.

    Examples
    --------
    >>> shortest_word(r"(?u)\\b\\w\\w+\\b"), shortest_word(r"\\w+"), shortest_word(r"[a-z]+")
    (2, 1, None)
    """
    match = WHOLE_WORDS.fullmatch(pattern)
    return len(match[1]) // 2 if match else None


@dataclass(frozen=True)
class Analysis:
    """The terms of a document: its words or characters, in runs of `grams[0]` to `grams[1]`."""

    unit: Literal["word", "char", "char_wb"] = "word"
    lowercase: bool = True
    #: applied in Python to documents beyond ASCII, after conversion to lower case
    accents: Callable[[str], str] | None = None
    grams: tuple[int, int] = (1, 1)
    #: the smallest number of characters in a word
    shortest: int = 2
    stop_words: frozenset[str] = frozenset()

    @property
    def cut_rule(self) -> CutRule:
        """The same description for compiled loops."""
        unit = {"word": UNIT_WORDS, "char": UNIT_CHARACTERS, "char_wb": UNIT_WITHIN_WORDS}[self.unit]
        return CutRule(unit, self.lowercase, self.shortest, *self.grams)

    def prepare(self, texts: Texts) -> PreparedDocuments:
        """Return documents for the scanner; those whose lower case needs Python are converted."""
        states = np.empty(len(texts), dtype=np.uint8)
        data, offsets = _read_only(texts)
        loops.describe(data, offsets, self.lowercase, states)
        if self.accents is not None:
            states[states != PLAIN] = NEEDS_PYTHON
        by_python = np.flatnonzero(states == NEEDS_PYTHON)
        if len(by_python):
            data, offsets = _read_only(self._with_lower_case(texts, by_python))
            states[by_python] = UNCHANGED
        tables = alphabet() if (states != PLAIN).any() else ascii_alphabet()
        return PreparedDocuments(data, offsets, states, tables, len(by_python))

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
class PreparedDocuments:
    """Documents, the state of each (see `_document_loops`), and the tables of the characters in them."""

    data: Array
    offsets: Array
    states: Array
    alphabet: Alphabet
    #: number of documents that were converted to lower case by Python
    by_python: int

    @property
    def has_lone_surrogates(self) -> bool:
        """True if a document has an unpaired UTF-16 surrogate; words never have."""
        if (self.states == PLAIN).all():
            return False
        return bool(((self.data[:-1] == 0xED) & (self.data[1:] >= 0xA0)).any())


def _read_only(texts: Texts) -> tuple[Array, Array]:
    """Return bytes and offsets as read-only arrays, always, since loops are compiled for each type of array."""
    data, offsets = texts.data.view(), np.ascontiguousarray(texts.offsets).view()
    data.flags.writeable = offsets.flags.writeable = False
    return data, offsets


_SPACES = re.compile(r"\s\s+")


@dataclass(frozen=True)
class Analyzer:
    """The function from a document to its terms, step by step; a step that is None is left out."""

    decode: Callable[[Any], Any]
    preprocess: Callable[[Any], Any] | None = None
    tokenize: Callable[[Any], Any] | None = None
    stop_words: frozenset[Any] | None = None
    ngrams: Callable[[Any], Any] | None = None

    def __call__(self, document: Any) -> Any:
        terms = self.decode(document)
        for step in (self.preprocess, self.tokenize, self._remove_stop_words, self.ngrams):
            if step is not None:
                terms = step(terms)
        return terms

    def _remove_stop_words(self, tokens: Any) -> Any:
        stop = self.stop_words
        return tokens if stop is None else [token for token in tokens if token not in stop]


class WordAnalyzer:
    """The words of a document with at least `shortest` characters, in lower case if `lowercase`.

    For ASCII, replacing all characters outside words by blanks and splitting is faster than a regular expression.
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
    """Converts a string to lower case, if `lowercase`, and then removes accents."""

    lowercase: bool
    strip_accents: Callable[[str], str] | None

    def __call__(self, text: str) -> str:
        if self.lowercase:
            text = text.lower()
        return text if self.strip_accents is None else self.strip_accents(text)


@dataclass(frozen=True)
class WordNgrams:
    """Sequences of `low` to `high` tokens, joined by a space, shorter ones first."""

    low: int
    high: int

    def __call__(self, tokens: Any) -> Any:
        if self.high == 1:
            return tokens
        words = list(tokens)
        return [term for n in _lengths(self.low, self.high, len(words)) for term in _join_words(words, n)]


@dataclass(frozen=True)
class CharNgrams:
    """Sequences of `low` to `high` characters; consecutive white space counts as one blank."""

    low: int
    high: int

    def __call__(self, text: str) -> list[str]:
        text = _SPACES.sub(" ", text)
        return [term for n in _lengths(self.low, self.high, len(text)) for term in _windows(text, n)]


@dataclass(frozen=True)
class WordCharNgrams:
    """Sequences of characters inside words, each padded with a blank on both sides; a shorter word is one term."""

    low: int
    high: int

    def __call__(self, text: str) -> list[str]:
        return [term for word in text.split() for term in self._grams_in_word(f" {word} ")]

    def _grams_in_word(self, word: str) -> Iterator[str]:
        for n in range(self.low, self.high + 1):
            if n >= len(word):
                yield word
                return
            yield from _windows(word, n)


def _lengths(low: int, high: int, longest: int) -> range:
    """Return the lengths from `low` to `high` that fit into `longest`."""
    return range(low, min(high, longest) + 1)


def _join_words(words: list[Any], n: int) -> Iterable[Any]:
    return words if n == 1 else (" ".join(words[start : start + n]) for start in range(len(words) - n + 1))


def _windows(text: str, n: int) -> Iterable[str]:
    return (text[start : start + n] for start in range(len(text) - n + 1))


def strip_accents_unicode(text: str) -> str:
    """Return a text without combining marks, after compatibility decomposition (NFKD).

    Examples
    --------
    >>> strip_accents_unicode("naïve Größe")
    'naive Große'
    """
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def strip_accents_ascii(text: str) -> str:
    """Return the ASCII characters of the compatibility decomposition (NFKD) of a text.

    Examples
    --------
    >>> strip_accents_ascii("naïve Größe")
    'naive Groe'
    """
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
