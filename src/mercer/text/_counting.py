"""Which way terms are counted: the one place that chooses, and that says which document it was that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from mercer._errors import DecodingError, TextError
from mercer._threads import thread_count
from mercer.base.validation import Plan
from mercer.data.texts import SURROGATES, Texts
from mercer.report.wording import counted
from mercer.text import _compiled as compiled
from mercer.text import _interpreted as interpreted
from mercer.text._interpreted import InterpretedVocabulary
from mercer.text._vocabulary import Vocabulary
from mercer.text._weights import normalised
from mercer.text.analysis import Analysis, WordAnalyzer, WordNgrams, shortest_word
from mercer.text.vectorizer import ACCENTS, TextVectorizer


def learn(vectorizer: Any, documents: Any) -> InterpretedVocabulary | compiled.ScannedVocabulary:
    """All terms of documents, and how often each document has each."""
    how, analyze = _analysis(vectorizer), vectorizer.build_analyzer()
    if isinstance(how, Analysis):
        with _again_in_python(documents):
            found = compiled.learn(_texts(vectorizer, documents), how, vectorizer.decode)
            vectorizer.plan_ = plan(vectorizer, found.by_python)
            return found
    with _named(vectorizer, documents) as rows:
        return interpreted.learn(rows, analyze)


def count_known(vectorizer: Any, documents: Any) -> sparse.csr_array:
    """How often each document has each term of the vocabulary."""
    short = _is_short(documents)
    if short and (words := _plain_words(vectorizer)) is not None:
        return interpreted.count_known(documents, words, vectorizer.vocabulary_)
    if not short and (known := _known(vectorizer)) is not None:
        with _again_in_python(documents):
            return known.matrix(_texts(vectorizer, documents), vectorizer.dtype, vectorizer.decode)
    with _named(vectorizer, documents) as rows:
        return interpreted.count_known(rows, vectorizer.build_analyzer(), vectorizer.vocabulary_)


def hashed(vectorizer: Any, documents: Any) -> sparse.csr_array:
    """How often each document has terms of each hash, weighed as is asked for."""
    n_columns, signed, dtype = vectorizer.n_features, vectorizer.alternate_sign, vectorizer.dtype
    norm, binary, short = vectorizer.norm, vectorizer.binary, _is_short(documents)
    if short and (words := _plain_words(vectorizer)) is not None:
        counts = interpreted.hashed(documents, words, n_columns, signed=signed, dtype=dtype)
        return _weighed(counts, norm, binary)
    how, analyze = _analysis(vectorizer), vectorizer.build_analyzer()
    if isinstance(how, Analysis) and not short:
        with _again_in_python(documents):
            texts, weights = _texts(vectorizer, documents), {"norm": norm, "binary": binary}
            return compiled.hashed(
                texts, how, n_columns, signed=signed, dtype=dtype, decode=vectorizer.decode, **weights
            )
    with _named(vectorizer, documents) as rows:
        counts = interpreted.hashed(rows, analyze, n_columns, signed=signed, dtype=dtype)
    return _weighed(counts, norm, binary)


def _weighed(counts: sparse.csr_array, norm: str | None, binary: bool) -> sparse.csr_array:
    if binary:
        counts.data.fill(1)
    return counts if norm is None else normalised(counts, norm)


def plan(vectorizer: Any, by_python: int = 0) -> Plan:
    """Which way it is, and why; and of how many documents Python had to find the lower case."""
    how, dtype = _analysis(vectorizer), np.dtype(vectorizer.dtype).name
    if isinstance(how, str):
        return Plan(f"terms by Python ({how})", dtype, blocks=1, threads=1)
    aside = f", lower case or accents of {counted(by_python, 'document')} by Python" if by_python else ""
    return Plan(f"terms by a compiled scanner{aside}", dtype, blocks=1, threads=thread_count())


def _analysis(vectorizer: Any) -> Analysis | str:
    """What the compiled scanner is to do, or why only Python can do it."""
    for name in ("analyzer", "preprocessor", "tokenizer", "strip_accents"):
        if callable(getattr(vectorizer, name)):
            return f"{name} is a function"
    if (own := _own_step(vectorizer)) is not None:
        return f"{type(vectorizer).__name__} has a {own} of its own"
    if vectorizer.input == "file":
        return "a file can be read once"
    shortest = 0
    stop_words: frozenset[Any] = frozenset()
    if vectorizer.analyzer == "word":
        if vectorizer.token_pattern is None:
            return "there is no token_pattern"
        shortest = shortest_word(vectorizer.token_pattern) or 0
        if not shortest:
            return f"token_pattern={vectorizer.token_pattern!r} is not one of whole words"
        stop_words = frozenset(vectorizer.get_stop_words() or ())
        if not all(isinstance(word, str) for word in stop_words):
            return "some stop words are not strings"
    accents, grams = ACCENTS.get(vectorizer.strip_accents), vectorizer.ngram_range
    if not (1 <= grams[0] <= grams[1] <= MOST_GRAMS):
        return f"ngram_range={grams} does not lie between 1 and {MOST_GRAMS}"
    return Analysis(vectorizer.analyzer, vectorizer.lowercase, accents, grams, shortest, stop_words)


def _own_step(vectorizer: Any) -> str | None:
    """Which step from a document to its terms a subclass takes in a way of its own."""
    kind = type(vectorizer)
    for name in ("build_analyzer", "build_preprocessor", "build_tokenizer", "decode", "get_stop_words"):
        if getattr(kind, name) is not getattr(TextVectorizer, name):
            return name
    return None


def _plain_words(vectorizer: Any) -> Callable[[str], Any] | None:
    """From strings to whole words or runs of them, where that is all that is asked for; None where there is more.

    Made once for the parameters, whoever has them, so that it is never out of date.
    """
    pattern, grams = vectorizer.token_pattern, vectorizer.ngram_range
    plain = vectorizer.preprocessor is vectorizer.tokenizer is vectorizer.stop_words is vectorizer.strip_accents is None
    if vectorizer.analyzer != "word" or vectorizer.input != "content" or not plain:
        return None
    if not isinstance(pattern, str) or not isinstance(grams, tuple) or _own_step(vectorizer) is not None:
        return None
    return _words(pattern, bool(vectorizer.lowercase), grams)


@lru_cache(maxsize=32)
def _words(pattern: str, lowercase: bool, grams: tuple[int, int]) -> Callable[[str], Any] | None:
    shortest = shortest_word(pattern)
    if shortest is None:
        return None
    words, runs = WordAnalyzer(shortest, lowercase), WordNgrams(*grams)
    return words if grams == (1, 1) else lambda text: runs(words(text))


#: runs of more words or characters than anybody counts would take too much room
MOST_GRAMS = 100

#: characters that Python has counted the words of before the scanner is called
SHORT = 2000

#: terms of vectorizers as the scanner needs them, and what they were made of
_scanners: WeakKeyDictionary[Any, tuple[Any, Analysis, compiled.KnownTerms]] = WeakKeyDictionary()


def _known(vectorizer: Any) -> compiled.KnownTerms | None:
    """The terms of a vectorizer as the scanner needs them, made once; None if only Python can count them."""
    how, columns = _analysis(vectorizer), vectorizer._columns
    if isinstance(how, str) or not isinstance(columns, Vocabulary | None):
        return None
    source: Any = vectorizer.vocabulary_ if columns is None else columns
    if (made := _scanners.get(vectorizer)) is not None:
        made_of, made_for, known = made
        if made_of is source and made_for == how and len(known.terms) == len(source):
            return known
    terms = columns.terms if columns is not None else _in_order(source)
    if terms is None:
        return None
    vectorizer.build_analyzer()  # which looks whether the stop words make sense
    known = compiled.KnownTerms(terms, how)
    _scanners[vectorizer] = source, how, known
    return known


def _is_short(documents: Any) -> bool:
    """Whether Python has counted a few words before the scanner is called."""
    if not isinstance(documents, list | tuple) or len(documents) > 4:
        return False
    return all(isinstance(document, str) for document in documents) and sum(map(len, documents)) <= SHORT


def _in_order(numbers: dict[Any, int]) -> Texts | None:
    """Terms in the order of their columns, if they are strings."""
    terms = sorted(numbers, key=numbers.__getitem__)
    if not all(isinstance(term, str) for term in terms):
        return None
    return Texts.packed(term.encode("utf-8", SURROGATES) for term in terms)


def _texts(vectorizer: Any, documents: Any) -> Any:
    """Documents to read, where they are the names of files."""
    named = vectorizer.input == "filename" and not isinstance(documents, Path)
    return map(vectorizer.decode, documents) if named else documents


@contextmanager
def _again_in_python(documents: Any) -> Iterator[None]:
    """Leave what is no text to Python, which says in scikit-learn's words what is wrong with it, or knows better."""
    try:
        yield
    except (TextError, UnicodeDecodeError):
        if not isinstance(documents, Path) and iter(documents) is documents:  # what is gone cannot be read again
            raise


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


class _CountedRows:
    """Documents one by one, with the one that is being looked at."""

    def __init__(self, documents: Any) -> None:
        # columns of pyarrow give scalars of their own when asked one by one
        self._documents = documents.to_pylist() if hasattr(documents, "to_pylist") else documents
        if isinstance(documents, Path):
            self._documents = _lines(documents)
        self.row = -1
        self.document: Any = None

    def __iter__(self) -> Iterator[Any]:
        for row, document in enumerate(self._documents):
            self.row, self.document = row, document
            yield document


@contextmanager
def _named(vectorizer: Any, documents: Any) -> Iterator[_CountedRows]:
    """Documents to iterate over; what fails because of one of them names it."""
    rows = _CountedRows(documents)
    try:
        yield rows
    except UnicodeDecodeError as failure:
        raise DecodingError(
            failure.encoding,
            failure.object,
            failure.start,
            failure.end,
            f"{failure.reason}. It is in document {rows.row}; name its encoding, encoding=…, or give "
            'decode_error="replace"',
        ) from failure
    except UnicodeEncodeError as failure:
        whose = f"{failure.reason}. They are in document {rows.row}; leave them out, or replace them"
        raise UnicodeEncodeError(failure.encoding, failure.object, failure.start, failure.end, whose) from failure
    except (AttributeError, TypeError, ValueError) as failure:
        better = _explained(vectorizer, rows, failure)
        if better is None:
            raise
        raise better from None


def _explained(vectorizer: Any, rows: _CountedRows, failure: Exception) -> TextError | None:
    """An error that names the document, if it is to blame."""
    document = rows.document
    if isinstance(document, str | bytes) or rows.row < 0:
        return None
    if not (isinstance(failure, TextError) or vectorizer._analyzes_strings()):
        return None
    sentence = str(failure).split(". ")[0].rstrip(".")
    missing = document is None or document != document
    remedy = 'leave missing documents out, or give them as ""' if missing is True else "convert documents with str()"
    return TextError(
        f"{sentence}. Document {rows.row} is {document!r} of type {type(document).__name__}, not a string; {remedy}."
    )
