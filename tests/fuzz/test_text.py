"""Terms of any documents are those that scikit-learn finds, whatever way they are given and however they are split."""

from __future__ import annotations

import pickle
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction import text as sklearn_text

import mercer
from mercer import engine
from tests.fuzz._mutate import SEEDS, damaged
from tests.text._same import assert_same_matrix, assert_same_outcome

CORPUS = (Path(__file__).parent / "corpus" / "sayings.txt").read_bytes()
#: what lower-casing, word boundaries, accents and normal forms have trouble with
ODD = (
    *("İ", "ı", "ß", "ẞ", "Σ", "ΑΣ", "ς", "ſ", "\u212a", "ǅ", "ﬁ", "Ⅷ", "²", "٣", "१", "\u0301", "e\u0301", "\u0345"),
    *(
        "\u200d",
        "\ufeff",
        "\ud800",
        "\udfff",
        "\udc80x",
        "👩\u200d💻",
        "🇩🇪",
        "𐐀",
        "한글",
        "ไทย",
        "\U0010ffff",
        "\u2028",
    ),
    *("\x85", "\xa0", "\n", "  ", "_", "'s ", "\0", "the ", "THE", "x" * 70, "ab " * 40, "\x1f", "-"),
)
WORDS = [word.encode("utf-8", "surrogatepass") for word in ODD]
PATTERNS = (*[r"(?u)\b\w\w+\b"] * 3, r"(?u)\b\w+\b", r"(?u)\b\w\w\w+\b", r"\S+", r"(?i)[a-z]+", "(", r"(\w)(\w)")


class Case(NamedTuple):
    """Documents, others to transform, and how."""

    documents: list[str]
    others: list[str]
    options: dict[str, Any]
    limits: dict[str, Any]


def _case(seed: int) -> Case:
    rng = Random(seed)
    options: dict[str, Any] = {
        "lowercase": rng.random() < 0.7,
        "strip_accents": rng.choice((None, None, "ascii", "unicode")),
        "analyzer": rng.choice(("word", "word", "char", "char_wb")),
        "ngram_range": rng.choice(((1, 1), (1, 1), (1, 2), (2, 3), (3, 5), (0, 1), (2, 1))),
        "binary": rng.random() < 0.2,
    }
    if options["analyzer"] == "word":
        options["stop_words"] = rng.choice((None, None, "english", ["the", "ı", "ς"], [""]))
        options["token_pattern"] = rng.choice(PATTERNS)
    limits = {
        "min_df": rng.choice((1, 1, 1, 2, 0.5, 0.0, 7)),
        "max_df": rng.choice((1.0, 1.0, 1.0, 0.5, 2, 0)),
        "max_features": rng.choice((None, None, None, 1, 3, 50)),
    }
    if rng.random() < 0.15:
        limits["vocabulary"] = rng.choice((["the", "cat", "ſ"], {"a": 0, "the": 2, "ı": 1}, {"x": 5}, [], ["a", "a"]))
    return Case(_documents(rng), _documents(rng), options, limits)


def _documents(rng: Random) -> list[str]:
    return [_document(rng) for _ in range(rng.choice((1, 2, 6, 12)))]


def _document(rng: Random) -> str:
    line = rng.choice(CORPUS.splitlines())
    if rng.random() < 0.01:
        line *= 500
    octets = damaged(line, rng, WORDS, most=6)
    return octets.decode("utf-8", rng.choice(("replace", "ignore", "surrogateescape")))


#: any of Unicode, where the corpus has the texts of people
words = st.one_of(st.sampled_from(ODD), st.text(max_size=8))
documents = st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=12)
cases = st.one_of(
    SEEDS.map(_case),
    st.builds(lambda seed, texts: _case(seed)._replace(documents=texts, others=texts), SEEDS, documents),
)


def both(name: str, case: Case, **more: Any) -> tuple[Any, Any]:
    options = case.options | more
    return getattr(mercer, name)(**options), getattr(sklearn_text, name)(**options)


def compare(name: str, case: Case, digits: float, **more: Any) -> str:
    ours, theirs = both(name, case, **more)
    if assert_same_outcome(
        lambda: ours.fit_transform(case.documents), lambda: theirs.fit_transform(case.documents), digits=digits
    ):
        return "rejected"
    assert_same_outcome(lambda: ours.transform(case.others), lambda: theirs.transform(case.others), digits=digits)
    if name != "HashingVectorizer":
        assert ours.vocabulary_ == theirs.vocabulary_
        assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    travels(ours, case.others)
    return "counted"


def travels(model: Any, texts: list[str]) -> None:
    """Pickled, saved and loaded it says the same, or rejects the same."""
    with tempfile.TemporaryDirectory() as folder:
        mercer.save(model, Path(folder) / "model")
        for arrived in (pickle.loads(pickle.dumps(model)), mercer.load(Path(folder) / "model")):
            assert_same_outcome(partial(arrived.transform, texts), lambda: model.transform(texts))


def test_counts_agree_with_scikit_learn(campaign: Any) -> None:
    campaign(lambda case: compare("CountVectorizer", case, 0.0, **case.limits), cases, samples=80)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_agree_with_scikit_learn(campaign: Any) -> None:
    campaign(lambda case: compare("TfidfVectorizer", case, 1e-13, **case.limits), cases, samples=40)


def test_hashes_agree_with_scikit_learn(campaign: Any) -> None:
    campaign(lambda case: compare("HashingVectorizer", case, 0.0, n_features=97), cases, samples=40)


def _ways(case: Case) -> list[Callable[[list[str]], Any]]:
    """The same documents as others have them; lone surrogates are strings in Python only."""
    try:
        "".join(case.documents + case.others).encode()
    except UnicodeEncodeError:
        return [tuple, lambda texts: np.array(texts, dtype=object)]
    return [
        tuple,
        lambda texts: np.array(texts, dtype=object),
        pa.array,
        lambda texts: pa.array(texts, pa.large_string()),
        lambda texts: pa.array(texts, pa.string_view()),
        lambda texts: pa.chunked_array([pa.array(texts[:1]), pa.array(texts[1:], pa.string())]),
        lambda texts: pa.array(["before", *texts, "after"]).slice(1, len(texts)),
        lambda texts: [text.encode() for text in texts],
    ]


def test_containers_and_splits_of_documents_do_not_matter(campaign: Any) -> None:
    def law(case: Case) -> str:
        try:
            ours = mercer.CountVectorizer(**case.options).fit(case.documents)
        except (ValueError, re.error):
            return "rejected"
        counted = ours.transform(case.others)
        for way in _ways(case):
            other = mercer.CountVectorizer(**case.options)
            assert_same_matrix(other.fit_transform(way(case.documents)), ours.transform(case.documents))
            assert_same_matrix(other.transform(way(case.others)), counted)
        with engine(threads=1):
            assert mercer.CountVectorizer(**case.options).fit(case.documents).vocabulary_ == ours.vocabulary_
        cut = len(case.documents) // 2
        parts = mercer.CountVectorizer(**case.options)
        for part in (case.documents[:cut], case.documents[cut:]):
            parts.partial_fit(part)
        assert parts.vocabulary_ == ours.vocabulary_
        assert_same_matrix(parts.transform(case.others), counted)
        return "counted"

    campaign(law, cases, samples=30)
