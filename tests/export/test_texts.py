"""Text: the same words, counts and weights in every language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import mercer as m
from mercer._errors import ExportError
from mercer.export import obstacle, to_sql
from tests.export._languages import by_model, check, in_onnx, in_python, in_sql

RNG = np.random.default_rng(0)
WORDS = ["Free", "FREE!", "call", "ÄPFEL", "naïve", "don't", "£5", "me_now", "tea", "2day", "x", "it's", "\\d", "Ω-3"]
ROWS = 120
SAID = pd.Series([" ".join(RNG.choice(WORDS, RNG.integers(0, 9))) for _ in range(ROWS)])
Y = np.where(SAID.str.contains("tea|Free"), "spam", "ham")
FRAME = pd.DataFrame({"said": SAID.mask(RNG.random(ROWS) < 0.1), "size": RNG.normal(size=ROWS)})
TEXT = {"said": "text"}


@pytest.mark.parametrize("text", ["tfidf", "counts", m.CountVectorizer(binary=True, stop_words=["tea"])])
@pytest.mark.parametrize("model", [m.LogisticRegression(), m.LinearSVC(), m.Ridge()], ids=repr)
def test_words_and_numbers_together(model: Any, text: Any) -> None:
    y = SAID.str.len() if isinstance(model, m.Ridge) else Y
    check(make_pipeline(m.TableFeatures(kinds=TEXT, text=text), model).fit(FRAME, y), FRAME)


def test_words_alone() -> None:
    model = make_pipeline(m.TableFeatures(kinds=TEXT, text="counts", exclude=["size"]), m.MultinomialNB())
    check(model.fit(FRAME, Y), FRAME)
    check(model, pd.DataFrame({"said": ["", None, "  "]}, dtype=object))


def test_two_columns_of_text() -> None:
    frame = FRAME.assign(title=SAID[::-1].to_numpy())
    check(make_pipeline(m.TableFeatures(kinds=TEXT | {"title": "text"}), m.LogisticRegression()).fit(frame, Y), frame)


def test_ngrams_of_words() -> None:
    text = m.TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    model = make_pipeline(m.TableFeatures(kinds=TEXT, text=text), m.LogisticRegression()).fit(FRAME, Y)
    check(model, FRAME, languages=("python", "onnx"))
    reason = obstacle(model)
    assert reason is not None
    assert reason.startswith("It can be exported to ONNX and Python only: column 'said'")


def test_patterns_and_stop_words() -> None:
    text = m.CountVectorizer(token_pattern=r"[A-Za-z']+", stop_words=["tea"], lowercase=False, ngram_range=(1, 2))
    model = make_pipeline(m.TableFeatures(kinds=TEXT, text=text), m.LogisticRegression()).fit(FRAME, Y)
    check(model, FRAME, languages=("python",))
    assert obstacle(model, "onnx") is not None


def test_documents_without_a_table() -> None:
    model = make_pipeline(m.TfidfVectorizer(), m.LogisticRegression()).fit(SAID, Y)
    expected, rows = by_model(model, SAID), pd.DataFrame({"text": SAID})
    for said in (in_sql, in_python, in_onnx):
        np.testing.assert_allclose(said(model, rows).values, expected.values, atol=1e-9)


def test_sql_of_text_needs_a_dialect() -> None:
    model = make_pipeline(m.TableFeatures(kinds=TEXT), m.LogisticRegression()).fit(FRAME, Y)
    assert obstacle(model) is None
    with pytest.raises(ExportError, match="dialect='duckdb'"):
        to_sql(model)


def test_words_with_product_weights_are_rejected() -> None:
    model = make_pipeline(m.TableFeatures(kinds=TEXT, output="array"), m.SVC()).fit(FRAME, Y)
    assert obstacle(model) == ("SVC cannot be exported: it uses the words of a text otherwise than in a weighted sum.")


def test_real_messages(real_data: Any) -> None:
    table = pd.read_csv(real_data("sms_spam.tsv"), sep="\t", quoting=3)
    X, y = table[["SMS"]], table["Label"]
    for text, model in (("tfidf", m.LogisticRegression()), ("counts", m.MultinomialNB())):
        check(make_pipeline(m.TableFeatures(kinds={"SMS": "text"}, text=text), model).fit(X, y), X)
