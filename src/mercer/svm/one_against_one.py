"""Machines for every pair of classes: libsvm's layout of their coefficients, and their votes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from mercer._typing import Array


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs (0, 1), (0, 2), …, (1, 2), …; a decision above 0 is for the first class of a pair."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def split_into_pairs(codes: Array, n_classes: int) -> Iterator[Array]:
    """Return the rows of every pair of classes, those of the first class before those of the second."""
    order = np.argsort(codes, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes))])
    of_class = [order[ends[k] : ends[k + 1]] for k in range(n_classes)]
    return (np.concatenate([of_class[i], of_class[j]]) for i, j in class_pairs(n_classes))


def arrange_as_libsvm(betas: Iterable[Array], numbers: Iterable[Array], codes: Array, n_classes: int) -> Array:
    """Return libsvm's `dual_coef_` for all rows: n_classes − 1 coefficients each, one against each other class.

    Parameters
    ----------
    betas, numbers : iterables of arrays
        Coefficients of the rows of every pair, and the positions of these rows.
    codes : integer array of shape (n,)
        The classes of all rows.
    """
    dual = np.zeros((n_classes - 1, len(codes)))
    for beta, rows, (i, j) in zip(betas, numbers, class_pairs(n_classes), strict=True):
        first = codes[rows] == i
        dual[j - 1, rows[first]] = beta[first]
        dual[i, rows[~first]] = beta[~first]
    return dual


def arrange_by_pair(dual: Array, n_support: Array) -> Array:
    """Convert libsvm's layout to a column of coefficients per pair, for support vectors in the order of classes."""
    n_classes = len(n_support)
    own, _ = pairs_with_signs(n_classes)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    columns = np.zeros((dual.shape[1], n_classes * (n_classes - 1) // 2))
    for k in range(n_classes):
        columns[ends[k] : ends[k + 1], own[k]] = dual[:, ends[k] : ends[k + 1]].T
    return columns


@cache
def pairs_with_signs(n_classes: int) -> tuple[Array, Array]:
    """Return, for every class and other class, the position of their pair and the sign of a decision for the class."""
    numbers = np.zeros((n_classes, n_classes), dtype=np.intp)
    for p, (i, j) in enumerate(class_pairs(n_classes)):
        numbers[i, j] = numbers[j, i] = p
    others = ~np.eye(n_classes, dtype=bool)
    signs = np.where(np.tri(n_classes, dtype=bool), -1.0, 1.0)
    return numbers[others].reshape(n_classes, -1), signs[others].reshape(n_classes, -1)


def vote(decisions: Array, n_classes: int) -> Array:
    """Return the class with most votes, the first of several; a decision of 0 is a vote for the second class."""
    first = decisions > 0
    if n_classes == 2:
        return np.asarray(np.where(first[:, 0], 0, 1))
    own, signs = pairs_with_signs(n_classes)
    votes = [np.count_nonzero(first[:, own[k]] == (signs[k] > 0), axis=1) for k in range(n_classes)]
    return np.asarray(np.argmax(votes, axis=0))


def sum_votes(decisions: Array, n_classes: int) -> Array:
    """Return votes plus sums of decisions squeezed into (−1/3, 1/3), which break ties, as in scikit-learn."""
    return np.asarray(_ovr_decision_function(decisions < 0, -decisions, n_classes))


def compute_smallest_margins(decisions: Array, n_classes: int) -> Array:
    """Return each class's decision against the rival that does best against it.

    A class that beats every other has a margin above 0, and every other class one below: the largest margin is that of
    the class with most votes, and margins change continuously where the winner does. NaN in a decision is ignored.
    """
    own, signs = pairs_with_signs(n_classes)
    margins = [np.fmin.reduce(signs[k] * decisions[:, own[k]], axis=1) for k in range(n_classes)]
    return np.stack(margins, axis=1)


def raise_winner(values: Array, winner: Array) -> Array:
    """Return probabilities, or their logarithms, whose largest is that of the winner, also where votes are circular.

    Where another class has a larger value, or an equal one by rounding, the winner gets the next larger number.
    """
    rows = np.flatnonzero(values.argmax(axis=1) != winner)
    values[rows, winner[rows]] = np.nextafter(values[rows].max(axis=1), np.inf)
    return values
