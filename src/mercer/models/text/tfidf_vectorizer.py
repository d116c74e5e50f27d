"""From documents to weights of their terms at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, EmptyDataError
from mercer._stored import part_of, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import traits
from mercer.data.sources.base import Source
from mercer.features.text import compiled
from mercer.features.text.interpreted import AnyVocabulary, Learned, merged
from mercer.features.text.matrices import as_configured
from mercer.features.text.weights import Totals, class_sums
from mercer.models.base import old_state_on_failure
from mercer.models.fitted_fields import FITTED_TEXT
from mercer.models.streaming.from_source import fits_sources, is_source, maps_sources
from mercer.models.text import _counting
from mercer.models.text._source import learn_totals
from mercer.models.text.count_vectorizer import CountVectorizer
from mercer.models.text.tfidf_transformer import WEIGHTING_CONSTRAINTS, TfidfTransformer, float_type, two_classes
from mercer.models.text.vectorizer import TOKEN_PATTERN

FLOATS = (np.float64, np.float32, np.float16)


@traits(
    "features",
    columns="documents",
    makes="words",
    export="mercer.export.texts.documents",
)
@stored(**FITTED_TEXT, _tfidf=part_of(TfidfTransformer))
class TfidfVectorizer(CountVectorizer):
    r"""Documents as TF-IDF weights of their terms: `CountVectorizer`, then `TfidfTransformer`.

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
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Whether terms are words, characters, or characters inside words; or a function from a document to its terms.
    stop_words : {"english"}, list, default=None
        Words to leave out.
    token_pattern : str or None, default=r"(?u)\\b\\w\\w+\\b"
        What counts as a word: by default, two or more letters or digits.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        Smallest and largest number of words, or characters, in a term.
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
    dtype : dtype, default=np.float64
        Type of the matrix.
    norm : {"l1", "l2"} or None, default="l2"
        Norm by which rows are scaled to length 1; only with scikit-learn's weighting.
    use_idf : bool, default=True
        Whether a term weighs more the fewer documents contain it; ignored by log-count ratios.
    smooth_idf : bool, default=True
        Whether to add one document that contains every term; only with scikit-learn's weighting.
    sublinear_tf : bool, default=False
        Whether counts become 1 + log(count); only with scikit-learn's weighting.
    weighting : {"sklearn", "lecture", "lecture-smooth", "bm25", "log-count-ratio"}, default="sklearn"
        What a count is worth: see `TfidfTransformer`.
    k1 : float, default=1.2
        BM25: the larger it is, the longer repetitions of a term keep adding weight.
    b : float, default=0.75
        BM25: how much the length of a document is held against it, from 0 (not at all) to 1.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term; made when it is first asked for.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    idf_ : ndarray of shape (n_features,)
        Weights of the columns, if `use_idf`.
    plan_ : Plan
        Which way terms are counted.

    Examples
    --------
    >>> from mercer import TfidfVectorizer
    >>> titles = ["the cat sat", "the cat, the mat"]
    >>> TfidfVectorizer().fit_transform(titles).toarray().round(3)
    array([[0.502, 0.   , 0.705, 0.502], [0.379, 0.532, 0.   , 0.757]])
    >>> TfidfVectorizer(weighting="lecture").fit_transform(titles).toarray().round(3)
    array([[0.   , 0.   , 0.231, 0.   ], [0.   , 0.173, 0.   , 0.   ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CountVectorizer._parameter_constraints,
        **WEIGHTING_CONSTRAINTS,
    }

    _classes_seen: dict[Any, AnyVocabulary]

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
        analyzer: Any = "word",
        stop_words: Any = None,
        token_pattern: str | None = TOKEN_PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        max_df: Any = 1.0,
        min_df: Any = 1,
        max_features: int | None = None,
        vocabulary: Any = None,
        binary: bool = False,
        dtype: Any = np.float64,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        weighting: str = "sklearn",
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            analyzer=analyzer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            max_df=max_df,
            min_df=min_df,
            max_features=max_features,
            vocabulary=vocabulary,
            binary=binary,
            dtype=dtype,
        )
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.weighting = weighting
        self.k1 = k1
        self.b = b

    @fits_sources
    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the vocabulary and the weights.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or names, a column of a frame, or a Path (a file of lines)
            Documents.
        y : array-like of shape (n_samples,), default=None
            Two classes, for log-count ratios; not used otherwise.

        Returns
        -------
        self : object
            The fitted vectorizer.
        """
        with old_state_on_failure(self):
            self._learnt(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and the weights, and weigh the same documents.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or names, a column of a frame, or a Path (a file of lines)
            Documents.
        y : array-like of shape (n_samples,), default=None
            Two classes, for log-count ratios; not used otherwise.

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
            Documents × terms.
        """
        if is_source(raw_documents):
            return self.fit(raw_documents).transform(raw_documents)
        with old_state_on_failure(self):
            X = self._learnt(raw_documents, y)
            return as_configured(self._tfidf._weighed(_floats(X)))

    def _fit_source(self, source: Source) -> Any:
        if self.weighting == "log-count-ratio":
            return NotImplemented
        super()._fit_source(source)
        self._settle(learn_totals(self, source) if self.fixed_vocabulary_ else self._totals())
        return None

    @maps_sources
    def transform(self, raw_documents: Any) -> Any:
        """Weigh documents by what was learnt.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or names, a column of a frame, or a Path (a file of lines)
            Documents.

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
            Documents × terms.
        """
        check_is_fitted(self, msg="The TF-IDF vectorizer is not fitted")
        X = self._counted(raw_documents)
        _refuse_no_documents(X)
        return as_configured(self._tfidf._weighed(_floats(X)))

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
        with old_state_on_failure(self):
            self._refuse_stranger(other)
            if self.fixed_vocabulary_:
                self._tfidf.merge(other._tfidf)
                return self
            if self.weighting == "log-count-ratio":
                self._classes_seen = _merged_classes(self._classes_seen, self._seen, other._classes_seen, other._seen)
            super().merge(other)
            self._settle(self._totals())
        return self

    @property
    def idf_(self) -> Array:
        """Weights of the columns, if `use_idf`."""
        if not hasattr(self, "_tfidf"):
            raise NotFittedError(
                f"{type(self).__name__} is not fitted yet. Call 'fit' with appropriate arguments before using this "
                "attribute."
            )
        return self._tfidf.idf_

    @idf_.setter
    def idf_(self, value: Any) -> None:
        if not self.use_idf:
            raise DataError("`idf_` cannot be set when `user_idf=False`. Set use_idf=True first.")
        if not hasattr(self, "_tfidf"):
            self._tfidf = self._transformer()
        if self.vocabulary is not None:
            self._take_vocabulary()
        if hasattr(self, "vocabulary_") and len(self.vocabulary_) != len(value):
            raise DataError(
                f"idf length = {len(value)} must be equal to vocabulary size = {len(self.vocabulary_)}. Give one "
                "weight for each column."
            )
        self._tfidf.idf_ = value

    # Learning.

    def _begin(self, raw_documents: Any) -> None:
        if self.dtype not in FLOATS:
            warn(
                f"Only {FLOATS} 'dtype' should be used. {self.dtype} 'dtype' will be converted to np.float64.",
                UserWarning,
            )
        super()._begin(raw_documents)

    def _transformer(self) -> TfidfTransformer:
        names = TfidfTransformer().get_params()
        return TfidfTransformer(**{name: getattr(self, name) for name in names})

    def _learnt(self, raw_documents: Any, y: Any) -> sparse.csr_array:
        self._classes_seen = {}
        X = super()._learnt(raw_documents, y)
        _refuse_no_documents(X)
        fixed = self.fixed_vocabulary_
        self._settle(self._transformer()._totals_of(X, y, all_classes=True) if fixed else self._totals())
        return X

    def _add(self, raw_documents: Any, y: Any) -> None:
        if self.fixed_vocabulary_:
            before = getattr(vars(self).get("_tfidf"), "_totals", None)
            X = self._as_asked(_counting.count_known(self, raw_documents))
            totals = self._transformer()._totals_of(X, y, all_classes=False)
            self._settle(totals if before is None else before.merge(totals))
        else:
            super()._add(raw_documents, y)
            self._settle(self._totals())

    def _settle(self, totals: Totals) -> None:
        """Weights that follow from what was seen, in a new transformer: a failure leaves the old one as it was."""
        tfidf = self._transformer()
        tfidf._settle(totals, float_type(self.dtype))
        self._tfidf = tfidf

    def _note(self, learned: Learned | compiled.Learned, y: Any, *, all_classes: bool) -> None:
        """Count the terms of each class apart, for ratios of them."""
        if self.weighting != "log-count-ratio":
            return
        new = _by_class(learned, *two_classes(y, learned.vocabulary.n_documents, both=all_classes))
        if old := vars(self).get("_classes_seen"):
            new = _merged_classes(old, self._seen, new, learned.vocabulary)
        self._classes_seen = new

    def _totals(self) -> Totals:
        """Of the columns; their documents and lengths are those of all documents seen."""
        by_class = None
        if self.weighting == "log-count-ratio":
            seen = self._classes_seen.items()
            by_class = {label: self._frequencies(words)[self._chosen] for label, words in seen}
        kept = self._kept
        return Totals(kept.n_documents, kept.document_counts, float(self._frequencies(kept).sum()), by_class)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags._skip_test = True
        tags.target_tags.required = self.weighting == "log-count-ratio"
        return tags


def _refuse_no_documents(X: Any) -> None:
    if not X.shape[0]:
        raise EmptyDataError(
            f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required by "
            "TfidfTransformer. Give at least one document."
        )


def _by_class(learned: Learned | compiled.Learned, labels: Array, codes: Array) -> dict[Any, AnyVocabulary]:
    """The vocabulary of all documents, with the counts of those of each class."""
    counted = learned.counts
    ones = counted.copy()
    ones.data = np.ones_like(ones.data)
    counts = zip(*(class_sums(X, codes, len(labels)).astype(np.int64) for X in (ones, counted)), strict=True)
    sizes = np.bincount(codes, minlength=len(labels)).tolist()
    return {
        label: replace(learned.vocabulary, document_counts=df, term_counts=tf, n_documents=size)
        for label, (df, tf), size in zip(labels.tolist(), counts, sizes, strict=True)
    }


def _merged_classes(
    mine: dict[Any, AnyVocabulary],
    my_terms: AnyVocabulary,
    theirs: dict[Any, AnyVocabulary],
    their_terms: AnyVocabulary,
) -> dict[Any, AnyVocabulary]:
    """Classes of both; each has all the terms of both, so that their counts are of the same columns."""
    labels = [*mine, *(label for label in theirs if label not in mine)]
    return {
        label: merged(mine.get(label, _none_of(my_terms)), theirs.get(label, _none_of(their_terms))) for label in labels
    }


def _none_of(vocabulary: AnyVocabulary) -> AnyVocabulary:
    """The same terms, of no documents."""
    none = np.zeros(len(vocabulary), dtype=np.int64)
    return replace(vocabulary, document_counts=none, term_counts=none, n_documents=0)


def _floats(X: sparse.csr_array) -> sparse.csr_array:
    """Counts in a type that weights can be multiplied in place."""
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
