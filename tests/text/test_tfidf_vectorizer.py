"""Documents to weights, one batch after another; and spam."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from mercer import CountVectorizer, LogisticRegression, MultinomialNB, TfidfTransformer, TfidfVectorizer
from mercer._errors import EmptyDataError, WeightingError
from tests.text._same import assert_same_matrix

DOCUMENTS = st.lists(
    st.tuples(st.lists(st.sampled_from(["the", "cat", "sat", "on", "mats"]), max_size=6).map(" ".join), st.booleans()),
    min_size=1,
    max_size=6,
)
OPTIONS = st.fixed_dictionaries(
    {"weighting": st.sampled_from(["sklearn", "lecture", "lecture-smooth", "bm25", "log-count-ratio"])},
    optional={
        "min_df": st.sampled_from([1, 2]),
        "max_features": st.sampled_from([None, 2]),
        "binary": st.booleans(),
        "vocabulary": st.sampled_from([None, ["the", "dog", "cat"]]),
        "dtype": st.sampled_from([np.float32, np.float64]),
    },
)


@settings(max_examples=150)
@given(DOCUMENTS, DOCUMENTS, OPTIONS)
def test_batches_and_merges_agree_with_one_pass(left: Any, right: Any, options: dict[str, Any]) -> None:
    (texts, labels), (more, their_labels) = (map(list, zip(*one, strict=True)) for one in (left, right))
    whole = TfidfVectorizer(**options)
    try:
        expected = whole.fit_transform(texts + more, labels + their_labels)
    except ValueError:
        return
    batches = TfidfVectorizer(**options).partial_fit(texts, labels).partial_fit(more, their_labels)
    assert_same_matrix(batches.transform(texts + more), expected, digits=1e-6)
    np.testing.assert_array_equal(batches.transform(texts).toarray(), whole.transform(texts).toarray())
    try:
        halves = TfidfVectorizer(**options).fit(texts, labels), TfidfVectorizer(**options).fit(more, their_labels)
    except ValueError:
        return
    assert_same_matrix(halves[0].merge(halves[1]).transform(texts + more), whole.transform(texts + more))


@pytest.mark.parametrize("weighting", ["sklearn", "lecture", "lecture-smooth", "bm25"])
def test_counts_and_then_weights(weighting: str) -> None:
    documents = ["the cat sat", "the cat, the mat", "a dog"]
    parts = make_pipeline(CountVectorizer(), TfidfTransformer(weighting=weighting)).fit_transform(documents)
    assert_same_matrix(TfidfVectorizer(weighting=weighting).fit_transform(documents), parts)


def test_weights_that_may_be_set() -> None:
    words = TfidfVectorizer().fit(["the cat", "the mat"])
    copied = TfidfVectorizer(vocabulary=words.vocabulary_)
    copied.idf_ = words.idf_
    assert_same_matrix(copied.transform(["mat cat"]), words.transform(["mat cat"]))
    with pytest.raises(ValueError, match=r"idf length = 2 must be equal to vocabulary size = 3"):
        copied.idf_ = [1.0, 2.0]


def test_ratios_need_classes() -> None:
    words = TfidfVectorizer(weighting="log-count-ratio")
    with pytest.raises(WeightingError, match="y is None"):
        words.fit(["one", "two"])
    words.fit(["one two", "two"], ["ham", "spam"])
    assert not hasattr(words, "idf_")


@pytest.mark.parametrize("vocabulary", [None, ["good", "bad"]])
def test_a_merge_that_fails_leaves_the_old_weights(vocabulary: Any) -> None:
    texts = ["good film", "bad film", "good good", "bad bad"]
    words = TfidfVectorizer(weighting="log-count-ratio", vocabulary=vocabulary).fit(texts, ["p", "n", "p", "n"])
    before = words.transform(texts)
    with pytest.raises(WeightingError, match="two classes of documents, but there are 3"):
        words.merge(clone(words).fit(texts, ["p", "x", "p", "x"]))
    assert_same_matrix(words.transform(texts), before)


@pytest.mark.parametrize("norm", ["l2", None])
def test_no_documents_have_no_weights(norm: str | None) -> None:
    with pytest.raises(EmptyDataError, match=r"^Found array with 0 sample\(s\) \(shape=\(0, 2\)\) .* TfidfTransformer"):
        TfidfVectorizer(norm=norm).fit(["the cat"]).transform([])
    with pytest.raises(EmptyDataError, match="Give at least one document"):
        TfidfVectorizer(norm=norm, vocabulary=["cat"]).fit([])


def test_words_need_a_pattern_or_a_tokenizer() -> None:
    with pytest.raises(TypeError, match=r"^first argument must be string or compiled pattern. Without a token_pattern"):
        TfidfVectorizer(token_pattern=None).fit(["the cat"])


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(CountVectorizer(), MultinomialNB()),
        make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=100)),
        make_pipeline(TfidfVectorizer(weighting="log-count-ratio", binary=True), LogisticRegression()),
    ],
    ids=["naive Bayes", "logistic", "ratios"],
)
def test_spam_is_separated_from_messages(spam: tuple[list[str], np.ndarray], model: Any) -> None:
    texts, labels = spam
    assert cross_val_score(clone(model), texts, labels, cv=5).mean() >= 0.98
