"""From a document to its terms in Python: lower case, accents, tokens, stop words, runs of words or characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

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


class Words:
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
