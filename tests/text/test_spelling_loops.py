"""Terms are spelled where they belong, and nowhere else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.text import _term_loops as term_loops
from mercer.text._term_loops import HALF_BITS, RUN_FLAG, SPARE_BYTES

WORDS = st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=12)


@given(WORDS, st.data())
def test_nothing_is_written_after_the_last_term(words: list[bytes], data: st.DataObject) -> None:
    """Another thread may have been there before."""
    places = st.integers(0, len(words) - 1)
    chosen = data.draw(st.lists(st.tuples(places, places), max_size=12))
    runs = [*chosen, *((len(words) + k, left) for k, (left, _) in enumerate(chosen))]  # of two words, and of three
    spelled = [*words]
    for left, right in runs:
        spelled.append(spelled[left] + b" " + words[right])
    codes = [left if left < len(words) else left - len(words) | int(RUN_FLAG) for left, _ in runs]
    pairs = [np.uint64(code) << HALF_BITS | np.uint64(right) for code, (_, right) in zip(codes, runs, strict=True)]
    terms = data.draw(st.lists(st.integers(0, len(spelled) - 1), max_size=30))
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int64)
    arena = np.frombuffer(b"".join(words) + bytes(SPARE_BYTES), dtype=np.uint8)
    lengths = np.empty(len(runs), dtype=np.int32)
    term_loops.spell_lengths(offsets, np.array(pairs, dtype=np.uint64), lengths)
    codes = np.array([term if term < len(words) else len(words) - 1 - term for term in terms], dtype=np.int32)
    ends = np.empty(len(terms) + 1, dtype=np.int64)
    term_loops.spell_offsets(codes, offsets, lengths, ends)
    out = np.full(int(ends[-1]) + SPARE_BYTES, 255, dtype=np.uint8)
    term_loops.spell(codes, offsets, arena, np.array(pairs, dtype=np.uint64), 3, ends, out)
    assert out[: ends[-1]].tobytes() == b"".join(spelled[term] for term in terms)
    assert (out[ends[-1] :] == 255).all()
