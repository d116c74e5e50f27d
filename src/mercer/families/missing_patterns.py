"""Which entries of a row are missing: the patterns that some rows have."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array


def distinct_patterns(mask: Array) -> tuple[Array, Array]:
    """The different rows of a boolean matrix, and which of them each row is.

    Rows are compared as bits, 64 columns to an integer, whatever their number.

    Examples
    --------
    >>> patterns, which = distinct_patterns(np.array([[False, True], [False, False], [False, True]]))
    >>> patterns[which].tolist()
    [[False, True], [False, False], [False, True]]
    >>> len(patterns)
    2
    """
    bits = np.packbits(mask, axis=1)
    packed = np.zeros((len(bits), 8 * max(1, -(-bits.shape[1] // 8))), dtype=np.uint8)
    packed[:, : bits.shape[1]] = bits
    first, *others = packed.view(np.uint64).T
    _, rows, codes = np.unique(first, return_index=True, return_inverse=True)
    for word in others:
        words, of_word = np.unique(word, return_inverse=True)
        _, rows, codes = np.unique(codes * len(words) + of_word, return_index=True, return_inverse=True)
    return np.asarray(mask[rows]), codes
