"""Bag of words (lecture 3): a column for each term, in which a document has how often it holds the term."""

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
from mercer.base.agreement import refuse_other_class, refuse_other_parameters
from mercer.base.fitted_fields import FITTED_TEXT
from mercer.base.sources import fits_sources, is_source, maps_sources
from mercer.base.validation import old_state_on_failure
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.text import _compiled as compiled
from mercer.text import _counting as counting
from mercer.text._csr import as_configured
from mercer.text._interpreted import AnyVocabulary, InterpretedVocabulary, merged
from mercer.text._weights import Totals
from mercer.text.vectorizer import (
    ANALYSIS_CONSTRAINTS,
    TOKEN_PATTERN,
    TextVectorizer,
    chosen,
    documents_of,
    numbered,
    refuse_useless,
)

# Vocabularies of a source: the terms of every chunk are counted, and counts add up.


def learn_vocabulary(vectorizer: Any, source: Source) -> AnyVocabulary:
    """All terms of all documents, refused like those of documents in memory."""
    seen = fold(functools.partial(_terms, clone(vectorizer)), source, merged)
    refuse_useless(seen, vectorizer.max_df, vectorizer.min_df)
    return seen


def _terms(vectorizer: Any, chunk: Chunk) -> AnyVocabulary:
    return counting.learn(clone(vectorizer), documents_of(chunk.X)).vocabulary


def learn_totals(vectorizer: Any, source: Source) -> Totals:
    """Of the columns of a vectorizer whose vocabulary was given."""
    return fold(functools.partial(_totals, vectorizer), source, Totals.merge)


def _totals(vectorizer: Any, chunk: Chunk) -> Totals:
    return Totals.of(vectorizer._counted(documents_of(chunk.X)))


# The terms of a vectorizer: as columns, which were learnt, or as a dict, which was given or asked for.


class TermColumns:
    """`vocabulary_` is a dict that is made of the columns when it is first looked at."""

    _numbers: dict[Any, int] | None

    @property
    def vocabulary_(self) -> dict[Any, int]:
        if vars(self).get("_numbers") is None:
            if self._columns is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute 'vocabulary_'; fit it first.")
            self._numbers = self._columns.as_dict()
        return self._numbers  # type: ignore[return-value]

    @vocabulary_.setter
    def vocabulary_(self, value: dict[Any, int]) -> None:
        self.__dict__.pop("_kept", None)
        self._numbers = value

    @vocabulary_.deleter
    def vocabulary_(self) -> None:
        for name in ("_kept", "_numbers"):
            self.__dict__.pop(name, None)

    @property
    def _columns(self) -> AnyVocabulary | None:
        """The terms that were learnt and are columns."""
        return vars(self).get("_kept")

    def __getstate__(self) -> dict[str, Any]:
        parent: Any = super()  # that of an estimator
        state: dict[str, Any] = dict(parent.__getstate__())
        if state.get("_kept") is not None:
            state.pop("_numbers", None)  # made of the columns again when it is asked for
        return state


_DF = [Interval(RealNotInt, 0, 1, closed="both"), Interval(Integral, 1, None, closed="left")]


@traits(
    "features",
    columns="documents",
    makes="words",
    export="mercer.export.texts.documents",
)
@stored(**FITTED_TEXT)
class CountVectorizer(TermColumns, TextVectorizer, BaseEstimator):
    r"""Documents as counts of their terms; scikit-learn's, which can also learn batch by batch.

    Parameters
    ----------
    input : {"filename", "file", "content"}, default="content"
        What documents are: names of files, objects with a method `read`, or the text itself.
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
        What counts as a word: by default, two or more letters or digits.
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
        The terms, if they are not to be learnt: mapped to their columns, or in the order of the columns.
    binary : bool, default=False
        Whether counts above 1 become 1.
    dtype : dtype, default=np.int64
        Type of the matrix.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term; made when it is first asked for.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    plan_ : Plan
        Which way terms are counted.

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
        with old_state_on_failure(self):
            self._learnt(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary, and count its terms in the same documents.

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
        with old_state_on_failure(self):
            return as_configured(self._learnt(raw_documents, y))

    def _fit_source(self, source: Source) -> Any:
        self._begin(documents_of(source.head().X))
        if not self.fixed_vocabulary_:
            self._keep(learn_vocabulary(self, source))

    def partial_fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Add documents: afterwards the vocabulary is that of one fit on all of them.

        `min_df`, `max_df` and `max_features` are about all documents so far, so that columns may come and go.

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
        with old_state_on_failure(self):
            self._begin(raw_documents)
            self._add(raw_documents, y)
        return self

    def merge(self, other: Self) -> Self:
        """Fold in everything `other` has learnt; the result is that of one fit on the documents of both.

        Parameters
        ----------
        other : object
            A fitted vectorizer with the same parameters.

        Returns
        -------
        self : object
            The vectorizer itself.
        """
        self._refuse_stranger(other)
        with old_state_on_failure(self):
            if not self.fixed_vocabulary_:
                self._select(merged(self._seen, other._seen))
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
        return as_configured(self._counted(raw_documents))

    def inverse_transform(self, X: Any) -> list[Array]:
        """The terms that documents have.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Documents × terms.

        Returns
        -------
        X_original : list of arrays of shape (n_samples,)
            Terms of each document, in the order of the columns; how often is lost.
        """
        names = self.get_feature_names_out()
        rows = sparse.csr_array(check_array(X, accept_sparse="csr"))
        rows.eliminate_zeros()
        kind = str if all(isinstance(name, str) for name in names) else None
        found = (names[rows.indices[start:stop]] for start, stop in zip(rows.indptr, rows.indptr[1:], strict=False))
        return [np.array(terms.tolist(), dtype=kind) for terms in found]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The terms in the order of their columns.

        Parameters
        ----------
        input_features : Ignored
            Not used.

        Returns
        -------
        feature_names_out : ndarray of objects
            Terms.
        """
        self._refuse_no_vocabulary()
        if self._columns is not None:
            return self._columns.names()
        names = np.empty(len(self.vocabulary_), dtype=object)
        for term, column in self.vocabulary_.items():
            names[column] = term
        return names

    # Learning.

    def _begin(self, raw_documents: Any) -> None:
        """Refuse parameters and documents, warn, and take a vocabulary that was given."""
        self._validate_params()
        self._refuse_documents(raw_documents)
        self._refuse_ngram_range()
        self._warn_for_unused_parameters()
        self._take_vocabulary()
        if self.fixed_vocabulary_ and self.lowercase:
            self._warn_about_upper_case()
        self.plan_ = counting.plan(self)

    def _take_vocabulary(self) -> None:
        self.fixed_vocabulary_ = self.vocabulary is not None
        if self.fixed_vocabulary_:
            self.vocabulary_ = numbered(self.vocabulary)
            for name in ("_seen", "_chosen"):  # which an earlier fit may have learnt
                self.__dict__.pop(name, None)

    def _learnt(self, raw_documents: Any, y: Any) -> sparse.csr_array:
        """What the documents have of the vocabulary that was given, or is learnt from them."""
        self._begin(raw_documents)
        if self.fixed_vocabulary_:
            return self._as_asked(counting.count_known(self, raw_documents))
        learned = counting.learn(self, raw_documents)
        refuse_useless(learned.vocabulary, self.max_df, self.min_df)
        self._note(learned, y, all_classes=True)
        return self._as_asked(learned.matrix(self._keep(learned.vocabulary), self.dtype))

    def _keep(self, vocabulary: AnyVocabulary) -> Array:
        """`_select`, where that there are no columns is a failure."""
        mask = self._select(vocabulary)
        if not mask.any():
            raise VocabularyError(
                "After pruning, no terms remain. Try a lower min_df or a higher max_df. The term in most documents is "
                f"in {vocabulary.document_counts.max()} of {vocabulary.n_documents}."
            )
        return mask

    def _add(self, raw_documents: Any, y: Any) -> None:
        """Add the terms of more documents; that there are no columns yet is no failure."""
        if self.fixed_vocabulary_:
            return
        learned = counting.learn(self, raw_documents)
        self._note(learned, y, all_classes=False)
        seen = vars(self).get("_seen")
        self._select(learned.vocabulary if seen is None else merged(seen, learned.vocabulary))

    def _note(self, learned: InterpretedVocabulary | compiled.ScannedVocabulary, y: Any, *, all_classes: bool) -> None:
        """For weights that need more than a vocabulary."""

    def _select(self, vocabulary: AnyVocabulary) -> Array:
        """Keep all terms that were ever seen, and say which are columns."""
        mask = chosen(vocabulary, self.max_df, self.min_df, self.max_features, self._frequencies(vocabulary))
        self._seen, self._chosen = vocabulary, mask
        self._kept = vocabulary if mask.all() else vocabulary.keep(mask)
        self._numbers = None
        return mask

    def _frequencies(self, vocabulary: AnyVocabulary) -> Array:
        """Column sums of the matrix, in the type that they have in it."""
        counts = vocabulary.document_counts if self.binary else vocabulary.term_counts
        dtype = np.dtype(self.dtype)
        return counts.astype(np.int64 if np.can_cast(dtype, np.int64) else dtype)

    # Counting.

    def _counted(self, raw_documents: Any) -> sparse.csr_array:
        self._refuse_documents(raw_documents)
        self._refuse_no_vocabulary()
        return self._as_asked(counting.count_known(self, raw_documents))

    def _as_asked(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Counts of the type that was asked for, or ones."""
        if counts.dtype != self.dtype:
            counts = counts.astype(self.dtype)
        if self.binary:
            counts.data.fill(1)
        return counts

    def _refuse_no_vocabulary(self) -> None:
        if self._columns is None and vars(self).get("_numbers") is None:
            self._take_vocabulary()
            if not self.fixed_vocabulary_:
                raise NotFittedError(
                    "Vocabulary not fitted or provided. Call fit with documents, or give a vocabulary when you make it."
                )
        if not len(self.vocabulary_ if self._columns is None else self._columns):
            raise VocabularyError("Vocabulary is empty. No term is in as many documents as min_df and max_df ask for.")

    def _refuse_stranger(self, other: Any) -> None:
        self._refuse_no_vocabulary()
        refuse_other_class(self, other)
        other._refuse_no_vocabulary()
        refuse_other_parameters(self, other)

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
