"""The matrices are those of scikit-learn, for any documents and parameters."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.feature_extraction import text as sklearn_text

import mercer
from tests.text._same import assert_same_matrix, assert_same_outcome

COUNT, TFIDF, HASHING = "CountVectorizer", "TfidfVectorizer", "HashingVectorizer"
#: sums of squares are added in another order
DIGITS = {COUNT: 0.0, TFIDF: 1e-14, HASHING: 0.0}

#: all code points that are assigned, or were when this was written, 256 at a time; planes without any are left out
POINTS = [[chr(start + code) for code in range(256)] for start in (*range(0, 0x33000, 256), 0xE0000, 0xE0100, 0x10FF00)]
QUICK = settings(max_examples=100, suppress_health_check=list(HealthCheck))

# Characters that lower-casing, word boundaries, accents and encodings have trouble with.
ODD = (
    "İıßẞſKÅΣσςéÉñ\u0301\u0308\u0345\u200d\u200c\ufeff\u00a0\u2003\u0085\x1c\x1f\x00\n\t _-'’…0٣²½Ⅷⅷ①"
    "ﬁﬀǅǆȺⱥꟂ日本語ท์हि한글שלוםمرحباა́Ა👩‍💻🇨🇿𝔘𐐀𐐨𞤀🏳️‍🌈\U0010ffff\U000e0041ͅͅ"
)
CHARACTERS = st.one_of(
    st.sampled_from("aabcdeABE  .,1_"),
    st.sampled_from(ODD),
    st.characters(),
    st.sampled_from("\ud800\udbff\udc00\udfff"),
)
WORDS = st.sampled_from(
    [
        "the",
        "The",
        "cat",
        "naïve",
        "NAÏVE",
        "it's",
        "x",
        "οδος",
        "ΟΔΟΣ",
        "straße",
        "STRASSE",
        "İstanbul",
        "to",
        "be",
        "or",
    ]
)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=12).map(" ".join),
    st.text(CHARACTERS, max_size=30),
    st.text(CHARACTERS, max_size=8).map(lambda text: f"the {text} cat"),
    st.sampled_from(["", " ", "\x00", "a\x00b", "aa\x00", "a" * 3000, "ab " * 200, "ΑΣ", "ΑΣ.", "ΑΣΑ", "a\u0345Σ"]),
)
DOCUMENTS = st.lists(TEXTS, min_size=1, max_size=8)

ANALYSIS = st.fixed_dictionaries(
    {},
    optional={
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "ascii", "unicode", str.upper]),
        "stop_words": st.sampled_from([None, "english", ["the", "be"], ["it's", "The"], []]),
        "token_pattern": st.sampled_from([r"(?u)\b\w\w+\b", r"(?u)\b\w+\b", r"(\w)\w*", r"\S+", r"(a)(b)"]),
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 4), (2, 1), (0, 1), (0, 2)]),
        "analyzer": st.sampled_from(["word", "char", "char_wb", str.split, list]),
        "tokenizer": st.sampled_from([None, str.split]),
        "preprocessor": st.sampled_from([None, str.swapcase]),
        "binary": st.booleans(),
        "dtype": st.sampled_from([np.int64, np.int32, np.float64, np.float32]),
    },
)
SELECTION = st.fixed_dictionaries(
    {},
    optional={
        "min_df": st.sampled_from([1, 2, 3, 0.0, 0.25, 1.0]),
        "max_df": st.sampled_from([1.0, 0.5, 0.75, 1, 2]),
        "max_features": st.sampled_from([None, 1, 2, 5, 40]),
        "vocabulary": st.sampled_from(
            [None, ["the", "cat", "aa"], {"cat": 1, "a": 0}, {"naïve", "a"}, [], ["a", "a"], {"a": 1}, ["The", "x y"]]
        ),
    },
)
#: what needs no Python function
PLAIN = st.fixed_dictionaries(
    {
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "ascii", "unicode"]),
        "stop_words": st.sampled_from([None, "english", ["the", "be", "naïve"]]),
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 3), (3, 5)]),
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "binary": st.booleans(),
    }
)
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "min_df": st.sampled_from([2, 0.25]),
        "max_df": st.sampled_from([0.75, 3]),
        "max_features": st.sampled_from([1, 5, 40]),
        "vocabulary": st.sampled_from([["the", "cat", "naïve", "e", "\ud800"], {"the cat": 1, "be": 0, "th": 2}]),
    },
)
WEIGHTS = st.fixed_dictionaries(
    {},
    optional={
        "norm": st.sampled_from([None, "l1", "l2"]),
        "use_idf": st.booleans(),
        "smooth_idf": st.booleans(),
        "sublinear_tf": st.booleans(),
    },
)
HASHES = st.fixed_dictionaries(
    {},
    optional={
        "n_features": st.sampled_from([1, 7, 16, 2**18, 2**20]),
        "alternate_sign": st.booleans(),
        "norm": st.sampled_from([None, "l1", "l2"]),
    },
)


def both(name: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """Ours and scikit-learn's."""
    return getattr(mercer, name)(**options), getattr(sklearn_text, name)(**options)


def compare(name: str, options: dict[str, Any], documents: list[str], others: list[str]) -> None:
    ours, theirs = both(name, options)
    digits = DIGITS[name]
    if assert_same_outcome(
        lambda: ours.fit_transform(documents), lambda: theirs.fit_transform(documents), digits=digits
    ):
        return
    assert_same_outcome(lambda: ours.transform(others), lambda: theirs.transform(others), digits=digits)
    if name == HASHING:
        return
    assert ours.vocabulary_ == theirs.vocabulary_
    assert ours.fixed_vocabulary_ == theirs.fixed_vocabulary_
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    if name == TFIDF and theirs.use_idf and hasattr(theirs, "_tfidf"):
        np.testing.assert_array_equal(ours.idf_, theirs.idf_)


@QUICK
@given(documents=DOCUMENTS, others=DOCUMENTS, options=ANALYSIS, selection=SELECTION)
@example(documents=["ΑΣ", "aa ΑΣ. ΑΣΑ"], others=["İstanbul"], options={}, selection={})
@example(documents=["\ud800a bb", "bb"], others=["\udfff\ud800"], options={"analyzer": "char"}, selection={})
def test_counts_agree_with_scikit_learn(
    documents: list[str], others: list[str], options: dict[str, Any], selection: dict[str, Any]
) -> None:
    compare(COUNT, options | selection, documents, others)


@QUICK
@given(documents=DOCUMENTS, others=DOCUMENTS, options=ANALYSIS, selection=SELECTION, weights=WEIGHTS)
@example(  # a term of the vocabulary that no document of the fit has
    documents=[""], others=["THE"], options={}, selection={"vocabulary": ["the", "cat"]}, weights={"smooth_idf": False}
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_agree_with_scikit_learn(
    documents: list[str],
    others: list[str],
    options: dict[str, Any],
    selection: dict[str, Any],
    weights: dict[str, Any],
) -> None:
    options.pop("dtype", None)
    compare(TFIDF, options | selection | weights, documents, others)


@QUICK
@given(documents=DOCUMENTS, others=DOCUMENTS, options=ANALYSIS, hashes=HASHES)
def test_hashes_agree_with_scikit_learn(
    documents: list[str], others: list[str], options: dict[str, Any], hashes: dict[str, Any]
) -> None:
    options.pop("dtype", None)
    compare(HASHING, options | hashes, documents, others)


@QUICK
@given(documents=DOCUMENTS, others=DOCUMENTS, options=PLAIN, limits=LIMITS)
def test_plain_counts(documents: list[str], others: list[str], options: dict[str, Any], limits: dict[str, Any]) -> None:
    if options["analyzer"] != "word":
        options = options | {"stop_words": None}
    compare(COUNT, options | limits, documents, others)


@QUICK
@given(documents=DOCUMENTS, others=DOCUMENTS, options=PLAIN, weights=WEIGHTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_plain_weights(
    documents: list[str], others: list[str], options: dict[str, Any], weights: dict[str, Any]
) -> None:
    compare(TFIDF, options | weights, documents, others)


@QUICK
@given(documents=DOCUMENTS, options=PLAIN, hashes=HASHES)
def test_plain_hashes(documents: list[str], options: dict[str, Any], hashes: dict[str, Any]) -> None:
    whole = [text.encode("utf-8", "ignore").decode() for text in documents]  # a lone surrogate has no hash
    compare(HASHING, options | hashes, whole, documents)


@QUICK
@given(st.lists(st.text("ΑΣσςas .:'’\u00ad\u0301\u0345\u200d1_\n", max_size=12), min_size=1, max_size=4), PLAIN)
def test_a_sigma_at_the_end_of_a_word(documents: list[str], options: dict[str, Any]) -> None:
    """The lower case of a sigma depends on its neighbours across marks and points that are not letters."""
    compare(COUNT, options, documents, documents)


@pytest.mark.parametrize("accents", [None, "unicode", "ascii"])
def test_every_code_point(accents: str | None) -> None:
    """Compare word membership, lower case and the form without accents."""
    documents = [" ".join(f"{point}{point} a{point}B" for point in points) for points in POINTS]
    compare(COUNT, {"strip_accents": accents}, documents, documents[:200:10])


@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
def test_every_code_point_as_a_character(analyzer: str) -> None:
    documents = ["  ".join(points) for points in POINTS[:256]]
    compare(COUNT, {"analyzer": analyzer, "ngram_range": (1, 2)}, documents, documents[:100:10])


@QUICK
@given(st.lists(TEXTS, min_size=1, max_size=5), st.sampled_from(["utf-8", "latin-1", "ascii", "utf-16"]), st.data())
def test_bytes_are_decoded_as_in_scikit_learn(documents: list[str], encoding: str, data: Any) -> None:
    raw = [text.encode("utf-8", "surrogatepass") for text in documents]
    options = {"encoding": encoding, "decode_error": data.draw(st.sampled_from(["strict", "ignore", "replace"]))}
    compare(COUNT, options, raw, raw)  # type: ignore[arg-type]
    compare(HASHING, options, raw, raw)  # type: ignore[arg-type]


# Real documents.


@pytest.fixture(scope="module")
def messages(spam: tuple[list[str], np.ndarray]) -> list[str]:
    return spam[0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (COUNT, {}),
        (COUNT, {"binary": True, "dtype": np.float32}),
        (COUNT, {"ngram_range": (1, 2), "min_df": 2, "stop_words": "english"}),
        (COUNT, {"max_features": 1000}),
        (COUNT, {"max_features": 1000, "binary": True}),
        (COUNT, {"max_features": 500, "dtype": np.float64, "ngram_range": (2, 3)}),
        (COUNT, {"max_df": 0.1, "min_df": 0.001, "strip_accents": "unicode"}),
        (COUNT, {"analyzer": "char_wb", "ngram_range": (2, 4), "min_df": 5}),
        (COUNT, {"analyzer": "char", "ngram_range": (1, 3), "max_features": 2000, "strip_accents": "ascii"}),
        (COUNT, {"lowercase": False, "token_pattern": r"(?u)\b\w+\b"}),
        (TFIDF, {}),
        (TFIDF, {"sublinear_tf": True, "norm": "l1", "smooth_idf": False, "ngram_range": (1, 2)}),
        (TFIDF, {"use_idf": False, "norm": None, "binary": True, "max_features": 300}),
        (HASHING, {}),
        (HASHING, {"n_features": 2**10, "norm": None, "ngram_range": (1, 2), "stop_words": "english"}),
        (
            HASHING,
            {"alternate_sign": False, "binary": True, "norm": "l1", "analyzer": "char", "ngram_range": (3, 3)},
        ),
    ],
    ids=str,
)
def test_short_messages(messages: list[str], name: str, options: dict[str, Any]) -> None:
    compare(name, options, messages, messages[:500])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_neither_threads_nor_blocks_matter(messages: list[str], threads: int) -> None:
    """Many times the same messages are that many times the same rows."""
    options: dict[str, Any] = {"ngram_range": (1, 2), "min_df": 16}
    once = sklearn_text.CountVectorizer(**options | {"min_df": 2}).fit(messages)
    with mercer.engine(threads=threads):
        words = mercer.CountVectorizer(**options)
        X = words.fit_transform(messages * 8)
        hashed = mercer.HashingVectorizer().fit_transform(messages * 8)
    # what is in two messages or more is in sixteen of eight times as many, and so is what is in one twice as often
    chosen = [words.vocabulary_[term] for term in once.get_feature_names_out()]
    expected = once.transform(messages)
    n = len(messages)
    for copy in (0, 5, 7):
        assert_same_matrix(sorted_columns(X[copy * n : (copy + 1) * n][:, chosen]), expected)
        rows = hashed[copy * n : (copy + 1) * n]
        assert_same_matrix(rows, sklearn_text.HashingVectorizer().transform(messages))


def sorted_columns(X: Any) -> Any:
    X.sort_indices()
    return X


@pytest.mark.parametrize("interface", ["spmatrix", "sparray"])
@pytest.mark.parametrize("name", [COUNT, TFIDF, HASHING])
def test_the_sparse_interface_is_the_configured_one(name: str, interface: str) -> None:
    with config_context(sparse_interface=interface):
        compare(name, {}, ["one two two", "three"], ["two four"])


@pytest.mark.parametrize("name", [COUNT, TFIDF, HASHING])
def test_columns_of_frames_arrays_and_generators_are_documents(name: str) -> None:
    documents = ["the cat", "the naïve mat", "", "cat cat"]
    expected = getattr(mercer, name)().fit_transform(documents)
    columns = [
        tuple(documents),
        np.array(documents),
        np.array(documents, dtype=object),
        np.array(documents, dtype=np.dtypes.StringDType()),
        pd.Series(documents, index=[5, 6, 7, 8]),
        pd.Series(documents, dtype="string"),
        pd.Series(documents).astype("category"),
        pl.Series(documents),
        pa.array(documents),
        pa.chunked_array([documents[:1], documents[1:]]),
    ]
    for column in columns:
        assert_same_matrix(getattr(mercer, name)().fit_transform(column), expected)
    assert_same_matrix(getattr(mercer, name)().fit_transform(text for text in documents), expected)
    vectorizer = getattr(mercer, name)().fit(documents)
    assert_same_matrix(vectorizer.transform(iter(documents)), expected)


def test_files_and_their_names(tmp_path: Path) -> None:
    for number, text in enumerate(("the cat", "the naïve mat")):
        (tmp_path / f"{number}.txt").write_text(text, encoding="latin-1")
    names = [str(tmp_path / f"{number}.txt") for number in (0, 1)]
    for name in (COUNT, HASHING):
        ours, theirs = both(name, {"input": "filename", "encoding": "latin-1"})
        assert_same_matrix(ours.fit_transform(names), theirs.fit_transform(names))
        ours, theirs = both(name, {"input": "file", "encoding": "latin-1"})
        contents = [Path(path).read_bytes() for path in names]
        X, expected = (one.fit_transform([BytesIO(content) for content in contents]) for one in (ours, theirs))
        assert_same_matrix(X, expected)


def test_fewest_and_most_documents_are_exact_parts() -> None:
    # 0.7 × 10 is below 7 in floating point, and scikit-learn's comparison is with that number
    documents = ["often"] * 7 + ["seldom"] * 3
    compare(COUNT, {"max_df": 0.7}, documents, documents)
    compare(COUNT, {"min_df": 0.3}, documents, documents)
