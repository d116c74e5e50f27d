"""The scanner finds what a plain reading in Python finds, however documents are cut into blocks and threads."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import engine
from mercer._errors import EmptyDataError, TextError
from mercer.data.texts import Texts
from mercer.text import _compiled as compiled
from mercer.text._interpreted import count_hashes
from mercer.text.analysis import Analysis, CharNgrams, WordCharNgrams, WordNgrams, shortest_word, strip_accents_unicode

#: letters of one to four bytes, capitals whose lower case is longer, shorter, two characters or depends on neighbours,
#: marks, digits, white space of all kinds, and what no encoding has
CHARACTERS = "abAB_9 \t\n\x00.,'-éÉßẞΣσςİıKȺ한字́’　\x85\x1c🙂𐐀𐐨\ud800٣²½"
WORDS = st.lists(st.text(CHARACTERS, max_size=12), max_size=6).map(" ".join)
TEXT = st.one_of(st.text(max_size=30), WORDS, st.text("ab ", min_size=60, max_size=200))
DOCUMENTS = st.lists(TEXT, min_size=1, max_size=8)
ANALYSES = st.builds(
    Analysis,
    unit=st.sampled_from(["word", "char", "char_wb"]),
    lowercase=st.booleans(),
    accents=st.sampled_from([None, strip_accents_unicode]),
    grams=st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 4), (3, 3)]),
    shortest=st.sampled_from([1, 2, 3]),
    stop_words=st.sampled_from([frozenset(), frozenset({"a", "aa", "ab", "é"})]),
)


def terms_of(document: str, analysis: Analysis) -> list[str]:
    """The terms of a document, read plainly."""
    text = document.lower() if analysis.lowercase else document
    text = text if analysis.accents is None else analysis.accents(text)
    if analysis.unit != "word":
        return (CharNgrams if analysis.unit == "char" else WordCharNgrams)(*analysis.grams)(text)
    words = [word for word in re.findall(r"\w+", text) if len(word) >= analysis.shortest]
    return list(WordNgrams(*analysis.grams)([word for word in words if word not in analysis.stop_words]))


def expected(documents: list[str], analysis: Analysis) -> tuple[list[str], np.ndarray]:
    """Terms in ascending order, and how often each document has each."""
    counts = [Counter(terms_of(document, analysis)) for document in documents]
    terms = sorted(set().union(*counts))
    return terms, np.array([[count[term] for term in terms] for count in counts]).reshape(len(counts), len(terms))


def all_counts(learned: compiled.ScannedVocabulary) -> np.ndarray:
    counts: np.ndarray = learned.counts.toarray()
    return counts


@given(documents=DOCUMENTS, analysis=ANALYSES)
@settings(max_examples=150)
def test_all_terms_are_learnt_in_order(documents: list[str], analysis: Analysis) -> None:
    learned = compiled.learn(documents, analysis)
    terms, counts = expected(documents, analysis)
    vocabulary = learned.vocabulary
    assert vocabulary.names().tolist() == terms
    np.testing.assert_array_equal(all_counts(learned), counts)
    np.testing.assert_array_equal(vocabulary.document_counts, (counts > 0).sum(axis=0))
    np.testing.assert_array_equal(vocabulary.term_counts, counts.sum(axis=0))
    assert vocabulary.n_documents == len(documents)


@given(documents=DOCUMENTS, others=DOCUMENTS, analysis=ANALYSES)
@settings(max_examples=150)
def test_known_terms_are_counted(documents: list[str], others: list[str], analysis: Analysis) -> None:
    terms, _ = expected(documents, analysis)
    terms = terms[::-1]
    known = compiled.KnownTerms(Texts.packed(term.encode("utf-8", "surrogatepass") for term in terms), analysis)
    for _ in range(2):  # a scanner that was used before
        counts = known.matrix(others)
        counted = [Counter(terms_of(document, analysis)) for document in others]
        wanted = np.array([[count[term] for term in terms] for count in counted]).reshape(len(others), len(terms))
        np.testing.assert_array_equal(counts.toarray(), wanted)
        assert counts.has_canonical_format


@given(documents=DOCUMENTS, analysis=ANALYSES, columns=st.sampled_from([1, 7, 2**20, 2**30]), signed=st.booleans())
@settings(max_examples=100)
def test_hashes_agree_with_python(documents: list[str], analysis: Analysis, columns: int, signed: bool) -> None:
    documents = [document.replace("\ud800", "") for document in documents]  # which has no bytes to hash
    X = compiled.count_hashes(documents, analysis, columns, signed=signed, dtype=np.float64)
    wanted = count_hashes(documents, lambda text: terms_of(text, analysis), columns, signed=signed, dtype=np.float64)
    assert (wanted != X).nnz == 0
    np.testing.assert_array_equal(X.indices, wanted.indices)  # stored zeros, too


def words(n: int, seed: int = 0) -> list[str]:
    """Documents of words of one to twenty letters, some of which are capitals."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdeXYZé"))
    made = ["".join(rng.choice(letters, size)) for size in rng.integers(1, 21, 3000)]
    return [" ".join(made[i] for i in rng.zipf(1.3, rng.integers(0, 60)) % 3000) for _ in range(n)]


@pytest.mark.parametrize("grams", [(1, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("unit", ["word", "char_wb"])
def test_blocks_and_threads_do_not_matter(unit: Any, grams: tuple[int, int]) -> None:
    documents, analysis = words(300), Analysis(unit, grams=grams)
    with engine(threads=1):
        whole = compiled.learn(documents, analysis, block_bytes=1 << 30)
    for threads in (1, 2, 4):
        with engine(threads=threads):
            parts = compiled.learn(documents, analysis, block_bytes=1000)
            terms = compiled.KnownTerms(whole.vocabulary.terms, analysis)
            known = terms.matrix(iter(documents), block_bytes=1000)
        assert parts.vocabulary.names().tolist() == whole.vocabulary.names().tolist()
        np.testing.assert_array_equal(parts.vocabulary.document_counts, whole.vocabulary.document_counts)
        np.testing.assert_array_equal(parts.vocabulary.term_counts, whole.vocabulary.term_counts)
        assert (parts.counts != whole.counts).nnz == 0
        assert (known != whole.counts).nnz == 0


def test_tables_that_grow_lose_nothing() -> None:
    documents = [
        " ".join(f"w{number}x{'y' * (number % 40)}" for number in range(start, start + 997))
        for start in range(0, 30000, 499)
    ]
    learned = compiled.learn(documents, Analysis(grams=(1, 2)))
    terms, counts = expected(documents[:3], Analysis(grams=(1, 2)))
    assert set(terms) <= set(learned.vocabulary.names())
    part = compiled.KnownTerms(Texts.of(terms), Analysis(grams=(1, 2))).matrix(documents[:3])
    np.testing.assert_array_equal(part.toarray(), counts)


def test_terms_that_are_not_kept_have_no_column() -> None:
    learned = compiled.learn(["a bb cc bb", "cc dd"], Analysis())
    kept = np.array([False, True, True])
    X = learned.matrix(kept, np.float32)
    np.testing.assert_array_equal(X.toarray(), [[1, 0], [1, 1]])
    assert X.dtype == np.float32


def test_a_term_that_is_only_part_of_an_ngram_is_not_counted() -> None:
    known = compiled.KnownTerms(Texts.of(["aa bb", "bb", "cc dd ee"]), Analysis(grams=(1, 2)))
    np.testing.assert_array_equal(known.matrix(["aa bb cc dd ee", "bb aa"]).toarray(), [[1, 1, 0], [0, 1, 0]])


def test_documents_whose_lower_case_is_not_tabulated() -> None:
    learned = compiled.learn(["ΟΔΟΣ", "İstanbul", "plain", "Straße"], Analysis())
    assert learned.by_python == 2
    assert "οδος" in learned.vocabulary.as_dict()


@given(lines=st.lists(st.text(CHARACTERS.replace("\n", "").replace("\ud800", ""), max_size=20), min_size=1, max_size=9))
@settings(max_examples=30)
def test_lines_of_a_file(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    path, whole = tmp_path_factory.mktemp("lines") / "lines.txt", "\n".join(lines)
    path.write_bytes(whole.encode())
    wanted = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    for unit in ("word", "char"):
        analysis = Analysis(unit, shortest=1)
        found = compiled.learn(path, analysis, block_bytes=16)
        learned = compiled.learn([line for line in wanted if line], analysis)
        assert found.vocabulary.names().tolist() == learned.vocabulary.names().tolist()
        np.testing.assert_array_equal(all_counts(found), all_counts(learned))


def test_columns_of_frames_and_values_that_are_not_text() -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    documents = ["one two", "", "two three"]
    wanted = all_counts(compiled.learn(documents, Analysis()))
    chunks = pa.chunked_array([documents[:1], documents[1:]])
    for column in (pd.Series(documents), pl.Series(documents), pa.array(documents), chunks, np.array(documents)):
        np.testing.assert_array_equal(all_counts(compiled.learn(column, Analysis())), wanted)
    with pytest.raises(TextError, match="Document 1 is None"):
        compiled.learn(pa.array(["a", None]), Analysis())
    with pytest.raises(TextError, match="Document 40 is 3"):
        compiled.learn([*["a"] * 40, 3], Analysis())
    with pytest.raises(EmptyDataError, match="at least one document"):
        compiled.count_hashes([], Analysis(), 8, signed=True, dtype=np.float64)


@pytest.mark.parametrize(
    ("pattern", "shortest"),
    [(r"(?u)\b\w\w+\b", 2), (r"\b\w+\b", 1), (r"\w\w\w+", 3), (r"(?a)\w+", None), (r"\S+", None)],
)
def test_patterns_that_match_whole_words(pattern: str, shortest: int | None) -> None:
    assert shortest_word(pattern) == shortest
