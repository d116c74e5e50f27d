"""A machine for every pair of classes, and what they say together: libsvm's layout and votes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from mercer._typing import Array


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), …, (1, 2), …: a decision above 0 is one for the first of both."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def rows_of_pairs(codes: Array, n_classes: int) -> Iterator[Array]:
    """For every pair of classes the numbers of their rows, those of the first class before those of the second."""
    order = np.argsort(codes, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes))])
    of_class = [order[ends[k] : ends[k + 1]] for k in range(n_classes)]
    return (np.concatenate([of_class[i], of_class[j]]) for i, j in pairs(n_classes))


def dual_layout(betas: Iterable[Array], numbers: Iterable[Array], codes: Array, n_classes: int) -> Array:
    """libsvm's `dual_coef_`, for all rows: each has n_classes − 1 coefficients, one against each other class.

    Parameters
    ----------
    betas, numbers : iterables of arrays
        For every pair the coefficients of its rows, and their numbers.
    codes : integer array of shape (n,)
        The classes of all rows.
    """
    dual = np.zeros((n_classes - 1, len(codes)))
    for beta, rows, (i, j) in zip(betas, numbers, pairs(n_classes), strict=True):
        first = codes[rows] == i
        dual[j - 1, rows[first]] = beta[first]
        dual[i, rows[~first]] = beta[~first]
    return dual


def pair_columns(dual: Array, n_support: Array) -> Array:
    """From libsvm's layout to a column of coefficients for every pair, of support vectors in the order of classes."""
    n_classes = len(n_support)
    own, _ = own_pairs(n_classes)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    columns = np.zeros((dual.shape[1], n_classes * (n_classes - 1) // 2))
    for k in range(n_classes):
        columns[ends[k] : ends[k + 1], own[k]] = dual[:, ends[k] : ends[k + 1]].T
    return columns


@cache
def own_pairs(n_classes: int) -> tuple[Array, Array]:
    """For every class the numbers of its pairs, by the other class, and the sign of a decision for it."""
    numbers = np.zeros((n_classes, n_classes), dtype=np.intp)
    for p, (i, j) in enumerate(pairs(n_classes)):
        numbers[i, j] = numbers[j, i] = p
    others = ~np.eye(n_classes, dtype=bool)
    signs = np.where(np.tri(n_classes, dtype=bool), -1.0, 1.0)
    return numbers[others].reshape(n_classes, -1), signs[others].reshape(n_classes, -1)


def winners(decisions: Array, n_classes: int) -> Array:
    """The class with most votes, the first of those where several have; a decision of 0 is one for the second."""
    first = decisions > 0
    own, signs = own_pairs(n_classes)
    votes = [np.count_nonzero(first[:, own[k]] == (signs[k] > 0), axis=1) for k in range(n_classes)]
    return np.asarray(np.argmax(votes, axis=0))


def one_against_rest(decisions: Array, n_classes: int) -> Array:
    """Votes, with the sums of decisions, squeezed into (−1/3, 1/3), to break ties: scikit-learn's."""
    return np.asarray(_ovr_decision_function(decisions < 0, -decisions, n_classes))


def smallest_margins(decisions: Array, n_classes: int) -> Array:
    """For every class its decision against the rival that does best against it.

    A class that beats every other has a margin above 0, and every other one below: so the largest is that of the class
    with most votes, and margins change continuously where the winner does. NaN in a decision says nothing.
    """
    own, signs = own_pairs(n_classes)
    margins = [np.fmin.reduce(signs[k] * decisions[:, own[k]], axis=1) for k in range(n_classes)]
    return np.stack(margins, axis=1)


def agreeing(values: Array, winner: Array) -> Array:
    """Probabilities, or their logarithms, whose largest is that of the winner, also where votes went round in circles.

    Where another class has a larger one, or an equal one by rounding, the winner gets the next number above it.
    """
    rows = np.flatnonzero(values.argmax(axis=1) != winner)
    values[rows, winner[rows]] = np.nextafter(values[rows].max(axis=1), np.inf)
    return values
