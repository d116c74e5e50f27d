"""Drawing rows of counts, whose lengths the multinomial does not model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._errors import SupportError
from mercer._typing import Array
from mercer.families import CategoricalParameters, Multinomial
from mercer.stats import VectorSums


def drawn_lengths(length: Any, words: VectorSums, codes: Array, rng: np.random.Generator) -> Array:
    """A length for each class code: as given, or drawn from those seen in the class."""
    return _lengths_seen(words, codes, rng) if length is None else _checked_lengths(length, len(codes))


def _lengths_seen(words: VectorSums, codes: Array, rng: np.random.Generator) -> Array:
    lengths = np.zeros(len(codes), dtype=np.int64)
    for c in np.unique(codes):
        seen, shares = words.length_distribution(c)
        lengths[codes == c] = rng.choice(seen, size=np.count_nonzero(codes == c), p=shares)
    return lengths


def _checked_lengths(length: Any, n_samples: int) -> Array:
    """One whole number, 0 or more, for each row."""
    lengths = np.asarray(length)
    if lengths.shape not in ((), (n_samples,)):
        raise SupportError(f"length has shape {lengths.shape}; give one number, or one for each of {n_samples} rows.")
    if lengths.dtype.kind not in "iuf" or (lengths < 0).any() or (lengths != np.floor(lengths)).any():
        raise SupportError(f"length is a number of words, 0 or more and whole; got {length!r}.")
    return np.broadcast_to(lengths, n_samples).astype(np.int64)


def draw_counts(p: Array, codes: Array, lengths: Array, rng: np.random.Generator, *, sparse: bool) -> Any:
    """Rows of counts with the probabilities `p` (classes, words) of their class; a CSR matrix if `sparse`."""
    p = p / p.sum(axis=1, keepdims=True)
    if sparse:
        return _draw_words(p, codes, lengths, rng)
    rows = np.zeros((len(codes), p.shape[1]), dtype=np.int64)
    for c in np.unique(codes):
        (mine,) = np.nonzero(codes == c)
        rows[mine] = Multinomial().sample(CategoricalParameters(p[c]), len(mine), rng, length=lengths[mine])
    return rows


def _draw_words(p: Array, codes: Array, lengths: Array, rng: np.random.Generator) -> Any:
    """Word by word, so that the cost is that of the words and not that of the vocabulary."""
    rows = np.repeat(np.arange(len(codes)), lengths)
    words = np.zeros(len(rows), dtype=np.int64)
    for c in np.unique(codes):
        mine = codes[rows] == c
        words[mine] = rng.choice(p.shape[1], size=np.count_nonzero(mine), p=p[c])
    ones = np.ones(len(rows), dtype=np.int64)
    return sp.csr_matrix((ones, (rows, words)), shape=(len(codes), p.shape[1]))
