"""Text to a matrix: words counted, hashed, and weighed in pairs; and one document at a time."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction import text

import mercer
from bench import documents
from bench.documents import Documents
from bench.harness import Contender, Race, Results, Workload

ROWS = 512_000
CALLS = 200  # of one document each

Choose = Callable[[Documents], Any]


def matrix(returned: Any, data: Documents) -> Results:
    """Rows, columns and values of a matrix, each row in the order of its columns; and its terms, as a checksum."""
    vectorizer, X = returned
    X = X.copy()
    X.has_sorted_indices = False  # scikit-learn's are not, whatever it says
    X.sort_indices()
    found = {"indptr": X.indptr, "indices": X.indices, "values": X.data, "shape": np.array(X.shape)}
    if hasattr(vectorizer, "vocabulary_"):
        found["terms"] = np.array([zlib.crc32("\n".join(vectorizer.get_feature_names_out()).encode())], dtype=float)
    return found


def fit_transform(made: Callable[[], Any], choose: Choose, threads: int | None = None) -> Callable[[Any], Any]:
    """A vectorizer of its own for every call; `threads` where they are fewer than those of the race."""

    def prepare(data: Documents) -> Callable[[], Any]:
        given = choose(data)

        def call() -> Any:
            vectorizer = made()
            return vectorizer, vectorizer.fit_transform(given)

        def within() -> Any:
            with mercer.engine(threads=threads):
                return call()

        return call if threads is None else within

    return prepare


def one_by_one(made: Callable[[], Any], choose: Choose) -> Callable[[Any], Any]:
    def prepare(data: Documents) -> Callable[[], Any]:
        given = choose(data)[:CALLS]
        vectorizer = made().fit(given)
        return lambda: (None, [vectorizer.transform([one]) for one in given][-1])

    return prepare


def strings(data: Documents) -> list[str]:
    return data.strings


def tenth(data: Documents) -> list[str]:
    return data.strings[: max(1, len(data.strings) // 10)]


def column_of_tenth(data: Documents) -> Any:
    return data.X[: max(1, len(data.X) // 10)]


def quarter(data: Documents) -> list[str]:
    return data.strings[: max(1, len(data.strings) // 4)]


def short_messages(data: Documents) -> list[str]:
    return documents.messages(len(data.strings)).strings


def race(
    task: str,
    name: str,
    *,
    choose: Choose = strings,
    ours: Choose | None = None,
    reach: float | None = None,
    threads: int | None = None,
    **options: Any,
) -> Race:
    own, theirs = partial(getattr(mercer, name), **options), partial(getattr(text, name), **options)
    return Race(
        task,
        Contender("mercer", fit_transform(own, ours or choose, threads)),
        (Contender("scikit-learn", fit_transform(theirs, choose), reach=reach),),
        matrix,
        parity=1e-12 if name == "TfidfVectorizer" else 0.0,
        given=choose,
    )


def latency(task: str, name: str) -> Race:
    ours, theirs = getattr(mercer, name), getattr(text, name)
    rival = Contender("scikit-learn", one_by_one(theirs, strings))
    # a document is smaller than a page of memory
    return Race(task, Contender("mercer", one_by_one(ours, strings)), (rival,), matrix, parity=1e-12, given=None)


WORKLOAD = Workload(
    name="count_vectorizer",
    shape="400 bytes of text",
    rows=ROWS,
    make_arrays=documents.generated,
    races=(
        race("count words", "CountVectorizer", reach=15),
        race("hash words", "HashingVectorizer", reach=15),
        race("weigh words and pairs of a quarter", "TfidfVectorizer", choose=quarter, reach=20, ngram_range=(1, 2)),
        race("count words of a tenth, one thread", "CountVectorizer", choose=tenth, threads=1),
        race("hash words of a tenth, one thread", "HashingVectorizer", choose=tenth, threads=1),
        race("count words of a tenth, an Arrow column", "CountVectorizer", choose=tenth, ours=column_of_tenth),
        race("count words of short messages, repeated", "CountVectorizer", choose=short_messages),
        latency(f"count {CALLS} documents, one by one", "CountVectorizer"),
        latency(f"weigh {CALLS} documents, one by one", "TfidfVectorizer"),
        latency(f"hash {CALLS} documents, one by one", "HashingVectorizer"),
    ),
)
