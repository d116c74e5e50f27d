"""What vectorizers have in common: how a document becomes a list of terms, and which documents are refused."""

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
from mercer.report.wording import counted
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

# Documents of a chunk of a source.


def documents_of(X: Any) -> Any:
    """The texts of a chunk: a column of them, or the only column of a table, "" where it is missing."""
    shape = getattr(X, "shape", (len(X),))
    if len(shape) == 1:
        return X
    table = Table.of(X, dates=True)
    if table.n_columns != 1:
        raise DataError(
            f"A vectorizer reads one column of text, but the source has {table.n_columns}. Open it with features=['the "
            "column'], or use TableFeatures, which finds columns of text by itself."
        )
    if (strings := table.strings(0)) is not None:
        return strings.fill_null("")
    coded = table.coded(0)
    return np.append(coded.labels.astype(object), "")[coded.codes]  # −1, missing, is the last


# Which terms become columns: a vocabulary that was given, or those of all terms that are neither rare nor common.


def numbered(vocabulary: Any) -> dict[Any, int]:
    """A vocabulary that was given, as terms with their columns."""
    if not isinstance(vocabulary, Mapping):
        terms = sorted(vocabulary) if isinstance(vocabulary, set) else list(vocabulary)
        columns = {term: column for column, term in enumerate(terms)}
        if len(columns) < len(terms):
            twice = next(term for column, term in enumerate(terms) if columns[term] != column)
            raise VocabularyError(f"Duplicate term in vocabulary: {twice!r}. Name each term once.")
    else:
        columns = dict(vocabulary)
        _refuse_other_columns(set(columns.values()), len(columns))
    if not columns:
        raise VocabularyError("empty vocabulary passed to fit. Give at least one term, or None to learn them.")
    return columns


def _refuse_other_columns(columns: set[Any], n: int) -> None:
    """Refuse numbers of columns that are not 0, 1, …, n − 1."""
    if len(columns) != n:
        raise VocabularyError("Vocabulary contains repeated indices. Give each term a column of its own.")
    for column in range(n):
        if column not in columns:
            raise VocabularyError(
                f"Vocabulary of size {n:d} doesn't contain index {column:d}. Number the columns from 0 to {n - 1}."
            )


def _limits(n_documents: int, max_df: Any, min_df: Any) -> tuple[Any, Any]:
    """The most and the fewest documents that may have a term; parts of all documents are floats."""
    most = max_df if isinstance(max_df, Integral) else max_df * n_documents
    fewest = min_df if isinstance(min_df, Integral) else min_df * n_documents
    return most, fewest


def refuse_useless(vocabulary: AnyVocabulary, max_df: Any, min_df: Any) -> None:
    """Refuse documents without terms, and limits that no number of documents can keep."""
    if not len(vocabulary):
        raise VocabularyError(
            "empty vocabulary; perhaps the documents only contain stop words, or words of one letter, which "
            "token_pattern passes over."
        )
    n_documents = vocabulary.n_documents
    most, fewest = _limits(n_documents, max_df, min_df)
    if most < fewest:
        raise DataError(
            f"max_df corresponds to < documents than min_df. There are {n_documents} documents: a term would have to "
            f"be in {fewest:g} or more and in {most:g} or fewer of them."
        )


def chosen(vocabulary: AnyVocabulary, max_df: Any, min_df: Any, max_features: int | None, counts: Array) -> Array:
    """A mask of the terms that are neither too common nor too rare, and of these the most frequent by `counts`.

    Where several are as frequent, NumPy's `argsort` decides as it does in scikit-learn, by the type of `counts` too.
    """
    most, fewest = _limits(vocabulary.n_documents, max_df, min_df)
    df = vocabulary.document_counts
    mask = np.asarray((df <= most) & (df >= fewest))
    if max_features is not None and mask.sum() > max_features:
        first = (-counts[mask]).argsort()[:max_features]
        left = np.flatnonzero(mask)[first]
        mask = np.zeros_like(mask)
        mask[left] = True
    return mask


TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # noqa: S105 – splits words
ACCENTS: dict[str, Callable[[str], str]] = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}
_CHARACTERS: dict[str, Callable[[int, int], Any]] = {"char": CharNgrams, "char_wb": WordCharNgrams}

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


def counts_in_numbers(model: Any) -> bool:
    """Whether counts are to be numbers, and not strings or records."""
    return np.dtype(model.dtype).kind in "biuf"


@stored(counts_in_numbers, tag=None)
class TextVectorizer:
    """Decoding, preprocessing, tokens and n-grams, as parameters of the same names ask."""

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

    _rows_of_chunk = staticmethod(documents_of)

    def decode(self, doc: Any) -> Any:
        """A document as a string.

        Parameters
        ----------
        doc : bytes, str, file or file name
            What `input` says.

        Returns
        -------
        doc : str
            The document; what is neither bytes nor a file is returned as it is.
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
        """The function that makes a document ready for the tokenizer.

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
        """The function that splits a string into tokens.

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
        """The stop words that are left out.

        Returns
        -------
        stop_words : frozenset or None
            The built-in English ones, those that were given, or None.
        """
        if self.stop_words is None:
            return None
        if not isinstance(self.stop_words, str):
            return frozenset(self.stop_words)
        if self.stop_words != "english":
            raise DataError(f'not a built-in stop list: {self.stop_words}. Give "english", or a list of words.')
        return ENGLISH_STOP_WORDS  # type: ignore[no-any-return]

    def build_analyzer(self) -> Callable[[Any], Any]:
        """The function that makes a list of terms of a document.

        Returns
        -------
        analyzer : callable
            Decodes, preprocesses, splits into tokens and makes n-grams.
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

    # What is worth a warning, and what is refused.

    def _check_stop_words_consistency(self, stop_words: Any, preprocess: Any, tokenize: Any) -> bool | str | None:
        """Warn, once for each list, if what documents become can never be one of the stop words.

        True if it can, None if that was looked at before, "error" where stop words cannot be taken for documents.
        """
        if id(self.stop_words) == getattr(self, "_stop_words_id", None):
            return None
        self._stop_words_id = id(self.stop_words)
        stop_words = stop_words or ()
        try:
            strangers = {token for word in stop_words for token in tokenize(preprocess(word))}.difference(stop_words)
            listed = sorted(strangers)
        except Exception:  # a preprocessor may take documents of any kind
            return "error"
        if listed:
            warn(
                "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words generated "
                f"tokens {listed!r} not in stop_words.",
                UserWarning,
            )
        return not listed

    def _warn_for_unused_parameters(self) -> None:
        by_function, by_tokenizer = callable(self.analyzer), self.tokenizer is not None
        no_words = by_function or self.analyzer != "word"
        unused = [
            (
                "token_pattern",
                "'tokenizer' is not None'",
                self.tokenizer is not None and self.token_pattern is not None,
            ),
            ("preprocessor", "'analyzer' is callable'", by_function and self.preprocessor is not None),
            ("ngram_range", "'analyzer' is callable'", by_function and self.ngram_range not in ((1, 1), None)),
            ("stop_words", "'analyzer' != 'word'", no_words and self.stop_words is not None),
            ("token_pattern", "'analyzer' != 'word'", no_words and self.token_pattern not in (TOKEN_PATTERN, None)),
            ("tokenizer", "'analyzer' != 'word'", no_words and by_tokenizer),
        ]
        for name, since, is_unused in unused:
            if is_unused:
                warn(f"The parameter '{name}' will not be used since {since}", UserWarning)

    def _refuse_documents(self, documents: Any) -> None:
        """Refuse what is no sequence of documents."""
        if isinstance(documents, str):
            raise DataError(
                "Iterable over raw text documents expected, string object received. For one document, give a list of "
                "one string."
            )
        names = [str(name) for name in _column_names(documents)]
        if names:
            raise TextError(
                f"documents are expected, but this is a table of {counted(len(names), 'column')}, "
                f"{', '.join(names[:5])}; give one column, X[{names[0]!r}], or several through a ColumnTransformer "
                "with one vectorizer for each."
            )
        if getattr(documents, "ndim", 1) == 2 and self._analyzes_strings():
            shape = tuple(documents.shape)
            raise TextError(
                f"'{type(documents).__name__}' object has no attribute 'lower': documents are expected one by one, but "
                f"this has the shape {shape}; give one column, X[:, 0]."
            )

    def _refuse_ngram_range(self) -> None:
        low, high = self.ngram_range
        if low > high:
            raise DataError(
                f"Invalid value for ngram_range={self.ngram_range} lower boundary larger than the upper boundary. Give "
                f"{(high, low)}."
            )

    def _analyzes_strings(self) -> bool:
        """Whether documents are to be strings (or bytes) themselves: no function of the user's sees them first."""
        return self.input == "content" and self.preprocessor is None and not callable(self.analyzer)


def _column_names(documents: Any) -> list[Any]:
    """Names of the columns of a data frame or table; none of anything else."""
    if len(getattr(documents, "shape", ())) != 2:
        return []
    names = getattr(documents, "column_names", None)  # of pyarrow
    return list(getattr(documents, "columns", []) if names is None else names)
