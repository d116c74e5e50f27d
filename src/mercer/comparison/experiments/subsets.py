"""Rows to hold out, and growing subsets of the others in which no class is absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array

#: sizes where none are named
SIZES = 8
#: rows of the smallest, and of each class that it has where there are as many
FEWEST, EACH = 10, 2


class Dealt(NamedTuple):
    """Rows to fit to, in an order of which every beginning has all classes, and rows to score on."""

    order: Array
    test: Array


def deal(codes: Array, test_size: float, rng: np.random.Generator) -> Dealt:
    """Hold out so many rows, or such a share of them, class by class."""
    counts = np.bincount(codes)
    share = test_size / len(codes) if test_size >= 1 else test_size
    places, test = [], []
    for code in np.flatnonzero(counts):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held = min(round(share * len(rows)), max(len(rows) - EACH, 0))
        test.append(rows[:held])
        places.append(rows[held:])
    return Dealt(_interleaved(places, rng), np.sort(np.concatenate(test)))


def _interleaved(places: list[Array], rng: np.random.Generator) -> Array:
    """The first rows of each class in turn, then all classes in proportion."""
    rows = np.concatenate(places)
    # a row's place within its class as a share: in their order, every beginning has each class in proportion
    shares = np.concatenate([(np.arange(len(each)) + rng.random()) / max(len(each), 1) for each in places])
    turn = np.concatenate([np.minimum(np.arange(len(each)), EACH) for each in places])
    return np.asarray(rows[np.lexsort((shares, turn))])


def train_rows(codes: Array, test_size: float) -> int:
    """How many rows are left to fit to."""
    n = len(codes)
    if not 0 < test_size < n:
        raise DataError(f"test_size is a share of the rows, or from 1 to {n - 1} of the {n} rows, not {test_size:g}.")
    dealt = deal(codes, test_size, np.random.default_rng(0))
    if not len(dealt.test):
        raise DataError(f"Of {n} rows none can be held out so that {EACH} of each class are left; give more rows.")
    return len(dealt.order)


def growing_sizes(most: int, classes: int, number: int = SIZES) -> Array:
    """So many numbers of rows, each as many times the one before: from a few of each class to all."""
    fewest = min(max(FEWEST, EACH * classes), most)
    return np.unique(np.geomspace(fewest, most, number).round().astype(int))


def checked_sizes(sizes: Sequence[float] | None, most: int, classes: int) -> Array:
    """Increasing numbers of rows; shares of those there are become numbers."""
    if sizes is None:
        return growing_sizes(most, classes)
    given = np.asarray(sizes, dtype=float).ravel()
    numbers = np.where(given <= 1, np.floor(given * most), given)
    wrong = ~((numbers >= classes) & (numbers <= most) & (numbers == np.floor(numbers)))
    if not given.size or wrong.any():
        named = "none" if not given.size else f"{given[np.argmax(wrong)]:g}"
        raise DataError(
            f"sizes are numbers of rows from {classes} (one of each class) to {most} (those not held out), or shares "
            f"of them, not {named}."
        )
    return np.unique(numbers.astype(int))
