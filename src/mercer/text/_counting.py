"""The choice between the compiled scanner and Python for counting terms, and errors that name the document."""

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
from mercer.report.wording import format_count
from mercer.text import _compiled as compiled
from mercer.text import _interpreted as interpreted
from mercer.text._interpreted import InterpretedCounts
from mercer.text._vocabulary import Vocabulary
from mercer.text._weights import normalize_rows
from mercer.text.analysis import Analysis, WordAnalyzer, WordNgrams, shortest_word
from mercer.text.vectorizer import ACCENTS, TextVectorizer


def learn(vectorizer: Any, documents: Any) -> InterpretedCounts | compiled.ScannedVocabulary:
    """Find all terms of documents and count them in each document."""
    analysis, analyze = _find_analysis(vectorizer), vectorizer.build_analyzer()
    if isinstance(analysis, Analysis):
        with _falling_back_to_python(documents):
            learned = compiled.learn(_read_files(vectorizer, documents), analysis, vectorizer.decode)
            vectorizer.plan_ = make_plan(vectorizer, learned.by_python)
            return learned
    with _naming_documents(vectorizer, documents) as rows:
        return interpreted.learn(rows, analyze)


def count_known(vectorizer: Any, documents: Any) -> sparse.csr_array:
    """Count the terms of the vocabulary in each document."""
    short = _is_short(documents)
    if short and (split := _find_plain_analyzer(vectorizer)) is not None:
        return interpreted.count_known(documents, split, vectorizer.vocabulary_)
    if not short and (known := _known_terms(vectorizer)) is not None:
        with _falling_back_to_python(documents):
            return known.matrix(_read_files(vectorizer, documents), vectorizer.dtype, vectorizer.decode)
    with _naming_documents(vectorizer, documents) as rows:
        return interpreted.count_known(rows, vectorizer.build_analyzer(), vectorizer.vocabulary_)


def count_hashes(vectorizer: Any, documents: Any) -> sparse.csr_array:
    """Count the hashes of the terms of each document, with the weights that the parameters name."""
    n_columns, signed, dtype = vectorizer.n_features, vectorizer.alternate_sign, vectorizer.dtype
    norm, binary, short = vectorizer.norm, vectorizer.binary, _is_short(documents)
    split = _find_plain_analyzer(vectorizer) if short else None
    if split is not None:
        counts = interpreted.count_hashes(documents, split, n_columns, signed=signed, dtype=dtype)
    else:
        analysis, analyze = _find_analysis(vectorizer), vectorizer.build_analyzer()
        if isinstance(analysis, Analysis) and not short:
            with _falling_back_to_python(documents):
                return compiled.count_hashes(
                    _read_files(vectorizer, documents),
                    analysis,
                    n_columns,
                    signed=signed,
                    dtype=dtype,
                    norm=norm,
                    binary=binary,
                    decode=vectorizer.decode,
                )
        with _naming_documents(vectorizer, documents) as rows:
            counts = interpreted.count_hashes(rows, analyze, n_columns, signed=signed, dtype=dtype)
    if binary:
        counts.data.fill(1)
    return counts if norm is None else normalize_rows(counts, norm)


def make_plan(vectorizer: Any, by_python: int = 0) -> Plan:
    """Return the plan: which way terms are counted, why, and for how many documents Python found the lower case."""
    analysis, dtype = _find_analysis(vectorizer), np.dtype(vectorizer.dtype).name
    if isinstance(analysis, str):
        return Plan(f"terms by Python ({analysis})", dtype, blocks=1, threads=1)
    aside = f", lower case or accents of {format_count(by_python, 'document')} by Python" if by_python else ""
    return Plan(f"terms by a compiled scanner{aside}", dtype, blocks=1, threads=thread_count())


def _find_analysis(vectorizer: Any) -> Analysis | str:
    """Return the analysis for the compiled scanner, or the reason why only Python can do it."""
    for name in ("analyzer", "preprocessor", "tokenizer", "strip_accents"):
        if callable(getattr(vectorizer, name)):
            return f"{name} is a function"
    if (step := _overridden_step(vectorizer)) is not None:
        return f"{type(vectorizer).__name__} overrides {step}"
    if vectorizer.input == "file":
        return "a file can be read only once"
    shortest = 0
    stop_words: frozenset[Any] = frozenset()
    if vectorizer.analyzer == "word":
        if vectorizer.token_pattern is None:
            return "there is no token_pattern"
        shortest = shortest_word(vectorizer.token_pattern) or 0
        if not shortest:
            return f"token_pattern={vectorizer.token_pattern!r} does not match whole words"
        stop_words = frozenset(vectorizer.get_stop_words() or ())
        if not all(isinstance(word, str) for word in stop_words):
            return "some stop words are not strings"
    accents, grams = ACCENTS.get(vectorizer.strip_accents), vectorizer.ngram_range
    if not (1 <= grams[0] <= grams[1] <= MAX_GRAM_LENGTH):
        return f"ngram_range={grams} does not lie between 1 and {MAX_GRAM_LENGTH}"
    return Analysis(vectorizer.analyzer, vectorizer.lowercase, accents, grams, shortest, stop_words)


def _overridden_step(vectorizer: Any) -> str | None:
    """Return the name of a method between document and terms that a subclass overrides, or None."""
    kind = type(vectorizer)
    for name in ("build_analyzer", "build_preprocessor", "build_tokenizer", "decode", "get_stop_words"):
        if getattr(kind, name) is not getattr(TextVectorizer, name):
            return name
    return None


def _find_plain_analyzer(vectorizer: Any) -> Callable[[str], Any] | None:
    """Return a fast function from strings to words or runs of words; None if the parameters require more steps.

    It is cached by the parameters, so that it is never out of date.
    """
    pattern, grams = vectorizer.token_pattern, vectorizer.ngram_range
    plain = vectorizer.preprocessor is vectorizer.tokenizer is vectorizer.stop_words is vectorizer.strip_accents is None
    if vectorizer.analyzer != "word" or vectorizer.input != "content" or not plain:
        return None
    if not isinstance(pattern, str) or not isinstance(grams, tuple) or _overridden_step(vectorizer) is not None:
        return None
    return _plain_analyzer(pattern, bool(vectorizer.lowercase), grams)


@lru_cache(maxsize=32)
def _plain_analyzer(pattern: str, lowercase: bool, grams: tuple[int, int]) -> Callable[[str], Any] | None:
    shortest = shortest_word(pattern)
    if shortest is None:
        return None
    words, runs = WordAnalyzer(shortest, lowercase), WordNgrams(*grams)
    return words if grams == (1, 1) else lambda text: runs(words(text))


#: the compiled scanner's buffers grow with the length of runs; longer runs are left to Python
MAX_GRAM_LENGTH = 100

#: total number of characters up to which counting in Python takes less time than calling the scanner
MAX_SHORT_CHARACTERS = 2000

#: cache of the terms of vectorizers in the form for the scanner, with the objects that they were made from
_scanners: WeakKeyDictionary[Any, tuple[Any, Analysis, compiled.KnownTerms]] = WeakKeyDictionary()


def _known_terms(vectorizer: Any) -> compiled.KnownTerms | None:
    """Return the (cached) terms of a vectorizer for the scanner; None if only Python can count them."""
    analysis, columns = _find_analysis(vectorizer), vectorizer._learned_columns
    if isinstance(analysis, str) or not isinstance(columns, Vocabulary | None):
        return None
    source: Any = vectorizer.vocabulary_ if columns is None else columns
    if (cached := _scanners.get(vectorizer)) is not None:
        cached_source, cached_analysis, known = cached
        if cached_source is source and cached_analysis == analysis and len(known.terms) == len(source):
            return known
    if columns is not None:
        terms = columns.terms
    else:
        strings = sorted(source, key=source.__getitem__)
        if not all(isinstance(term, str) for term in strings):
            return None
        terms = Texts.packed(term.encode("utf-8", SURROGATES) for term in strings)
    vectorizer.build_analyzer()  # for its check of the stop words
    known = compiled.KnownTerms(terms, analysis)
    _scanners[vectorizer] = source, analysis, known
    return known


def _is_short(documents: Any) -> bool:
    """Return whether documents are strings so short that counting in Python is faster than calling the scanner."""
    if not isinstance(documents, list | tuple | np.ndarray) or len(documents) > 4:
        return False
    return all(isinstance(document, str) for document in documents) and sum(map(len, documents)) <= MAX_SHORT_CHARACTERS


def _read_files(vectorizer: Any, documents: Any) -> Any:
    """Return the documents, decoded lazily if they are names of files."""
    are_files = vectorizer.input == "filename" and not isinstance(documents, Path)
    return map(vectorizer.decode, documents) if are_files else documents


@contextmanager
def _falling_back_to_python(documents: Any) -> Iterator[None]:
    """Suppress errors about documents that are not text: Python processes them, or raises scikit-learn's error."""
    try:
        yield
    except (TextError, UnicodeDecodeError):
        if not isinstance(documents, Path) and iter(documents) is documents:  # an iterator cannot be read again
            raise


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


class _TrackedDocuments:
    """Iterates over documents and keeps the row and the document that was read last."""

    def __init__(self, documents: Any) -> None:
        # iterating over a column of pyarrow would give its scalars
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
def _naming_documents(vectorizer: Any, documents: Any) -> Iterator[_TrackedDocuments]:
    """Yield documents to iterate over; errors caused by a document are raised with its row."""
    rows = _TrackedDocuments(documents)
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
        reason = f"{failure.reason}. They are in document {rows.row}; leave them out, or replace them"
        raise UnicodeEncodeError(failure.encoding, failure.object, failure.start, failure.end, reason) from failure
    except (AttributeError, TypeError, ValueError) as failure:
        error = _document_error(vectorizer, rows, failure)
        if error is None:
            raise
        raise error from None


def _document_error(vectorizer: Any, rows: _TrackedDocuments, failure: Exception) -> TextError | None:
    """Return an error that names the document that caused a failure, or None if it was not a document."""
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
