"""TF-IDF and related weightings (lecture 5): counts of terms weighted by how informative the terms are.

The formulas of the weights are in `_weights`.
"""

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

from mercer._errors import DataError, EmptyDataError, MergeError, WeightingError
from mercer._stored import ANYTHING, floats, mapping, part_of, real, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import traits
from mercer.base.fitted_fields import FITTED, FITTED_TEXT
from mercer.base.sources import fits_sources, is_source, maps_sources
from mercer.base.validation import Plan, check_is_fitted, check_rows, is_sparse, restore_on_failure, validate_params
from mercer.data.labels import encode_labels
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.text import _compiled as compiled
from mercer.text import _counting as counting
from mercer.text import _weights as weights
from mercer.text._count import CountVectorizer
from mercer.text._csr import as_configured
from mercer.text._interpreted import AnyVocabulary, InterpretedCounts, merge_vocabularies
from mercer.text._weights import Totals, class_sums
from mercer.text.vectorizer import TOKEN_PATTERN, chunk_documents

#: values of `weighting`
WEIGHTINGS = {"sklearn", "lecture", "lecture-smooth", "bm25", "log-count-ratio"}
#: constraints of the parameters of `TfidfTransformer`
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
@stored(**FITTED, idf_=floats("d"), _totals=part_of(Totals, v="d"), average_length_=real(), log_count_ratio_=floats())
class TfidfTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Weights of counts of terms; scikit-learn's, with more weightings and incremental learning.

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
        "sklearn": count × (1 + log (n + 1)/(df + 1)), then `norm`. "lecture": the count divided by the number of terms
        in its document, × log n/df; "lecture-smooth": × log n/(df + 1). "bm25": the weighting of Robertson and others,
        with `k1` and `b`. "log-count-ratio": count × the naive Bayes log ratio of two classes, for which `fit` needs y
        (Wang and Manning, who use it on binary counts). "lecture" treats a term of a given vocabulary that no document
        contains as if one contained it.
    k1 : float, default=1.2
        BM25: the larger it is, the longer repetitions of a term keep adding weight.
    b : float, default=0.75
        BM25: how strongly long documents are penalized, from 0 (not at all) to 1.

    Attributes
    ----------
    idf_ : ndarray of shape (n_features,)
        Weights of the columns, if `use_idf`; absent with log-count ratios.
    log_count_ratio_ : ndarray of shape (n_features,)
        Weights of the columns, positive where a term indicates `classes_[1]`; only with log-count ratios.
    classes_ : ndarray of shape (2,)
        The classes of log-count ratios.
    average_length_ : float
        Average number of terms in a document; only with BM25.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they had any.
    plan_ : Plan
        The weighting, and the number of documents.

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
        with restore_on_failure(self):
            validate_params(self)
            X = self._checked(X, reset=True)
            self._set_weights(self._compute_totals(X, y, all_classes=True), float_type(X.dtype))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add documents: the weights become those of one fit on all documents.

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
        with restore_on_failure(self):
            validate_params(self)
            before = vars(self).get("_totals")
            X = self._checked(X, reset=before is None)
            totals = self._compute_totals(X, y, all_classes=False)
            self._set_weights(totals if before is None else before.merge(totals), float_type(X.dtype))
        return self

    def merge(self, other: Self) -> Self:
        """Add what `other` has learned; the result is that of one fit on the documents of both.

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
        with restore_on_failure(self):
            self._set_weights(self._totals.merge(other._totals), np.dtype(self.plan_.dtype).type)
        return self

    def _fit_source(self, source: Source) -> Any:
        if self.weighting == "log-count-ratio":
            return NotImplemented
        first = self._checked(source.head().X, reset=True)
        totals = fold(functools.partial(_chunk_totals, clone(self)), source, Totals.merge)
        return self._set_weights(totals, float_type(first.dtype))

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
        X = check_rows(self, X, reset=False, dtype=[np.float64, np.float32], copy=copy, ensure_all_finite=True)
        return _align_api_if_sparse(self._weigh(X if is_sparse(X) else sparse.csr_array(X)))

    def _checked(self, X: Any, *, reset: bool) -> Any:
        X = check_rows(self, X, reset=reset, accept_sparse=("csr", "csc"), ensure_all_finite=True)
        return sparse.csr_array(X.astype(np.float64) if X.dtype == np.float16 else X)  # SciPy has no sparse float16

    # The following methods are shared with TfidfVectorizer, whose counts need no checks.

    def _compute_totals(self, X: sparse.csr_array, y: Any, *, all_classes: bool) -> Totals:
        if self.weighting == "bm25":
            weights.document_lengths(X)  # raise the error of an overflow here, not when documents are weighed
        if self.weighting != "log-count-ratio":
            return Totals.of(X)
        labels, codes = encode_two_classes(y, X.shape[0], both=all_classes)
        return Totals.of(X, labels, codes)

    def _set_weights(self, totals: Totals, dtype: Any) -> None:
        """Compute and store the weights that follow from the totals."""
        for name in ("idf_", "average_length_", "log_count_ratio_", "classes_"):
            self.__dict__.pop(name, None)
        self._totals = totals
        self.plan_ = Plan(f"weights of {totals.n_documents:,} documents ({self.weighting})", np.dtype(dtype).name, 1, 1)
        if self.weighting == "log-count-ratio":
            by_class = totals.by_class or {}
            if len(by_class) > 2:
                raise_for_classes(list(by_class))
            self.classes_ = np.array(sorted(by_class))
            if len(by_class) == 2:
                first, second = (by_class[label] for label in self.classes_.tolist())
                self.log_count_ratio_ = weights.log_count_ratio(first, second).astype(dtype)
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

    def _weigh(self, X: Any) -> Any:
        """Weigh the counts in place and return the matrix."""
        if self.weighting == "log-count-ratio":
            if not hasattr(self, "log_count_ratio_"):
                raise_for_classes(list(self.classes_))
            weights.weigh_columns(X, self.log_count_ratio_)
            return X
        if self.weighting == "sklearn" and self.sublinear_tf:
            np.log(X.data, X.data)
            X.data += 1.0
        elif self.weighting.startswith("lecture"):
            weights.apply_relative_frequency(X)
        elif self.weighting == "bm25":
            weights.apply_saturation(X, self.average_length_, k1=self.k1, b=self.b)
        if hasattr(self, "idf_"):
            weights.weigh_columns(X, np.asarray(self.idf_))
        if self.weighting == "sklearn" and self.norm is not None:
            return weights.normalize_rows(X, self.norm)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = self.weighting == "log-count-ratio"
        return tags


def encode_two_classes(y: Any, n: int, *, both: bool) -> tuple[Array, Array]:
    """Return the classes of `y` and the code of each document; `both` requires that both classes occur."""
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
        raise_for_classes(labels.tolist())
    return labels, codes


def raise_for_classes(labels: list[Any]) -> None:
    """Raise the error that two classes are needed, and how to obtain them."""
    remedy = "take one class against the rest, y == label" if len(labels) > 2 else "give documents of a second class"
    raise WeightingError(
        f'weighting="log-count-ratio" compares two classes of documents, but there are {len(labels)}: {labels[:5]}; '
        f"{remedy}."
    )


def float_type(dtype: Any) -> Any:
    """Return the type of weights of counts of a type."""
    return np.float32 if dtype == np.float32 else np.float64


def _chunk_totals(transformer: TfidfTransformer, chunk: Chunk) -> Totals:
    return Totals.of(clone(transformer)._checked(chunk.X, reset=True))


#: scikit-learn's types of weights; others are converted to float64 with a warning
WEIGHT_TYPES = (np.float64, np.float32, np.float16)


@traits(
    "features",
    columns="documents",
    makes="words",
    export="mercer.export.texts.documents",
)
@stored(**FITTED_TEXT, _tfidf=part_of(TfidfTransformer), _class_terms=mapping(ANYTHING, part_of()))
class TfidfVectorizer(CountVectorizer):
    r"""TF-IDF weights of the terms of documents: `CountVectorizer`, then `TfidfTransformer`.

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
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Whether terms are words, characters, or characters inside words; or a function from a document to its terms.
    stop_words : {"english"}, list, default=None
        Words to leave out.
    token_pattern : str or None, default=r"(?u)\\b\\w\\w+\\b"
        Regular expression of a word: by default, two or more letters or digits.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        Smallest and largest number of words, or characters, in a term.
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
        Weighting of the counts: see `TfidfTransformer`.
    k1 : float, default=1.2
        BM25: the larger it is, the longer repetitions of a term keep adding weight.
    b : float, default=0.75
        BM25: how strongly long documents are penalized, from 0 (not at all) to 1.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term; created at the first access.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    idf_ : ndarray of shape (n_features,)
        Weights of the columns, if `use_idf`.
    plan_ : Plan
        Whether terms are counted by the compiled scanner or by Python, and why.

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

    _class_terms: dict[Any, AnyVocabulary]

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
        with restore_on_failure(self):
            self._learn(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and the weights, and return the weights of the same documents.

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
        with restore_on_failure(self):
            X = self._learn(raw_documents, y)
            return as_configured(self._tfidf._weigh(_as_floats(X)))

    def _fit_source(self, source: Source) -> Any:
        if self.weighting == "log-count-ratio":
            return NotImplemented
        super()._fit_source(source)
        if self.fixed_vocabulary_:
            self._set_weights(fold(functools.partial(_count_chunk_totals, self), source, Totals.merge))
        else:
            self._set_weights(self._column_totals())
        return None

    @maps_sources
    def transform(self, raw_documents: Any) -> Any:
        """Return the weights of the terms of documents.

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
        X = self._count(raw_documents)
        _check_not_empty(X)
        return as_configured(self._tfidf._weigh(_as_floats(X)))

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
        with restore_on_failure(self):
            self._check_mergeable(other)
            if self.fixed_vocabulary_:
                self._tfidf.merge(other._tfidf)
                return self
            if self.weighting == "log-count-ratio":
                self._class_terms = _merge_classes(
                    self._class_terms, self._all_terms, other._class_terms, other._all_terms
                )
            super().merge(other)
            self._set_weights(self._column_totals())
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
            self._tfidf = self._make_transformer()
        if self.vocabulary is not None:
            self._take_vocabulary()
        if hasattr(self, "vocabulary_") and len(self.vocabulary_) != len(value):
            raise DataError(
                f"idf length = {len(value)} must be equal to vocabulary size = {len(self.vocabulary_)}. Give one "
                "weight for each column."
            )
        self._tfidf.idf_ = value

    # Learning.

    def _prepare_fit(self, raw_documents: Any) -> None:
        if self.dtype not in WEIGHT_TYPES:
            warn(
                f"Only {WEIGHT_TYPES} 'dtype' should be used. {self.dtype} 'dtype' will be converted to np.float64.",
                UserWarning,
            )
        super()._prepare_fit(raw_documents)

    def _make_transformer(self) -> TfidfTransformer:
        names = TfidfTransformer().get_params()
        return TfidfTransformer(**{name: getattr(self, name) for name in names})

    def _learn(self, raw_documents: Any, y: Any) -> sparse.csr_array:
        self._class_terms = {}
        X = super()._learn(raw_documents, y)
        _check_not_empty(X)
        if self.fixed_vocabulary_:
            self._set_weights(self._make_transformer()._compute_totals(X, y, all_classes=True))
        else:
            self._set_weights(self._column_totals())
        return X

    def _add(self, raw_documents: Any, y: Any) -> None:
        if self.fixed_vocabulary_:
            before = getattr(vars(self).get("_tfidf"), "_totals", None)
            X = self._convert(counting.count_known(self, raw_documents))
            totals = self._make_transformer()._compute_totals(X, y, all_classes=False)
            self._set_weights(totals if before is None else before.merge(totals))
        else:
            super()._add(raw_documents, y)
            self._set_weights(self._column_totals())

    def _set_weights(self, totals: Totals) -> None:
        """Store the weights in a new transformer, so that the old one is unchanged after an error."""
        tfidf = self._make_transformer()
        tfidf._set_weights(totals, float_type(self.dtype))
        self._tfidf = tfidf

    def _add_classes(
        self, learned: InterpretedCounts | compiled.ScannedVocabulary, y: Any, *, all_classes: bool
    ) -> None:
        """Count the terms of each class separately for their log-count ratios."""
        if self.weighting != "log-count-ratio":
            return
        new = _count_by_class(learned, *encode_two_classes(y, learned.vocabulary.n_documents, both=all_classes))
        if old := vars(self).get("_class_terms"):
            new = _merge_classes(old, self._all_terms, new, learned.vocabulary)
        self._class_terms = new

    def _column_totals(self) -> Totals:
        """Return the totals of the columns in all documents so far."""
        by_class = None
        if self.weighting == "log-count-ratio":
            by_class = {label: self._column_sums(terms)[self._is_column] for label, terms in self._class_terms.items()}
        terms = self._column_terms
        return Totals(terms.n_documents, terms.document_counts, float(self._column_sums(terms).sum()), by_class)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags._skip_test = True
        tags.target_tags.required = self.weighting == "log-count-ratio"
        return tags


def _count_chunk_totals(vectorizer: TfidfVectorizer, chunk: Chunk) -> Totals:
    return Totals.of(vectorizer._count(chunk_documents(chunk.X)))


def _check_not_empty(X: Any) -> None:
    if not X.shape[0]:
        raise EmptyDataError(
            f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required by "
            "TfidfTransformer. Give at least one document."
        )


def _count_by_class(
    learned: InterpretedCounts | compiled.ScannedVocabulary, labels: Array, codes: Array
) -> dict[Any, AnyVocabulary]:
    """Return for each class the vocabulary of all documents with the counts of the documents of this class."""
    occurrences = learned.counts
    presence = occurrences.copy()
    presence.data = np.ones_like(presence.data)
    counts = zip(*(class_sums(X, codes, len(labels)).astype(np.int64) for X in (presence, occurrences)), strict=True)
    sizes = np.bincount(codes, minlength=len(labels)).tolist()
    return {
        label: replace(learned.vocabulary, document_counts=df, term_counts=tf, n_documents=size)
        for label, (df, tf), size in zip(labels.tolist(), counts, sizes, strict=True)
    }


def _merge_classes(
    mine: dict[Any, AnyVocabulary],
    my_terms: AnyVocabulary,
    theirs: dict[Any, AnyVocabulary],
    their_terms: AnyVocabulary,
) -> dict[Any, AnyVocabulary]:
    """Merge two dicts of classes; each class gets all terms of both, so that all counts have the same columns."""
    labels = [*mine, *(label for label in theirs if label not in mine)]
    return {
        label: merge_vocabularies(mine.get(label, _zero_counts(my_terms)), theirs.get(label, _zero_counts(their_terms)))
        for label in labels
    }


def _zero_counts(vocabulary: AnyVocabulary) -> AnyVocabulary:
    """Return the vocabulary with the same terms and no documents."""
    zeros = np.zeros(len(vocabulary), dtype=np.int64)
    return replace(vocabulary, document_counts=zeros, term_counts=zeros, n_documents=0)


def _as_floats(X: sparse.csr_array) -> sparse.csr_array:
    """Convert counts to a floating-point type, in which they can be weighed in place."""
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
