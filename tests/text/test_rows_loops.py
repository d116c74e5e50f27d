"""Rows come out in ascending order, whatever the order in which columns go in."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.text import _matrix_loops as matrix_loops


@given(st.integers(1, 2**20), st.data())
def test_marks_are_taken_in_order_and_forgotten(n_columns: int, data: st.DataObject) -> None:
    marks = matrix_loops.no_marks(n_columns)
    for _ in range(2):
        columns = data.draw(st.lists(st.integers(0, n_columns - 1), max_size=40))
        assert [bool(matrix_loops.mark(column, *marks)) for column in columns] == [
            column in columns[:place] for place, column in enumerate(columns)
        ]
        indices = np.empty(1 + len(columns), dtype=np.int32)
        assert indices[1 : matrix_loops.take_marks(*marks, indices, 1)].tolist() == sorted(set(columns))
        assert not any(level.any() for level in marks)


@given(
    st.lists(st.lists(st.integers(0, 99), unique=True, max_size=60), max_size=6),
    st.lists(st.booleans(), min_size=100, max_size=100),
)
def test_rows_agree_with_a_dense_matrix(documents: list[list[int]], kept: list[bool]) -> None:
    """Codes below 60 are words, the others runs; terms that are not kept have no column."""
    columns = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int32)
    terms = np.array([term for document in documents for term in document], dtype=np.int32)
    codes, counts = (
        np.where(terms < 60, terms, 59 - terms).astype(np.int32),
        np.arange(1, 1 + len(terms), dtype=np.int32),
    )
    expected = np.zeros((len(documents), sum(kept)))
    for row, (start, stop) in enumerate(pairwise(starts)):
        for term, count in zip(terms[start:stop], counts[start:stop], strict=True):
            if kept[term]:
                expected[row, columns[term]] = count
    many = np.empty(len(documents), dtype=np.int64)
    matrix_loops.kept_entries(starts, codes, columns[:60], columns[60:], many)
    assert many.tolist() == (expected > 0).sum(axis=1).tolist()
    places = np.concatenate([[0], np.cumsum(many)])
    indices, values = np.empty(places[-1], dtype=np.int32), np.empty(places[-1], dtype=np.int64)
    matrix_loops.write_rows(starts, codes, counts, columns[:60], columns[60:], sum(kept), places[:-1], indices, values)
    found = np.nonzero(expected)
    assert indices.tolist() == found[1].tolist()
    assert values.tolist() == expected[found].tolist()
