"""Columns of text as words: read once and weighed as requested; columns without words are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import TfidfVectorizer as TheirVectorizer

from mercer import CountVectorizer, TableFeatures, TfidfVectorizer
from mercer._errors import ColumnTypeError, VocabularyError
from tests.preprocessing._frame import FRAME


@pytest.mark.parametrize("make", [TheirVectorizer, TfidfVectorizer, CountVectorizer])
def test_text_is_read_once(make: Any) -> None:
    read = []
    features = TableFeatures(text=make(preprocessor=lambda text: read.append(text) or text))
    frame = FRAME[["note", "age"]].assign(note=[None, *FRAME.note[1:]])
    found = np.asarray(features.fit_transform(frame))
    assert read == ["", *FRAME.note[1:]]
    assert_allclose(np.asarray(features.transform(frame)), found)


def test_weights_of_words_may_depend_on_classes() -> None:
    y = FRAME.note.str.contains("big")
    features = TableFeatures(text=TfidfVectorizer(weighting="log-count-ratio"))
    found = dict(
        zip(
            features.fit(FRAME[["note"]], y).get_feature_names_out(),
            features.transform(FRAME[["note"]]).tocsr().T,
            strict=True,
        )
    )
    assert (found["note[big]"].max() > 0) != (found["note[small]"].max() > 0)


def test_words_agree_with_scikit_learn() -> None:
    words = TableFeatures(output="sparse").fit_transform(FRAME[["note"]])
    assert_allclose(words.toarray(), TheirVectorizer().fit_transform(FRAME.note).toarray())
    counts = TableFeatures(text=CountVectorizer(binary=True), output="array").fit_transform(FRAME[["note"]])
    assert set(np.unique(counts)) == {0.0, 1.0}


def test_text_without_words_is_named() -> None:
    with pytest.raises(VocabularyError, match=r"Column 't' as text: empty vocabulary.*exclude"):
        TableFeatures(kinds={"t": "text"}).fit(pd.DataFrame({"t": ["!", "?"] * 5}))
    features = TableFeatures().fit(FRAME[["note"]])
    with pytest.raises(ColumnTypeError, match=r"'note' must hold text, but is 3.5 of type float in row 1"):
        features.transform(pd.DataFrame({"note": ["a b c", 3.5]}))
