"""Hashes of terms: where they go, and with which sign."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer as Theirs
from sklearn.utils import murmurhash3_32

from mercer import HashingVectorizer
from mercer._errors import DataError, EmptyDataError
from tests.text._same import assert_same_matrix


def test_the_column_and_sign_of_a_term() -> None:
    for term in ("cat", "naïve", "日本", "a" * 100):
        h = murmurhash3_32(term, seed=0)
        X = HashingVectorizer(n_features=1000, norm=None).transform([f"{term} {term}"])
        assert X.indices.tolist() == [abs(h) % 1000]
        assert X.data.tolist() == [2.0 if h >= 0 else -2.0]


def test_terms_that_cancel_stay_as_zeros() -> None:
    """Entries that sum to 0 are stored, as in scikit-learn."""
    vectorizer = HashingVectorizer(n_features=1, norm=None)
    signs = {word: vectorizer.transform([word]).data[0] for word in ("the", "cat", "sat", "mat", "dog", "on")}
    one, other = (next(word for word, value in signs.items() if value == sign) for sign in (1, -1))
    X = vectorizer.transform([f"{one} {other}"])
    assert X.nnz == 1
    assert X.data.tolist() == [0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_counts_of_any_dtype(dtype: type) -> None:
    documents = ["the cat, the mat", "", "on the mat"]
    options = {"dtype": dtype, "norm": None, "n_features": 32}
    assert_same_matrix(HashingVectorizer(**options).transform(documents), Theirs(**options).transform(documents))


def test_it_needs_no_fit_and_learns_nothing() -> None:
    vectorizer = HashingVectorizer()
    X = vectorizer.transform(["the cat"])
    assert not vars(vectorizer).get("plan_")
    assert_same_matrix(vectorizer.partial_fit(["other"]).transform(["the cat"]), X)
    assert_same_matrix(pickle.loads(pickle.dumps(vectorizer)).transform(["the cat"]), X)
    assert_same_matrix(clone(vectorizer).transform(["the cat"]), X)


def test_invalid_input_is_rejected() -> None:
    with pytest.raises(EmptyDataError, match=r"^Cannot vectorize empty sequence. Give at least one"):
        HashingVectorizer().transform([])
    with pytest.raises(DataError, match=r"^Samples can not be a single string"):
        HashingVectorizer(analyzer=str.upper).transform(["cat"])
    with pytest.raises(TypeError, match="feature names must be strings"):
        HashingVectorizer(analyzer=lambda document: document).transform([[1, 2]])
    with pytest.raises(ValueError, match="n_features"):
        HashingVectorizer(n_features=0).fit(["cat"])


def test_half_of_a_surrogate_pair_is_named_by_its_document() -> None:
    with pytest.raises(UnicodeEncodeError, match=r"surrogates not allowed\. They are in document 1"):
        HashingVectorizer(analyzer="char").transform(["a", "b\ud800"])


@pytest.mark.parametrize("copies", [1, 9])
@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
def test_a_lone_surrogate_has_no_hash_however_many_documents_there_are(analyzer: str, copies: int) -> None:
    documents = ["plain", "x \ud800y"] * copies
    for vectorizer in (Theirs, HashingVectorizer):
        with pytest.raises(UnicodeEncodeError):
            vectorizer(analyzer=analyzer).transform(documents)
    # accents that are taken away take it along, and no word has one
    for options in ({"analyzer": analyzer, "strip_accents": "ascii"}, {"analyzer": "word"}):
        assert_same_matrix(HashingVectorizer(**options).transform(documents), Theirs(**options).transform(documents))
