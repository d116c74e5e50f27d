"""From documents to weights of their terms at once."""

from __future__ import annotations

import functools
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._sparse import _align_api_if_sparse
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, EmptyDataError, MergeError, WeightingError
from mercer._stored import floats, part_of, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import traits
from mercer.base.fitted_fields import FITTED, FITTED_TEXT
from mercer.base.sources import fits_sources, is_source, maps_sources
from mercer.base.validation import Plan, checked, is_sparse, old_state_on_failure
from mercer.data.labels import encode_labels
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.text import _compiled as compiled
from mercer.text import _counting as counting
from mercer.text import _weights as weights
from mercer.text._count import CountVectorizer, learn_totals
from mercer.text._csr import as_configured
from mercer.text._interpreted import AnyVocabulary, InterpretedVocabulary, merged
from mercer.text._weights import Totals, class_sums
from mercer.text.vectorizer import TOKEN_PATTERN

# TF-IDF and its relatives (lecture 5): counts of terms, weighed by how much they say.

WEIGHTINGS = {"sklearn", "lecture", "lecture-smooth", "bm25", "log-count-ratio"}
WEIGHTING_CONSTRAINTS: dict[str, Any] = {
    "norm": [StrOptions({"l1", "l2"}), None],
    "use_idf": ["boolean"],
    "smooth_idf": ["boolean"],
    "sublinear_tf": ["boolean"],
    "weighting": [StrOptions(WEIGHTINGS)],
    "k1": [Interval(Real, 0, None, closed="left")],
    "b": [Interval(Real, 0, 1, closed="both")],
}


@traits(
    "features",
    makes="words",
)
@stored(**FITTED, idf_=floats("d"), _totals=part_of(Totals, v="d"))
class TfidfTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Counts of terms to their weights; scikit-learn's, with more weightings, batch after batch.

    Parameters
    ----------
    norm : {"l1", "l2"} or None, default="l2"
        Norm by which rows are scaled to length 1; only with scikit-learn's weighting.
    use_idf : bool, default=True
        Whether a term weighs more the fewer documents contain it; ignored by log-count ratios.
    smooth_idf : bool, default=True
        Whether to add one document that contains every term; only with scikit-learn's weighting.
    sublinear_tf : bool, default=False
        Whether counts become 1 + log(count); only with scikit-learn's weighting.
    weighting : {"sklearn", "lecture", "lecture-smooth", "bm25", "log-count-ratio"}, default="sklearn"
        "sklearn": count × (1 + log (n + 1)/(df + 1)), then `norm`. "lecture": the count as a part of the terms of its
        document, × log n/df; "lecture-smooth": × log n/(df + 1). "bm25": of Robertson and others, with `k1` and `b`.
        "log-count-ratio": count × the naive Bayes log ratio of two classes, for which `fit` needs y (Wang and Manning,
        who use it on binary counts). A term of a given vocabulary that no document has is treated by "lecture" as if
        one had it.
    k1 : float, default=1.2
        BM25: the larger it is, the longer repetitions of a term keep adding weight.
    b : float, default=0.75
        BM25: how much the length of a document is held against it, from 0 (not at all) to 1.

    Attributes
    ----------
    idf_ : ndarray of shape (n_features,)
        Weights of the columns, if `use_idf`; absent with log-count ratios.
    log_count_ratio_ : ndarray of shape (n_features,)
        Weights of the columns, above 0 where a term speaks for `classes_[1]`; only with log-count ratios.
    classes_ : ndarray of shape (2,)
        The classes of log-count ratios.
    average_length_ : float
        Terms in a document, on average; only with BM25.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they had any.
    plan_ : Plan
        Which weighting it was.

    Examples
    --------
    >>> from mercer import TfidfTransformer
    >>> counts = [[3, 0, 1], [2, 0, 0], [3, 1, 0], [4, 0, 0]]
    >>> TfidfTransformer(weighting="lecture").fit(counts).idf_.round(3)
    array([0.   , 1.386, 1.386])
    >>> TfidfTransformer(weighting="log-count-ratio").fit(counts, [1, 0, 1, 0]).log_count_ratio_.round(3)
    array([-0.201, 0.492, 0.492])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = WEIGHTING_CONSTRAINTS

    idf_: Array

    def __init__(
        self,
        *,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        weighting: str = "sklearn",
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.weighting = weighting
        self.k1 = k1
        self.b = b

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the weights of the columns.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_samples, n_features)
            Documents × terms: counts.
        y : array-like of shape (n_samples,), default=None
            Two classes, for log-count ratios; not used otherwise.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        with old_state_on_failure(self):
            self._validate_params()
            X = self._checked(X, reset=True)
            self._settle(self._totals_of(X, y, all_classes=True), float_type(X.dtype))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add documents: afterwards the weights are those of one fit on all of them.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_samples, n_features)
            More documents × the same terms.
        y : array-like of shape (n_samples,), default=None
            Their classes, for log-count ratios.

        Returns
        -------
        self : object
            The transformer itself.
        """
        with old_state_on_failure(self):
            self._validate_params()
            before = vars(self).get("_totals")
            X = self._checked(X, reset=before is None)
            totals = self._totals_of(X, y, all_classes=False)
            self._settle(totals if before is None else before.merge(totals), float_type(X.dtype))
        return self

    def merge(self, other: Self) -> Self:
        """Fold in everything `other` has learnt; the result is that of one fit on the documents of both.

        Parameters
        ----------
        other : object
            A fitted transformer of the same weighting and columns.

        Returns
        -------
        self : object
            The transformer itself.
        """
        if type(other) is not type(self) or other.weighting != self.weighting:
            raise MergeError("cannot merge weights of different kinds; give a TfidfTransformer of the same weighting.")
        for one in (self, other):
            check_is_fitted(one, "_totals")
        with old_state_on_failure(self):
            self._settle(self._totals.merge(other._totals), np.dtype(self.plan_.dtype).type)
        return self

    def _fit_source(self, source: Source) -> Any:
        if self.weighting == "log-count-ratio":
            return NotImplemented
        first = self._checked(source.head().X, reset=True)
        totals = fold(functools.partial(_totals, clone(self)), source, Totals.merge)
        return self._settle(totals, float_type(first.dtype))

    @maps_sources
    def transform(self, X: Any, copy: bool = True) -> Any:
        """Weigh counts.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_samples, n_features)
            Documents × terms: counts.
        copy : bool, default=True
            False allows a CSR matrix of floats to be changed in place.

        Returns
        -------
        vectors : sparse matrix of shape (n_samples, n_features)
            Weights.
        """
        check_is_fitted(self)
        X = checked(self, X, reset=False, dtype=[np.float64, np.float32], copy=copy, ensure_all_finite=True)
        return _align_api_if_sparse(self._weighed(X if is_sparse(X) else sparse.csr_array(X)))

    # What is shared with vectorizers, whose counts need no checks.

    def _checked(self, X: Any, *, reset: bool) -> Any:
        X = checked(self, X, reset=reset, accept_sparse=("csr", "csc"), ensure_all_finite=True)
        return sparse.csr_array(X.astype(np.float64) if X.dtype == np.float16 else X)  # SciPy has no such

    def _totals_of(self, X: sparse.csr_array, y: Any, *, all_classes: bool) -> Totals:
        if self.weighting == "bm25":
            weights.lengths(X)  # one that is no number is refused here, not when documents are weighed
        if self.weighting != "log-count-ratio":
            return Totals.of(X)
        labels, codes = two_classes(y, X.shape[0], both=all_classes)
        return Totals.of(X, labels, codes)

    def _settle(self, totals: Totals, dtype: Any) -> None:
        """Store the weights that follow from what was seen."""
        for name in ("idf_", "average_length_", "log_count_ratio_", "classes_"):
            self.__dict__.pop(name, None)
        self._totals = totals
        self.plan_ = Plan(f"weights of {totals.n_documents:,} documents ({self.weighting})", np.dtype(dtype).name, 1, 1)
        if self.weighting == "log-count-ratio":
            self._compare(totals.by_class or {}, dtype)
            return
        if self.weighting == "bm25":
            self.average_length_ = totals.average_length
            if not np.isfinite(self.average_length_):
                raise DataError("the counts add up to more than a float can hold; divide them by a number.")
        if self.use_idf:
            self.idf_ = self._idf(totals, dtype)

    def _idf(self, totals: Totals, dtype: Any) -> Array:
        if self.weighting == "sklearn":
            return weights.sklearn_idf(totals, smooth=self.smooth_idf, dtype=dtype)
        if self.weighting == "bm25":
            return weights.bm25_idf(totals).astype(dtype)
        return weights.lecture_idf(totals, add_one=self.weighting == "lecture-smooth").astype(dtype)

    def _compare(self, by_class: dict[Any, Array], dtype: Any) -> None:
        if len(by_class) > 2:
            refuse_classes(list(by_class))
        self.classes_ = np.array(sorted(by_class))
        if len(by_class) == 2:
            first, second = (by_class[label] for label in self.classes_.tolist())
            self.log_count_ratio_ = weights.log_count_ratio(first, second).astype(dtype)

    def _weighed(self, X: Any) -> Any:
        """The same matrix, its values changed in place."""
        if self.weighting == "log-count-ratio":
            if not hasattr(self, "log_count_ratio_"):
                refuse_classes(list(self.classes_))
            weights.weigh_columns(X, self.log_count_ratio_)
            return X
        if self.weighting == "sklearn" and self.sublinear_tf:
            np.log(X.data, X.data)
            X.data += 1.0
        elif self.weighting.startswith("lecture"):
            weights.relative_frequencies(X)
        elif self.weighting == "bm25":
            weights.saturated(X, self.average_length_, k1=self.k1, b=self.b)
        if hasattr(self, "idf_"):
            weights.weigh_columns(X, np.asarray(self.idf_))
        if self.weighting == "sklearn" and self.norm is not None:
            return weights.normalised(X, self.norm)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = self.weighting == "log-count-ratio"
        return tags


def two_classes(y: Any, n: int, *, both: bool) -> tuple[Array, Array]:
    """The two classes, and which one each document has; of a batch, `both` need not be there."""
    if y is None:
        raise WeightingError(
            'requires y to be passed, but the target y is None: weighting="log-count-ratio" compares two classes of '
            "documents; give y to fit, or take another weighting."
        )
    labels, codes = encode_labels(y)
    if len(codes) != n:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[n, len(codes)]}. Give one label for each "
            "document."
        )
    if len(labels) > 2 or (both and len(labels) < 2):
        refuse_classes(labels.tolist())
    return labels, codes


def refuse_classes(labels: list[Any]) -> None:
    """Say that two classes are needed, and what to do with others."""
    remedy = "take one class against the rest, y == label" if len(labels) > 2 else "give documents of a second class"
    raise WeightingError(
        f'weighting="log-count-ratio" compares two classes of documents, but there are {len(labels)}: {labels[:5]}; '
        f"{remedy}."
    )


def float_type(dtype: Any) -> Any:
    """The type of weights of counts of this type."""
    return np.float32 if dtype == np.float32 else np.float64


def _totals(transformer: TfidfTransformer, chunk: Chunk) -> Totals:
    return Totals.of(clone(transformer)._checked(chunk.X, reset=True))


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
            X = self._as_asked(counting.count_known(self, raw_documents))
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

    def _note(self, learned: InterpretedVocabulary | compiled.ScannedVocabulary, y: Any, *, all_classes: bool) -> None:
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


def _by_class(
    learned: InterpretedVocabulary | compiled.ScannedVocabulary, labels: Array, codes: Array
) -> dict[Any, AnyVocabulary]:
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
