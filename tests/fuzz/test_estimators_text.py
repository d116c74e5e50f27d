"""Random documents to the vectorizers: scikit-learn's columns and counts, or a refusal where it refuses too."""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import sklearn.feature_extraction.text as theirs

import mercer
from tests.fuzz._laws import Refused, dense, equal, refusals_are_sentences

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"ngram_range": (1, 2)},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"analyzer": "char_wb", "ngram_range": (2, 3)},
    {"lowercase": False, "binary": True},
    {"strip_accents": "unicode", "stop_words": "english"},
    {"token_pattern": r"\S+"},
    {"min_df": 2, "max_features": 3},
)
VECTORIZERS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")

words = st.one_of(
    st.sampled_from(
        ["the", "cat", "sat", "Straße", "naïve", "ИСТИНА", "ﬁne", "İstanbul", "e\u0301te\u0301", "x\x00y", "123"]
    ),
    st.text(max_size=8),  # any of Unicode, surrogates apart
    st.sampled_from(["\ud800", "a\udfffb", "\u200b\u200d", "\U0001f600"]),
)
documents = st.lists(st.lists(words, max_size=8).map(" ".join), max_size=12)


def same_as_scikit_learn(name: str, options: dict[str, Any], texts: list[str]) -> str:
    if name == "HashingVectorizer":
        options = {k: v for k, v in options.items() if k not in ("min_df", "max_features")} | {"n_features": 64}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twin = getattr(theirs, name)(**options)
            expected = twin.fit_transform(texts)
    except (ValueError, TypeError, StopIteration):  # the last of an empty list
        expected = None
    model = getattr(mercer, name)(**options)
    try:
        with refusals_are_sentences():
            counts = model.fit_transform(texts)
    except Refused as refusal:
        if expected is not None:
            raise AssertionError("scikit-learn reads them") from refusal
        return "refused"
    assert expected is not None, "scikit-learn refuses them"
    np.testing.assert_allclose(dense(counts), dense(expected), rtol=1e-12)
    if name != "HashingVectorizer":
        np.testing.assert_array_equal(model.get_feature_names_out(), twin.get_feature_names_out())
    np.testing.assert_allclose(dense(model.transform(texts)), dense(twin.transform(texts)), rtol=1e-12)
    travels(model, texts)
    return "fitted"


def travels(model: Any, texts: list[str]) -> None:
    said = {"transform": dense(model.transform(texts))}
    equal({"transform": dense(pickle.loads(pickle.dumps(model)).transform(texts))}, said)
    with tempfile.TemporaryDirectory() as folder:
        mercer.save(model, Path(folder) / "model")
        equal({"transform": dense(mercer.load(Path(folder) / "model").transform(texts))}, said)


@pytest.mark.parametrize("name", VECTORIZERS)
def test_whatever_is_written(name: str, campaign: Callable[..., None]) -> None:
    inputs = st.tuples(st.sampled_from(OPTIONS), documents)
    campaign(lambda drawn: same_as_scikit_learn(name, *drawn), inputs)
