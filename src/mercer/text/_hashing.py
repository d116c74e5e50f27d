"""Counts of hashes of terms: nothing is learned, and the number of columns is chosen."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._stored import stored, whole
from mercer.base import traits
from mercer.base.fitted_fields import FITTED
from mercer.base.sources import fits_sources, maps_sources
from mercer.base.validation import restore_on_failure, validate_params
from mercer.data.sources.base import Source
from mercer.text import _counting as counting
from mercer.text._csr import as_configured
from mercer.text.vectorizer import ANALYSIS_CONSTRAINTS, TOKEN_PATTERN, TextVectorizer


@traits(
    "features",
    columns="documents",
    makes="words",
)
@stored(**FITTED, _stop_words_id=whole())
class HashingVectorizer(TransformerMixin, TextVectorizer, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    r"""Counts of the hashes of the terms of documents; scikit-learn's.

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
    n_features : int, default=2**20
        Number of columns: a term has the column `|h| mod n_features`, h its MurmurHash3.
    binary : bool, default=False
        Whether all values that are not 0 become 1.
    norm : {"l1", "l2"} or None, default="l2"
        Norm by which rows are scaled to length 1.
    alternate_sign : bool, default=True
        Whether terms count by the sign of h, so that terms in the same column cancel rather than add up.
    dtype : dtype, default=np.float64
        Type of the matrix.

    Attributes
    ----------
    plan_ : Plan
        Whether terms are counted by the compiled scanner or by Python, and why.

    Examples
    --------
    >>> from mercer import HashingVectorizer
    >>> words = HashingVectorizer(n_features=8, norm=None)
    >>> words.transform(["the cat sat", "the cat, the mat"]).toarray()
    array([[ 0., 0., 0., 0., 1., 0., -1., 1.], [ 0., 0., 0., -1., 0., 0., -2., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ANALYSIS_CONSTRAINTS,
        "n_features": [Interval(Integral, 1, np.iinfo(np.int32).max, closed="left")],
        "norm": [StrOptions({"l1", "l2"}), None],
        "alternate_sign": ["boolean"],
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
        n_features: int = 2**20,
        binary: bool = False,
        norm: str | None = "l2",
        alternate_sign: bool = True,
        dtype: Any = np.float64,
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
        self.n_features = n_features
        self.binary = binary
        self.norm = norm
        self.alternate_sign = alternate_sign
        self.dtype = dtype

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X : iterable
            Documents, which are not read.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The vectorizer itself.
        """
        with restore_on_failure(self):
            validate_params(self)
            self._check_documents(X)
            self._warn_for_unused_parameters()
            self._check_ngram_range()
            self.plan_ = counting.make_plan(self)
        return self

    def _fit_source(self, source: Source) -> Any:
        type(self).fit(self, [])

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X : iterable
            Documents, which are not read.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The vectorizer itself.
        """
        validate_params(self)
        self.plan_ = counting.make_plan(self)
        return self

    @maps_sources
    def transform(self, X: Any) -> Any:
        """Count the hashes of terms.

        Parameters
        ----------
        X : iterable of str, bytes, files or names, a column of a frame, or a Path (a file of lines)
            Documents.

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
            Documents × hashes.
        """
        self._check_documents(X)
        self._check_ngram_range()
        return as_configured(counting.count_hashes(self, X))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Check the parameters and count the hashes of terms.

        Parameters
        ----------
        X : iterable of str, bytes, files or names, a column of a frame, or a Path (a file of lines)
            Documents.
        y : Ignored
            Not used.

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
            Documents × hashes.
        """
        return self.fit(X, y).transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags
