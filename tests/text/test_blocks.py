"""Blocks contain all documents in order, and none is much larger than requested."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mercer.text import _scanner as scanner

DOCUMENTS = st.lists(st.text("aé", max_size=40) | st.just("x" * 300), max_size=60)


def read(documents: Any, **options: Any) -> Iterator[list[str]]:
    for some in scanner.in_blocks(documents, **options):
        for block in some:
            for texts in block():
                yield texts.strings()


@given(DOCUMENTS, st.booleans())
def test_blocks_are_bounded_by_twice_their_size_and_a_document(documents: list[str], as_list: bool) -> None:
    # a sample of three says little about lengths like these
    parts = list(read(documents if as_list else iter(documents), block_bytes=100, sample_size=3))
    assert [document for part in parts for document in part] == documents
    assert all(sum(map(len, part)) <= 200 + 300 for part in parts)


def test_an_iterable_is_read_block_by_block() -> None:
    given = iter(["x" * 100] * 10_000)
    next(scanner.in_blocks(given, block_bytes=1000))
    left = sum(1 for _ in given)
    assert 10_000 - left <= scanner.BLOCKS_IN_MEMORY * 10 + scanner.DOCUMENTS_AT_ONCE
