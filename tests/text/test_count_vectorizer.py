"""Bag of words: lecture 3's table, one batch after another, and errors."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError

from mercer import CountVectorizer, HashingVectorizer, TfidfVectorizer
from mercer._errors import DecodingError, MergeError, TextError, VocabularyError
from tests.text._same import assert_same_matrix

TITLES = [
    "Human machine interface for Lab ABC computer applications",
    "A survey of user opinion of computer system response time",
    "The EPS user interface management system",
    "System and human system engineering testing of EPS",
    "Relation of user-perceived response time to error measurement",
    "The generation of random, binary, unordered trees",
    "The intersection graph of paths in trees",
    "Graph minors IV: Widths of trees and well-quasi-ordering",
    "Graph minors: A survey",
]
TABLE = {
    "human": [1, 0, 0, 1, 0, 0, 0, 0, 0],
    "interface": [1, 0, 1, 0, 0, 0, 0, 0, 0],
    "computer": [1, 1, 0, 0, 0, 0, 0, 0, 0],
    "user": [0, 1, 1, 0, 1, 0, 0, 0, 0],
    "system": [0, 1, 1, 2, 0, 0, 0, 0, 0],
    "response": [0, 1, 0, 0, 1, 0, 0, 0, 0],
    "time": [0, 1, 0, 0, 1, 0, 0, 0, 0],
    "eps": [0, 0, 1, 1, 0, 0, 0, 0, 0],
    "survey": [0, 1, 0, 0, 0, 0, 0, 0, 1],
    "trees": [0, 0, 0, 0, 0, 1, 1, 1, 0],
    "graph": [0, 0, 0, 0, 0, 0, 1, 1, 1],
    "minors": [0, 0, 0, 0, 0, 0, 0, 1, 1],
}
DOCUMENTS = st.lists(
    st.lists(st.sampled_from(["the", "cat", "sat", "on", "naïve", "mats"]), max_size=6).map(" ".join), max_size=6
)
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "min_df": st.sampled_from([1, 2, 0.3]),
        "max_df": st.sampled_from([1.0, 0.6, 3]),
        "max_features": st.sampled_from([None, 1, 3]),
        "binary": st.booleans(),
        "ngram_range": st.sampled_from([(1, 1), (1, 2)]),
    },
)


def test_the_nine_titles_of_lecture_3() -> None:
    counts = CountVectorizer(vocabulary=list(TABLE)).fit_transform(TITLES)
    np.testing.assert_array_equal(counts.toarray().T, list(TABLE.values()))


def test_the_stop_list_that_yields_the_table() -> None:
    """The printed terms are those in two titles or more but "of", "the" and "and"."""
    words = CountVectorizer(min_df=2, stop_words=["of", "the", "and"]).fit(TITLES)
    assert set(words.vocabulary_) == set(TABLE)
    for term, counts in TABLE.items():
        np.testing.assert_array_equal(words.transform(TITLES).toarray()[:, words.vocabulary_[term]], counts)


@settings(max_examples=100)
@given(st.lists(DOCUMENTS, min_size=1, max_size=4), LIMITS)
def test_batches_agree_with_one_pass(batches: list[list[str]], limits: dict[str, Any]) -> None:
    words = CountVectorizer(**limits)
    for batch in batches:
        words.partial_fit(batch)
    assert_learnt(words, [text for batch in batches for text in batch], limits)


@settings(max_examples=100)
@given(DOCUMENTS, DOCUMENTS, LIMITS)
def test_merged_vectorizers_agree_with_one_pass(left: list[str], right: list[str], limits: dict[str, Any]) -> None:
    try:
        one, other = CountVectorizer(**limits).fit(left), CountVectorizer(**limits).fit(right)
    except ValueError:
        return
    before = dict(other.vocabulary_)
    assert_learnt(one.merge(other), left + right, limits)
    assert other.vocabulary_ == before


def assert_learnt(words: CountVectorizer, documents: list[str], limits: dict[str, Any]) -> None:
    try:
        expected = CountVectorizer(**limits).fit(documents)
    except ValueError:
        with pytest.raises(VocabularyError, match="Vocabulary is empty"):
            words.transform(documents)
        return
    assert words.vocabulary_ == expected.vocabulary_
    assert_same_matrix(words.transform(documents), expected.transform(documents))


def test_terms_that_were_left_out_are_remembered() -> None:
    words = CountVectorizer(min_df=2).fit(["rare often", "often"])
    assert words.vocabulary_ == {"often": 0}
    assert words.partial_fit(["rare"]).vocabulary_ == {"often": 0, "rare": 1}
    assert pickle.loads(pickle.dumps(words)).partial_fit(["new new", "new"]).vocabulary_ == {
        "new": 0,
        "often": 1,
        "rare": 2,
    }


def test_terms_may_be_anything_that_can_be_a_key() -> None:
    pairs = CountVectorizer(analyzer=lambda text: list(itertools.pairwise(text)))
    X = pairs.fit_transform(["aba", "ab"])
    assert pairs.vocabulary_ == {("a", "b"): 0, ("b", "a"): 1}
    np.testing.assert_array_equal(X.toarray(), [[1, 1], [1, 0]])
    assert pairs.get_feature_names_out().tolist() == [("a", "b"), ("b", "a")]
    assert pairs.partial_fit(["bb"]).vocabulary_ == {("a", "b"): 0, ("b", "a"): 1, ("b", "b"): 2}


def test_batches_of_other_terms_and_of_strings_merge() -> None:
    numbers = CountVectorizer(analyzer=lambda document: document)
    numbers.partial_fit([[1, 2], [2]]).partial_fit([[], [3]])
    assert numbers.vocabulary_ == {1: 0, 2: 1, 3: 2}
    empty_first = CountVectorizer(analyzer=lambda document: document).partial_fit([[]]).partial_fit([[(1, 2)]])
    assert empty_first.vocabulary_ == {(1, 2): 0}


def test_the_vocabulary_is_created_at_first_access_and_may_be_replaced() -> None:
    words = CountVectorizer().fit(["the cat"])
    assert vars(words)["_column_of_term"] is None
    assert words.vocabulary_ is words.vocabulary_
    copied = pickle.loads(pickle.dumps(words))
    assert vars(copied).get("_column_of_term") is None
    assert copied.vocabulary_ == {"cat": 0, "the": 1}
    copied.vocabulary_ = {"mat": 0}
    assert copied.transform(["the mat mat"]).toarray().tolist() == [[2]]
    assert pickle.loads(pickle.dumps(copied)).vocabulary_ == {"mat": 0}
    del copied.vocabulary_
    assert not hasattr(copied, "vocabulary_")
    assert not hasattr(clone(words), "vocabulary_")


def test_inverse_transform_returns_the_terms_of_documents() -> None:
    words = CountVectorizer().fit(TITLES)
    X = words.transform(["user of the graph", "nothing known"])
    found = words.inverse_transform(X)
    assert [terms.tolist() for terms in found] == [["graph", "of", "the", "user"], []]
    assert [terms.tolist() for terms in words.inverse_transform(X.toarray())] == [terms.tolist() for terms in found]
    assert found[0].dtype.kind == "U"


def test_a_document_repeated_ten_times_has_ten_times_its_counts() -> None:
    words = CountVectorizer().fit(TITLES)
    once, often = words.transform(TITLES[:1]), words.transform([" ".join(TITLES[:1] * 10)])
    np.testing.assert_array_equal(10 * once.toarray(), often.toarray())


def test_subclasses_may_have_their_own_analyzer() -> None:
    class Stems(CountVectorizer):
        def build_analyzer(self) -> Any:
            analyze = super().build_analyzer()
            return lambda text: [word.rstrip("s") for word in analyze(text)]

    assert Stems().fit(["cats cat", "mats"]).vocabulary_ == {"cat": 0, "mat": 1}


def test_one_vectorizer_for_each_column_of_a_frame() -> None:
    frame = pd.DataFrame({"title": ["the cat", "a mat"], "body": ["sat", "was flat"]})
    X = make_column_transformer((CountVectorizer(), "title"), (CountVectorizer(), "body")).fit_transform(frame)
    assert X.shape == (2, 6)


# Errors.


VECTORIZERS = [CountVectorizer, TfidfVectorizer, HashingVectorizer]


@pytest.mark.parametrize("made", VECTORIZERS)
@pytest.mark.parametrize(
    ("stranger", "sentence"),
    [
        (5, "'int' object has no attribute 'lower'"),
        (None, "'NoneType' object has no attribute 'lower'"),
        (float("nan"), "'float' object has no attribute 'lower'"),
        (np.nan, "np.nan is an invalid document, expected byte or unicode string"),
        (["a"], "'list' object has no attribute 'lower'"),
    ],
)
def test_values_that_are_not_strings_are_named(made: Any, stranger: Any, sentence: str) -> None:
    documents = ["one", "two", stranger, "four"]
    for call in (made().fit_transform, made().fit(["one two"]).transform):
        with pytest.raises(TextError, match="Document 2 is") as rejection:
            call(documents)
        assert str(rejection.value).startswith(sentence)
        assert isinstance(rejection.value, AttributeError | ValueError | TypeError)


@pytest.mark.parametrize("made", VECTORIZERS)
@pytest.mark.parametrize(
    "column", [pl.Series(["one", None]), pa.array(["one", None]), pd.Series(["one", None], dtype="string")]
)
def test_missing_documents_of_columns_are_named(made: Any, column: Any) -> None:
    with pytest.raises(TextError, match="Document 1 is"):
        made().fit_transform(column)


def test_numbers_without_lower_case_are_rejected_by_the_pattern() -> None:
    with pytest.raises(TextError, match=r"^expected string or bytes-like object, got 'int'. Document 1 is 7"):
        CountVectorizer(lowercase=False).fit(["one", 7])


@pytest.mark.parametrize("made", VECTORIZERS)
def test_bytes_of_another_encoding_are_named(made: Any) -> None:
    with pytest.raises(DecodingError, match=r"can't decode byte 0xe9 .* in document 1; name its encoding"):
        made().fit_transform([b"fine", "café".encode("latin-1")])
    assert made(decode_error="ignore").fit_transform(["café".encode("latin-1")]).nnz == 1  # "caf"


@pytest.mark.parametrize("made", VECTORIZERS)
def test_a_string_is_rejected_as_a_list_of_documents(made: Any) -> None:
    with pytest.raises(ValueError, match=r"string object received. For one document, give a list"):
        made().fit_transform("one document")


@pytest.mark.parametrize("made", VECTORIZERS)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_is_rejected_as_a_column(made: Any, frame: Any) -> None:
    table = frame({"text": ["one", "two"]})
    for call in (made().fit_transform, made().fit(["one two"]).transform):
        with pytest.raises(TextError, match=r"table of 1 column, text; give one column, X\['text'\]"):
            call(table)


@pytest.mark.parametrize("made", VECTORIZERS)
def test_a_matrix_of_strings_is_rejected_as_a_column(made: Any) -> None:
    with pytest.raises(TextError, match=r"shape \(2, 1\); give one column, X\[:, 0\]"):
        made().fit_transform(np.array([["one"], ["two"]]))
    rows = made(analyzer=lambda row: row.tolist()).fit_transform(np.array([["one"], ["two"]]))
    assert rows.shape[0] == 2


def test_errors_of_user_functions_are_passed_on() -> None:
    def analyze(document: Any) -> Any:
        return document["text"]

    with pytest.raises(TypeError) as rejection:
        CountVectorizer(analyzer=analyze).fit([5])
    assert not isinstance(rejection.value, TextError)


def test_documents_without_terms_are_rejected() -> None:
    with pytest.raises(VocabularyError, match=r"^empty vocabulary; perhaps the documents only contain stop words"):
        CountVectorizer().fit(["a b c", ""])
    with pytest.raises(VocabularyError, match=r"^After pruning, no terms remain. .* in 1 of 2"):
        CountVectorizer(min_df=2).fit(["one", "two"])
    with pytest.raises(ValueError, match=r"^max_df corresponds to < documents than min_df"):
        CountVectorizer(min_df=2, max_df=1).fit(["one", "two"])
    with pytest.raises(NotFittedError, match=r"^Vocabulary not fitted or provided"):
        CountVectorizer().transform(["one"])


def test_a_failed_fit_leaves_the_old_vocabulary() -> None:
    words = CountVectorizer().fit(["the cat"])
    for call in (words.fit, words.partial_fit, words.fit_transform):
        with pytest.raises(TextError):
            call(["the mat", 5])
    assert words.vocabulary_ == {"cat": 0, "the": 1}
    assert words.partial_fit(["mat"]).vocabulary_ == {"cat": 0, "mat": 1, "the": 2}


def test_a_fit_with_a_given_vocabulary_discards_the_learnt_one() -> None:
    words = CountVectorizer().fit(["old words"])
    words.set_params(vocabulary=["given"]).fit(["given"])
    words.set_params(vocabulary=None).partial_fit(["new text"])
    assert words.get_feature_names_out().tolist() == ["new", "text"]


def test_only_vectorizers_of_the_same_parameters_merge() -> None:
    words = CountVectorizer().fit(["the cat"])
    with pytest.raises(MergeError, match="different ngram_range"):
        words.merge(CountVectorizer(ngram_range=(1, 2)).fit(["the cat"]))
    with pytest.raises(MergeError, match="cannot merge a TfidfVectorizer"):
        words.merge(TfidfVectorizer().fit(["the cat"]))
    with pytest.raises(NotFittedError):
        words.merge(CountVectorizer())


def test_the_plan_names_the_reason() -> None:
    assert "tokenizer is a function" in str(CountVectorizer(tokenizer=str.split, token_pattern=None).fit(["a"]).plan_)
    assert "analyzer is a function" in str(HashingVectorizer(analyzer=str.split).fit(["a"]).plan_)


def test_lines_of_a_file_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes("the naïve cat\nsat\n\non the mat".encode("latin-1"))
    lines = ["the naïve cat", "sat", "", "on the mat"]
    for options in ({}, {"tokenizer": str.split, "token_pattern": None}):
        of_file = CountVectorizer(encoding="latin-1", **options)
        of_list = CountVectorizer(**options)
        assert (of_file.fit_transform(path) != of_list.fit_transform(lines)).nnz == 0
        assert of_file.vocabulary_ == of_list.vocabulary_
        assert (of_file.transform(path) != of_list.transform(lines)).nnz == 0


def test_a_short_document_is_read_by_the_current_parameters() -> None:
    """Caches of the analyzer belong to the parameters, not to the vectorizer."""
    words = CountVectorizer(vocabulary=["a", "cat", "Cat", "the cat", "cats"])
    documents = ["The cat, a Cat"]
    assert words.transform(documents).toarray().tolist() == [[0, 2, 0, 0, 0]]
    for change, wanted in [
        ({"lowercase": False}, [0, 1, 1, 0, 0]),
        ({"token_pattern": r"\w+"}, [1, 1, 1, 0, 0]),
        ({"lowercase": True, "ngram_range": (1, 2)}, [1, 2, 0, 1, 0]),
        ({"stop_words": ["cat"]}, [1, 0, 0, 0, 0]),
        ({"stop_words": None, "tokenizer": lambda text: [f"{word}s" for word in text.split()]}, [0, 0, 0, 0, 1]),
    ]:
        words.set_params(**change)
        assert words.transform(documents).toarray().tolist() == [wanted]
