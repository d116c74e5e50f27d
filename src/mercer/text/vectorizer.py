"""Base class of the vectorizers: parameters, steps from a document to its terms, and choice of the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.utils._param_validation import StrOptions

from mercer._errors import DataError, TextError, VocabularyError
from mercer._stored import stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.data.table import Table
from mercer.report.wording import format_count
from mercer.text._interpreted import AnyVocabulary
from mercer.text.analysis import (
    Analyzer,
    CharNgrams,
    Preprocess,
    WordCharNgrams,
    WordNgrams,
    strip_accents_ascii,
    strip_accents_unicode,
)


def chunk_documents(X: Any) -> Any:
    """Return the texts of a chunk: a column of text, or the only column of a table; missing values are ""."""
    shape = getattr(X, "shape", (len(X),))
    if len(shape) == 1:
        return X
    table = Table.of(X, dates=True)
    if table.n_columns != 1:
        raise DataError(
            f"A vectorizer reads one column of text, but the source has {table.n_columns}. Open it with features=['the "
            "column'], or use TableFeatures, which detects columns of text."
        )
    if (strings := table.strings(0)) is not None:
        return strings.fill_null("")
    coded = table.coded(0)
    return np.append(coded.labels.astype(object), "")[coded.codes]  # the code −1 (missing) selects the last label, ""


def map_to_columns(vocabulary: Any) -> dict[Any, int]:
    """Return a given vocabulary as a dict from each term to its column."""
    if not isinstance(vocabulary, Mapping):
        terms = sorted(vocabulary) if isinstance(vocabulary, set) else list(vocabulary)
        columns = {term: column for column, term in enumerate(terms)}
        if len(columns) < len(terms):
            twice = next(term for column, term in enumerate(terms) if columns[term] != column)
            raise VocabularyError(f"Duplicate term in vocabulary: {twice!r}. Name each term once.")
    else:
        columns = dict(vocabulary)
        indices, n = set(columns.values()), len(columns)
        if len(indices) != n:
            raise VocabularyError("Vocabulary contains repeated indices. Give each term a column of its own.")
        for index in range(n):
            if index not in indices:
                raise VocabularyError(
                    f"Vocabulary of size {n:d} doesn't contain index {index:d}. Number the columns from 0 to {n - 1}."
                )
    if not columns:
        raise VocabularyError("empty vocabulary passed to fit. Give at least one term, or None to learn them.")
    return columns


def _document_limits(n_documents: int, max_df: Any, min_df: Any) -> tuple[Any, Any]:
    """Return the largest and the smallest number of documents that may contain a term; floats are shares."""
    most = max_df if isinstance(max_df, Integral) else max_df * n_documents
    fewest = min_df if isinstance(min_df, Integral) else min_df * n_documents
    return most, fewest


def check_vocabulary(vocabulary: AnyVocabulary, max_df: Any, min_df: Any) -> None:
    """Raise an error if the documents have no terms, or if no document frequency satisfies both limits."""
    if not len(vocabulary):
        raise VocabularyError(
            "empty vocabulary; perhaps the documents only contain stop words, or words of one letter, which "
            "token_pattern does not match."
        )
    n_documents = vocabulary.n_documents
    most, fewest = _document_limits(n_documents, max_df, min_df)
    if most < fewest:
        raise DataError(
            f"max_df corresponds to < documents than min_df. There are {n_documents} documents: a term would have to "
            f"be in {fewest:g} or more and in {most:g} or fewer of them."
        )


def select_terms(vocabulary: AnyVocabulary, max_df: Any, min_df: Any, max_features: int | None, counts: Array) -> Array:
    """Return a mask of the terms within the document limits, and of these the `max_features` with the largest `counts`.

    Ties are broken by NumPy's `argsort` as in scikit-learn, where the order also depends on the type of `counts`.
    """
    most, fewest = _document_limits(vocabulary.n_documents, max_df, min_df)
    df = vocabulary.document_counts
    mask = np.asarray((df <= most) & (df >= fewest))
    if max_features is not None and mask.sum() > max_features:
        first = (-counts[mask]).argsort()[:max_features]
        left = np.flatnonzero(mask)[first]
        mask = np.zeros_like(mask)
        mask[left] = True
    return mask


#: default pattern of a word
TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # noqa: S105 – splits words
#: functions that remove accents
ACCENTS: dict[str, Callable[[str], str]] = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}
_CHARACTERS: dict[str, Callable[[int, int], Any]] = {"char": CharNgrams, "char_wb": WordCharNgrams}

#: constraints of the parameters that all vectorizers have
ANALYSIS_CONSTRAINTS: dict[str, Any] = {
    "input": [StrOptions({"filename", "file", "content"})],
    "encoding": [str],
    "decode_error": [StrOptions({"strict", "ignore", "replace"})],
    "strip_accents": [StrOptions({"ascii", "unicode"}), None, callable],
    "lowercase": ["boolean"],
    "preprocessor": [callable, None],
    "tokenizer": [callable, None],
    "stop_words": [StrOptions({"english"}), list, None],
    "token_pattern": [str, None],
    "ngram_range": [tuple],
    "analyzer": [StrOptions({"word", "char", "char_wb"}), callable],
    "binary": ["boolean"],
    "dtype": "no_validation",
}


def has_numeric_counts(model: Any) -> bool:
    """Return whether the type of the counts is numeric, not a type of strings or records."""
    return np.dtype(model.dtype).kind in "biuf"


@stored(has_numeric_counts, tag=None)
class TextVectorizer:
    """Base class of vectorizers: decoding, preprocessing, tokens and n-grams.

    The parameters have the names and meanings of scikit-learn's.
    """

    _parameter_constraints: ClassVar[dict[str, Any]]

    input: Any
    encoding: Any
    decode_error: Any
    strip_accents: Any
    lowercase: Any
    preprocessor: Any
    tokenizer: Any
    stop_words: Any
    token_pattern: Any
    ngram_range: Any
    analyzer: Any

    _rows_of_chunk = staticmethod(chunk_documents)

    def decode(self, doc: Any) -> Any:
        """Return a document as a string.

        Parameters
        ----------
        doc : bytes, str, file or file name
            A document of the kind that `input` names.

        Returns
        -------
        doc : str
            The document; anything that is neither bytes nor a file is returned unchanged.
        """
        if self.input == "filename":
            with open(doc, "rb") as file:
                doc = file.read()
        elif self.input == "file":
            doc = doc.read()
        if isinstance(doc, bytes):
            return doc.decode(self.encoding, self.decode_error)
        if doc is np.nan:
            raise TextError(
                "np.nan is an invalid document, expected byte or unicode string. Leave missing documents out, or give "
                'them as "".'
            )
        return doc

    def build_preprocessor(self) -> Callable[[Any], Any]:
        """Return the function that prepares a document for the tokenizer.

        Returns
        -------
        preprocessor : callable
            From a string to a string.
        """
        if self.preprocessor is not None:
            return self.preprocessor  # type: ignore[no-any-return]
        if self.strip_accents and not callable(self.strip_accents) and self.strip_accents not in ACCENTS:
            raise DataError(
                f'Invalid value for "strip_accents": {self.strip_accents}. Give "ascii", "unicode", a function or None.'
            )
        accents = self.strip_accents if callable(self.strip_accents) else ACCENTS.get(self.strip_accents)
        return Preprocess(self.lowercase, accents)

    def build_tokenizer(self) -> Callable[[Any], Any]:
        """Return the function that splits a string into tokens.

        Returns
        -------
        tokenizer : callable
            From a string to a list of strings.
        """
        if self.tokenizer is not None:
            return self.tokenizer  # type: ignore[no-any-return]
        if self.token_pattern is None:
            raise TextError(
                "first argument must be string or compiled pattern. Without a token_pattern a tokenizer is needed; "
                "give one of them."
            )
        pattern = re.compile(self.token_pattern)
        if pattern.groups > 1:
            raise DataError(
                "More than 1 capturing group in token pattern. Only a single group should be captured. Write (?:…) for "
                "the others."
            )
        return pattern.findall

    def get_stop_words(self) -> frozenset[Any] | None:
        """Return the stop words that are left out.

        Returns
        -------
        stop_words : frozenset or None
            The built-in English stop words, the given ones, or None.
        """
        if self.stop_words is None:
            return None
        if not isinstance(self.stop_words, str):
            return frozenset(self.stop_words)
        if self.stop_words != "english":
            raise DataError(f'not a built-in stop list: {self.stop_words}. Give "english", or a list of words.')
        return ENGLISH_STOP_WORDS  # type: ignore[no-any-return]

    def build_analyzer(self) -> Callable[[Any], Any]:
        """Return the function that converts a document to a list of terms.

        Returns
        -------
        analyzer : callable
            Decodes and preprocesses a document, splits it into tokens and forms n-grams.
        """
        if callable(self.analyzer):
            return Analyzer(self.decode, self.analyzer)
        preprocess = self.build_preprocessor()
        if self.analyzer in _CHARACTERS:
            return Analyzer(self.decode, preprocess, ngrams=_CHARACTERS[self.analyzer](*self.ngram_range))
        if self.analyzer != "word":
            raise DataError(
                f'{self.analyzer} is not a valid tokenization scheme/analyzer. Give "word", "char", "char_wb" or a '
                "function."
            )
        stop_words, tokenize = self.get_stop_words(), self.build_tokenizer()
        self._check_stop_words_consistency(stop_words, preprocess, tokenize)
        return Analyzer(self.decode, preprocess, tokenize, stop_words, WordNgrams(*self.ngram_range))

    def _check_stop_words_consistency(self, stop_words: Any, preprocess: Any, tokenize: Any) -> bool | str | None:
        """Warn, once for each list, if preprocessing and tokenizing the stop words gives tokens that are not stop
        words.

        Return True if the lists agree, None if this list was checked before, "error" if stop words cannot be processed
        as documents. scikit-learn's tests call this method.
        """
        if id(self.stop_words) == getattr(self, "_stop_words_id", None):
            return None
        self._stop_words_id = id(self.stop_words)
        stop_words = stop_words or ()
        try:
            tokens = {token for word in stop_words for token in tokenize(preprocess(word))}
            inconsistent = sorted(tokens.difference(stop_words))
        except Exception:  # a preprocessor may require documents that are not strings
            return "error"
        if inconsistent:
            warn(
                "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words generated "
                f"tokens {inconsistent!r} not in stop_words.",
                UserWarning,
            )
        return not inconsistent

    def _warn_for_unused_parameters(self) -> None:
        has_function, has_tokenizer = callable(self.analyzer), self.tokenizer is not None
        has_pattern, has_words = self.token_pattern is not None, self.analyzer == "word"
        has_own_pattern = has_pattern and self.token_pattern != TOKEN_PATTERN
        unused = [
            ("token_pattern", "'tokenizer' is not None'", has_tokenizer and has_pattern),
            ("preprocessor", "'analyzer' is callable'", has_function and self.preprocessor is not None),
            ("ngram_range", "'analyzer' is callable'", has_function and self.ngram_range not in ((1, 1), None)),
            ("stop_words", "'analyzer' != 'word'", not has_words and self.stop_words is not None),
            ("token_pattern", "'analyzer' != 'word'", not has_words and has_own_pattern),
            ("tokenizer", "'analyzer' != 'word'", not has_words and has_tokenizer),
        ]
        for name, reason, is_unused in unused:
            if is_unused:
                warn(f"The parameter '{name}' will not be used since {reason}", UserWarning)

    def _check_documents(self, documents: Any) -> None:
        """Raise an error if `documents` is a string, a table, or a two-dimensional array."""
        if isinstance(documents, str):
            raise DataError(
                "Iterable over raw text documents expected, string object received. For one document, give a list of "
                "one string."
            )
        names = [str(name) for name in _column_names(documents)]
        if names:
            raise TextError(
                f"documents are expected, but this is a table of {format_count(len(names), 'column')}, "
                f"{', '.join(names[:5])}; give one column, X[{names[0]!r}], or several through a ColumnTransformer "
                "with one vectorizer for each."
            )
        if getattr(documents, "ndim", 1) == 2 and self._analyzes_strings():
            shape = tuple(documents.shape)
            raise TextError(
                f"'{type(documents).__name__}' object has no attribute 'lower': documents are expected one by one, but "
                f"this has the shape {shape}; give one column, X[:, 0]."
            )

    def _check_ngram_range(self) -> None:
        low, high = self.ngram_range
        if low > high:
            raise DataError(
                f"Invalid value for ngram_range={self.ngram_range} lower boundary larger than the upper boundary. Give "
                f"{(high, low)}."
            )

    def _analyzes_strings(self) -> bool:
        """Return whether documents must be strings or bytes: no function of the user converts them first."""
        return self.input == "content" and self.preprocessor is None and not callable(self.analyzer)


def _column_names(documents: Any) -> list[Any]:
    """Return the names of the columns of a data frame or table; an empty list for anything else."""
    if len(getattr(documents, "shape", ())) != 2:
        return []
    names = getattr(documents, "column_names", None)  # pyarrow's attribute
    return list(getattr(documents, "columns", []) if names is None else names)
