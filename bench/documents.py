"""Text to count: words as frequent as Zipf has them, in documents of lognormal length; and real short messages."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WORDS, LETTERS = 200_000, np.array(list("eeettaaooiinnsshhrrdlucmfwypvbgkqjxz"))
BLOCK = 50_000  # documents that are written at once
MESSAGES = Path(os.environ.get("MERCER_DATA", Path(__file__).parents[2] / "shared" / "data")) / "sms_spam.tsv"


class Documents(NamedTuple):
    """The same documents as an Arrow column and as Python strings, and two classes of them."""

    X: Any
    strings: list[str]
    y: np.ndarray[Any, Any]


def generated(rows: int) -> Documents:
    """About 400 bytes for each document: plain and capitalised words, some followed by a comma or a full stop."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, rows)
    blocks = [_block(rng, y[start : start + BLOCK]) for start in range(0, rows, BLOCK)]
    X = pa.chunked_array(blocks).combine_chunks()
    return Documents(X, X.to_pylist(), y)


def messages(rows: int) -> Documents:
    """The SMS messages, one after the other and from the beginning again."""
    lines = MESSAGES.read_text(encoding="utf-8").splitlines()[1:]
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    strings = [texts[row % len(texts)] for row in range(rows)]
    y = np.array([labels[row % len(labels)] == "spam" for row in range(rows)])
    return Documents(pa.array(strings, pa.large_string()), strings, y)


def _block(rng: np.random.Generator, y: np.ndarray[Any, Any]) -> Any:
    lengths = np.ceil(rng.lognormal(np.log(45), 0.8, len(y))).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    # uniform logarithms: the k-th word is 1/k times as frequent as the first
    ranks = np.exp(rng.random(offsets[-1], dtype=np.float32) * np.float32(np.log(WORDS))).astype(np.int32) - 1
    # a tenth of the words are other ones in the second class
    turned = np.repeat(y == 1, lengths) & (rng.random(offsets[-1], dtype=np.float32) < 0.1)
    ranks = np.where(turned, (ranks.astype(np.int64) * 7919 + 13) % WORDS, ranks)
    forms = np.searchsorted([0.82, 0.92, 0.97], rng.random(offsets[-1], dtype=np.float32))
    words = _words().take(pa.array(4 * ranks.astype(np.int64) + forms))
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets), words), pa.scalar(" ", pa.large_string()))


@cache
def _words() -> Any:
    """Every word plain, capitalised, before a comma and before a full stop; one in a hundred has an accent."""
    rng = np.random.default_rng(8)
    lengths = np.clip(np.round(rng.lognormal(1.75, 0.45, WORDS)), 1, 25).astype(int)
    # the most frequent words are short
    lengths[:300] = np.clip(lengths[:300], 1, 4)
    letters = "".join(rng.choice(LETTERS, lengths.sum()))
    ends = np.cumsum(lengths)
    plain = [letters[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
    for position in range(99, WORDS, 100):
        plain[position] = plain[position].replace("e", "é") + "ñ"
    forms = [form for word in plain for form in (word, word.capitalize(), word + ",", word + ".")]
    return pa.array(forms, pa.large_string())
