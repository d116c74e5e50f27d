"""Counts of terms in documents, "bag of words" (lecture 3)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, metadata_routing
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt

from mercer._errors import VocabularyError
from mercer._stored import stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import traits
from mercer.base.agreement import check_same_class, check_same_parameters
from mercer.base.fitted_fields import FITTED_TEXT
from mercer.base.sources import fits_sources, is_source, maps_sources
from mercer.base.validation import restore_on_failure, validate_params
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.text import _compiled as compiled
from mercer.text import _counting as counting
from mercer.text._csr import as_configured
from mercer.text._interpreted import AnyVocabulary, InterpretedCounts, merge_vocabularies
from mercer.text.vectorizer import (
    ANALYSIS_CONSTRAINTS,
    TOKEN_PATTERN,
    TextVectorizer,
    check_vocabulary,
    chunk_documents,
    map_to_columns,
    select_terms,
)

_DF = [Interval(RealNotInt, 0, 1, closed="both"), Interval(Integral, 1, None, closed="left")]


@traits(
    "features",
    columns="documents",
    makes="words",
    export="mercer.export.texts.documents",
)
@stored(**FITTED_TEXT)
class CountVectorizer(TextVectorizer, BaseEstimator):
    r"""Counts of the terms of documents; scikit-learn's, with incremental learning and merging.

    Parameters
    ----------
    input : {"filename", "file", "content"}, default="content"
        Kind of the documents: names of files, objects with a method `read`, or the text itself.
    encoding : str, default="utf-8"
        Encoding of bytes and files.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What to do with bytes that are not valid in this encoding.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        How accents are removed; None keeps them.
    lowercase : bool, default=True
        Whether documents are converted to lower case.
    preprocessor : callable, default=None
        Replaces the conversion to lower case and the removal of accents.
    tokenizer : callable, default=None
        Replaces `token_pattern`.
    stop_words : {"english"}, list, default=None
        Words to leave out.
    token_pattern : str or None, default=r"(?u)\\b\\w\\w+\\b"
        Regular expression of a word: by default, two or more letters or digits.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        Smallest and largest number of words, or characters, in a term.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Whether terms are words, characters, or characters inside words; or a function from a document to its terms.
    max_df : float in range [0.0, 1.0] or int, default=1.0
        Terms in more documents than this are left out; a float is a share of the documents, an int their number.
    min_df : float in range [0.0, 1.0] or int, default=1
        Terms in fewer documents than this are left out; a float is a share of the documents, an int their number.
    max_features : int, default=None
        If given, keep only this many terms, the most frequent ones.
    vocabulary : Mapping or iterable, default=None
        The terms, if they are given and not learned: mapped to their columns, or in the order of the columns.
    binary : bool, default=False
        Whether counts above 1 become 1.
    dtype : dtype, default=np.int64
        Type of the matrix.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term; created at the first access.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    plan_ : Plan
        Whether terms are counted by the compiled scanner or by Python, and why.

    Examples
    --------
    >>> from mercer import CountVectorizer
    >>> words = CountVectorizer()
    >>> words.fit_transform(["the cat sat", "the cat, the mat"]).toarray()
    array([[1, 0, 1, 1], [1, 1, 0, 2]])
    >>> words.get_feature_names_out()
    array(['cat', 'mat', 'sat', 'the'], dtype=object)
    >>> words.partial_fit(["a dog"]).vocabulary_
    {'cat': 0, 'dog': 1, 'mat': 2, 'sat': 3, 'the': 4}
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"raw_documents": metadata_routing.UNUSED}
    __metadata_request__partial_fit: ClassVar[dict[str, Any]] = {"raw_documents": metadata_routing.UNUSED}
    __metadata_request__transform: ClassVar[dict[str, Any]] = {"raw_documents": metadata_routing.UNUSED}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ANALYSIS_CONSTRAINTS,
        "max_df": _DF,
        "min_df": _DF,
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "vocabulary": [Mapping, HasMethods("__iter__"), None],
    }

    def __init__(
        self,
        *,
        input: Any = "content",
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        preprocessor: Any = None,
        tokenizer: Any = None,
        stop_words: Any = None,
        token_pattern: str | None = TOKEN_PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Any = "word",
        max_df: Any = 1.0,
        min_df: Any = 1,
        max_features: int | None = None,
        vocabulary: Any = None,
        binary: bool = False,
        dtype: Any = np.int64,
    ) -> None:
        self.input = input
        self.encoding = encoding
        self.decode_error = decode_error
        self.strip_accents = strip_accents
        self.lowercase = lowercase
        self.preprocessor = preprocessor
        self.tokenizer = tokenizer
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.max_df = max_df
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype

    # The columns are a vocabulary that was learned, `_column_terms`, or a dict that was given, `_column_of_term`, which
    # is also the cache of `vocabulary_`.
    _column_of_term: dict[Any, int] | None

    @property
    def vocabulary_(self) -> dict[Any, int]:
        if vars(self).get("_column_of_term") is None:
            if self._learned_columns is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute 'vocabulary_'; fit it first.")
            self._column_of_term = self._learned_columns.as_dict()
        return self._column_of_term  # type: ignore[return-value]

    @vocabulary_.setter
    def vocabulary_(self, value: dict[Any, int]) -> None:
        self.__dict__.pop("_column_terms", None)
        self._column_of_term = value

    @vocabulary_.deleter
    def vocabulary_(self) -> None:
        for name in ("_column_terms", "_column_of_term"):
            self.__dict__.pop(name, None)

    @property
    def _learned_columns(self) -> AnyVocabulary | None:
        """The learned terms that are columns, or None."""
        return vars(self).get("_column_terms")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if state.get("_column_terms") is not None:
            state.pop("_column_of_term", None)  # a cache
        return state

    @fits_sources
    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the vocabulary.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or names, column of a frame, Path (a file of lines), or Source
            Documents. A source of one column of text is read once.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted vectorizer.
        """
        with restore_on_failure(self):
            self._learn(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and count its terms in the same documents.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or names, a column of a frame, or a Path (a file of lines)
            Documents.
        y : Ignored
            Not used.

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
            Documents × terms.
        """
        if is_source(raw_documents):
            return self.fit(raw_documents).transform(raw_documents)
        with restore_on_failure(self):
            return as_configured(self._learn(raw_documents, y))

    def _fit_source(self, source: Source) -> Any:
        self._prepare_fit(chunk_documents(source.head().X))
        if not self.fixed_vocabulary_:
            terms = fold(functools.partial(_count_chunk, clone(self)), source, merge_vocabularies)
            check_vocabulary(terms, self.max_df, self.min_df)
            self._select_some_columns(terms)

    def partial_fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Add documents: the vocabulary becomes that of one fit on all documents.

        `min_df`, `max_df` and `max_features` refer to all documents so far, so columns may appear and disappear.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or names, a column of a frame, or a Path (a file of lines)
            More documents.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The vectorizer itself.
        """
        with restore_on_failure(self):
            self._prepare_fit(raw_documents)
            self._add(raw_documents, y)
        return self

    def merge(self, other: Self) -> Self:
        """Add what `other` has learned; the result is that of one fit on the documents of both.

        Parameters
        ----------
        other : object
            A fitted vectorizer with the same parameters.

        Returns
        -------
        self : object
            The vectorizer itself.
        """
        self._check_mergeable(other)
        with restore_on_failure(self):
            if not self.fixed_vocabulary_:
                self._select_columns(merge_vocabularies(self._all_terms, other._all_terms))
        return self

    @maps_sources
    def transform(self, raw_documents: Any) -> Any:
        """Count the terms of the vocabulary.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or names, a column of a frame, or a Path (a file of lines)
            Documents.

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
            Documents × terms.
        """
        return as_configured(self._count(raw_documents))

    def inverse_transform(self, X: Any) -> list[Array]:
        """Return the terms that documents contain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Documents × terms.

        Returns
        -------
        X_original : list of arrays of shape (n_samples,)
            Distinct terms of each document, in the order of the columns.
        """
        names = self.get_feature_names_out()
        rows = sparse.csr_array(check_array(X, accept_sparse="csr"))
        rows.eliminate_zeros()
        kind = str if all(isinstance(name, str) for name in names) else None
        documents = (names[rows.indices[start:stop]] for start, stop in zip(rows.indptr, rows.indptr[1:], strict=False))
        return [np.array(terms.tolist(), dtype=kind) for terms in documents]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the terms in the order of their columns.

        Parameters
        ----------
        input_features : Ignored
            Not used.

        Returns
        -------
        feature_names_out : ndarray of objects
            Terms.
        """
        self._check_vocabulary()
        if self._learned_columns is not None:
            return self._learned_columns.names()
        names = np.empty(len(self.vocabulary_), dtype=object)
        for term, column in self.vocabulary_.items():
            names[column] = term
        return names

    # Learning.

    def _prepare_fit(self, raw_documents: Any) -> None:
        """Check parameters and documents, warn of unused parameters, and store a given vocabulary."""
        validate_params(self)
        self._check_documents(raw_documents)
        self._check_ngram_range()
        self._warn_for_unused_parameters()
        self._take_vocabulary()
        if self.fixed_vocabulary_ and self.lowercase:
            self._warn_about_upper_case()
        self.plan_ = counting.make_plan(self)

    def _take_vocabulary(self) -> None:
        self.fixed_vocabulary_ = self.vocabulary is not None
        if self.fixed_vocabulary_:
            self.vocabulary_ = map_to_columns(self.vocabulary)
            for name in ("_all_terms", "_is_column"):  # left by an earlier fit
                self.__dict__.pop(name, None)

    def _learn(self, raw_documents: Any, y: Any) -> sparse.csr_array:
        """Learn the vocabulary unless it is given, and return the counts of its terms in the documents."""
        self._prepare_fit(raw_documents)
        if self.fixed_vocabulary_:
            return self._convert(counting.count_known(self, raw_documents))
        learned = counting.learn(self, raw_documents)
        check_vocabulary(learned.vocabulary, self.max_df, self.min_df)
        self._add_classes(learned, y, all_classes=True)
        return self._convert(learned.matrix(self._select_some_columns(learned.vocabulary), self.dtype))

    def _select_some_columns(self, vocabulary: AnyVocabulary) -> Array:
        """Select the columns, and raise an error if there are none."""
        mask = self._select_columns(vocabulary)
        if not mask.any():
            raise VocabularyError(
                "After pruning, no terms remain. Try a lower min_df or a higher max_df. The term in most documents is "
                f"in {vocabulary.document_counts.max()} of {vocabulary.n_documents}."
            )
        return mask

    def _add(self, raw_documents: Any, y: Any) -> None:
        """Add the terms of more documents; there may be no columns yet."""
        if self.fixed_vocabulary_:
            return
        learned = counting.learn(self, raw_documents)
        self._add_classes(learned, y, all_classes=False)
        before = vars(self).get("_all_terms")
        self._select_columns(learned.vocabulary if before is None else merge_vocabularies(before, learned.vocabulary))

    def _add_classes(
        self, learned: InterpretedCounts | compiled.ScannedVocabulary, y: Any, *, all_classes: bool
    ) -> None:
        """Store what weights by class need besides the vocabulary; counts need nothing."""

    def _select_columns(self, vocabulary: AnyVocabulary) -> Array:
        """Store all terms of all documents so far, and return the mask of those that are columns."""
        mask = select_terms(vocabulary, self.max_df, self.min_df, self.max_features, self._column_sums(vocabulary))
        self._all_terms, self._is_column = vocabulary, mask
        self._column_terms = vocabulary if mask.all() else vocabulary.keep(mask)
        self._column_of_term = None
        return mask

    def _column_sums(self, vocabulary: AnyVocabulary) -> Array:
        """Return the column sums of the matrix, in its type."""
        counts = vocabulary.document_counts if self.binary else vocabulary.term_counts
        dtype = np.dtype(self.dtype)
        return counts.astype(np.int64 if np.can_cast(dtype, np.int64) else dtype)

    # Counting.

    def _count(self, raw_documents: Any) -> sparse.csr_array:
        self._check_documents(raw_documents)
        self._check_vocabulary()
        return self._convert(counting.count_known(self, raw_documents))

    def _convert(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Convert counts to `dtype`, and to ones if `binary`."""
        if counts.dtype != self.dtype:
            counts = counts.astype(self.dtype)
        if self.binary:
            counts.data.fill(1)
        return counts

    def _check_vocabulary(self) -> None:
        """Raise an error if there is no vocabulary or no term in it."""
        if self._learned_columns is None and vars(self).get("_column_of_term") is None:
            self._take_vocabulary()
            if not self.fixed_vocabulary_:
                raise NotFittedError(
                    "Vocabulary not fitted or provided. Call fit with documents, or give a vocabulary at construction."
                )
        if not len(self.vocabulary_ if self._learned_columns is None else self._learned_columns):
            raise VocabularyError(
                "Vocabulary is empty. No term is in a number of documents that min_df and max_df allow."
            )

    def _check_mergeable(self, other: Any) -> None:
        self._check_vocabulary()
        check_same_class(self, other)
        other._check_vocabulary()
        check_same_parameters(self, other)

    def _warn_about_upper_case(self) -> None:
        if any(str.isupper(char) for term in self.vocabulary_ if isinstance(term, str) for char in term):
            warn(
                "Upper case characters found in vocabulary while 'lowercase' is True. These entries will not be "
                "matched with any documents",
                UserWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _count_chunk(vectorizer: Any, chunk: Chunk) -> AnyVocabulary:
    return counting.learn(clone(vectorizer), chunk_documents(chunk.X)).vocabulary
