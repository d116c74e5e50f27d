"""Bags of words: lecture 3's documents as they are written, and lecture 5's four ways to represent a word.

Lecture 3's table of nine titles is in `tests/text/test_count_vectorizer.py`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from mercer import BernoulliNB, CountVectorizer, MultinomialNB, TfidfVectorizer

DOCUMENTS = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
CLASSES = ["c", "c", "c", "j"]
DOCUMENT_5 = "Chinese Chinese Chinese Tokyo Japan"
#: probabilities of the words in classes c and j, as the lecture prints them
BETA = {
    "chinese": (Fraction(3, 7), Fraction(2, 9)),
    "beijing": (Fraction(1, 7), Fraction(1, 9)),
    "shanghai": (Fraction(1, 7), Fraction(1, 9)),
    "macao": (Fraction(1, 7), Fraction(1, 9)),
    "tokyo": (Fraction(1, 14), Fraction(2, 9)),
    "japan": (Fraction(1, 14), Fraction(2, 9)),
}


def test_naive_bayes_from_the_words_of_documents() -> None:
    """Compute 3/4 · (3/7)³ · (1/14)² and 1/4 · (2/9)³ · (2/9)² from strings."""
    model = make_pipeline(CountVectorizer(), MultinomialNB(alpha=1)).fit(DOCUMENTS, CLASSES)
    words, bayes = model[0], model[1]
    found = dict(zip(words.get_feature_names_out(), np.exp(bayes.feature_log_prob_).T, strict=True))
    assert found.keys() == BETA.keys()
    for word, beta in BETA.items():
        assert found[word] == pytest.approx([float(share) for share in beta], rel=1e-14)

    scores = np.exp(bayes.predict_joint_log_proba(words.transform([DOCUMENT_5])))[0]
    joint = Fraction(3, 4) * Fraction(3, 7) ** 3 * Fraction(1, 14) ** 2, Fraction(1, 4) * Fraction(2, 9) ** 5
    assert scores == pytest.approx([float(score) for score in joint], rel=1e-13)
    assert scores.round(6).tolist() == [0.000301, 0.000135]
    assert model.predict_proba([DOCUMENT_5])[0, 0].round(3) == 0.690
    assert model.predict([DOCUMENT_5]) == ["c"]


def test_presence_of_words_gives_another_model() -> None:
    """With 0 and 1 instead of counts absent words count too, and the class becomes j."""
    model = make_pipeline(CountVectorizer(binary=True), BernoulliNB(alpha=1)).fit(DOCUMENTS, CLASSES)
    scores = np.exp(model[1].predict_joint_log_proba(model[0].transform([DOCUMENT_5])))[0]
    assert scores.round(4).tolist() == [0.0052, 0.0219]
    assert model.predict([DOCUMENT_5]) == ["j"]


def test_a_document_repeated_ten_times_weighs_ten_times() -> None:
    words, bayes = CountVectorizer(), MultinomialNB()
    bayes.fit(words.fit_transform(DOCUMENTS), CLASSES)

    def evidence(document: str) -> np.ndarray:
        return np.asarray(bayes.predict_joint_log_proba(words.transform([document])) - bayes.class_log_prior_)

    np.testing.assert_allclose(evidence(" ".join([DOCUMENT_5] * 10)), 10 * evidence(DOCUMENT_5), rtol=1e-14)


# Lecture 5: a word of a document as an indicator, by its frequency, by its self-information, by both.


def weights(vectorizer: CountVectorizer) -> dict[str, float]:
    """The words of the first document are "Chinese Beijing Chinese"."""
    row = vectorizer.fit(DOCUMENTS).transform(DOCUMENTS[:1]).toarray()[0]
    return {word: row[vectorizer.vocabulary_[word]] for word in ("chinese", "beijing", "tokyo")}


def test_four_ways_to_represent_a_word() -> None:
    binary = weights(CountVectorizer(binary=True))
    assert binary == {"chinese": 1, "beijing": 1, "tokyo": 0}
    frequency = weights(TfidfVectorizer(weighting="lecture", use_idf=False))
    assert frequency == pytest.approx({"chinese": 2 / 3, "beijing": 1 / 3, "tokyo": 0})
    both = weights(TfidfVectorizer(weighting="lecture"))
    assert both == pytest.approx({"chinese": 2 / 3 * math.log(4 / 4), "beijing": 1 / 3 * math.log(4 / 1), "tokyo": 0})
    plus_one = weights(TfidfVectorizer(weighting="lecture-smooth"))
    assert plus_one == pytest.approx(
        {"chinese": 2 / 3 * math.log(4 / 5), "beijing": 1 / 3 * math.log(4 / 2), "tokyo": 0}
    )


def test_idf_is_the_self_information_of_having_the_word() -> None:
    """I(P(d ∋ t)) = −log of the part of the documents that have it: rare words say more."""
    words = TfidfVectorizer(weighting="lecture").fit(DOCUMENTS)
    having = CountVectorizer(binary=True).fit_transform(DOCUMENTS).toarray().mean(axis=0)
    np.testing.assert_allclose(words.idf_, -np.log(having), atol=1e-15)
    assert words.idf_[words.vocabulary_["chinese"]] == 0


def test_the_lectures_weights_are_not_the_default() -> None:
    """scikit-learn's TF is the count, its idf never 0, its rows have length 1."""
    default = weights(TfidfVectorizer(norm=None))
    assert default["chinese"] == 2.0
    assert default["beijing"] == pytest.approx(1 + math.log(5 / 2))
    lengths = np.sqrt(TfidfVectorizer().fit_transform(DOCUMENTS).power(2).sum(axis=1))
    np.testing.assert_allclose(lengths, 1)
