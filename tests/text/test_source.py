"""Vocabularies and weights of a source are those of all its documents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from mercer import CountVectorizer, HashingVectorizer, MultinomialNB, TableFeatures, TfidfTransformer, TfidfVectorizer
from mercer._errors import DataError, VocabularyError
from mercer.data.sources.memory import MemorySource
from mercer.data.sources.read_all import read_all

TALE = "the cat sat on a mat while dogs of all kinds ran after cars and über naïve ideas"


def documents(n=120):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(TALE.split(), rng.integers(1, 9))) for _ in range(n - 1)]
    return [*texts, "a word that occurs nowhere else"]


def frame():
    return pa.table({"text": documents()})


MAPS = [
    CountVectorizer(),
    CountVectorizer(min_df=3, ngram_range=(1, 2), max_features=20),
    CountVectorizer(vocabulary=["cat", "dogs"]),
    CountVectorizer(tokenizer=str.split, token_pattern=None),
    TfidfVectorizer(),
    TfidfVectorizer(weighting="bm25", min_df=2),
    TfidfVectorizer(vocabulary=["cat", "dogs", "mat"]),
    HashingVectorizer(n_features=16),
]


@pytest.mark.parametrize("vectorizer", MAPS, ids=str)
@pytest.mark.parametrize("rows", [1000, 13])
def test_streamed_fits_agree_with_fits_in_memory(vectorizer, rows):
    texts = documents()
    expected = vectorizer.fit_transform(texts)
    found = read_all(vectorizer.fit_transform(MemorySource(frame(), rows=rows))).X
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-12)
    if hasattr(vectorizer, "vocabulary_"):
        assert vectorizer.get_feature_names_out().tolist() == vectorizer.fit(texts).get_feature_names_out().tolist()


def test_weights_of_counts():
    counts = CountVectorizer().fit_transform(documents())
    expected = TfidfTransformer().fit(counts).idf_
    np.testing.assert_allclose(TfidfTransformer().fit(MemorySource(counts, rows=11)).idf_, expected, rtol=1e-12)


def test_text_to_model():
    y = np.arange(120) % 2
    pipeline = make_pipeline(TfidfVectorizer(), MultinomialNB())
    expected = pipeline.fit(documents(), y).predict_proba(documents())
    found = pipeline.fit(MemorySource(frame(), y, rows=17)).predict_proba(documents())
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_column_of_text_in_a_table():
    X = pd.DataFrame({"said": documents(), "n": np.arange(120) % 7})
    expected = TableFeatures().fit(X)
    streamed = TableFeatures().fit(MemorySource(X, rows=25))
    assert streamed.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    blocks = np.vstack([chunk.X.toarray() for chunk in streamed.transform(MemorySource(X, rows=25))])
    np.testing.assert_allclose(blocks, expected.transform(X).toarray(), rtol=1e-10, atol=1e-12)
    assert streamed.plan_.passes == 2


def test_ratios_of_classes_are_read_into_memory():
    y = np.arange(120) % 2
    expected = TfidfVectorizer(weighting="log-count-ratio").fit(documents(), y).transform(documents()[:9])
    found = (
        TfidfVectorizer(weighting="log-count-ratio").fit(MemorySource(frame(), y, rows=25)).transform(documents()[:9])
    )
    np.testing.assert_allclose(found.toarray(), expected.toarray())


def test_columns_that_are_not_text_are_rejected():
    with pytest.raises(DataError, match="reads one column of text"):
        CountVectorizer().fit(MemorySource(pa.table({"a": ["x y"], "b": ["z"]})))
    with pytest.raises(VocabularyError, match="After pruning"):
        CountVectorizer(min_df=200, max_df=300).fit(MemorySource(frame(), rows=13))
    with pytest.raises(VocabularyError, match="empty vocabulary"):
        CountVectorizer().fit(MemorySource(pa.table({"text": ["a b", "c d"]}), rows=1))


def test_documents_by_the_name_of_the_parameter():
    assert CountVectorizer().fit(raw_documents=["one two"]).get_feature_names_out().tolist() == ["one", "two"]


@pytest.mark.parametrize("vectorizer", [CountVectorizer(), TfidfVectorizer(), HashingVectorizer(n_features=8)], ids=str)
def test_a_missing_document_of_an_array_has_no_words(vectorizer):
    texts = ["a cat sat", "", "the dog ran"]
    rows = np.array([[text or None] for text in texts], dtype=object)
    expected = vectorizer.fit_transform(texts)
    found = read_all(vectorizer.fit_transform(MemorySource(rows, rows=2))).X
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-12)
