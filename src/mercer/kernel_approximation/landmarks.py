"""The choice of landmarks: the rows on which the features of a kernel are exact.

`uniform`: at random. `kmeans++`: far from each other, by the distance √(k(x, x) + k(z, z) − 2k(x, z)) of their features
(Arthur and Vassilvitskii 2007). `rpcholesky`: where those before explain k(x, x) least, by the pivots of
`mercer.kernels.pivoted.PivotedCholesky`, which also measures what all of them leave unexplained.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mercer._errors import KernelError, NonFiniteError
from mercer._memory import available_bytes
from mercer._stored import integers, stored
from mercer._threads import ordered_stream, row_blocks
from mercer._typing import Array
from mercer.kernels import Gram, Kernel
from mercer.kernels.gram import GivenMatrix
from mercer.kernels.inputs import count, take
from mercer.kernels.pivoted import PivotedCholesky, draw_rows

#: largest error of an entry of a rough tile
ROUGH_ENTRY_ERROR = 1e-5
#: held while a user's function is called
USER_FUNCTION_LOCK = Lock()


def for_each(function: Callable[[slice], None], blocks: list[slice], kernel: Kernel | None) -> None:
    """Call a function that evaluates a kernel (None: a given matrix) for all blocks, in threads if possible."""
    for _ in (ordered_stream if _is_thread_safe(kernel) else map)(function, blocks):
        pass


def _is_thread_safe(kernel: Kernel | None) -> bool:
    """Return whether a kernel may be called from several threads; a user's function may not."""
    return kernel is None or kernel.symmetric


@dataclass(frozen=True, eq=False)
class KernelTiles:
    """k(X, landmarks) as `matrices.mapped.Tiles`."""

    kernel: Kernel
    X: Any
    landmarks: Any

    @cached_property
    def _exact(self) -> Gram:
        return self._rough.exact()  # its rows are already prepared

    @cached_property
    def _rough(self) -> Gram:
        return Gram(self.kernel, self.X, self.landmarks, tolerance=ROUGH_ENTRY_ERROR)

    @property
    def shape(self) -> tuple[int, int]:
        return self._exact.shape

    @property
    def rough(self) -> np.dtype[Any]:
        return self._rough.dtype

    def fill(self, rows: slice, out: Array) -> None:
        gram = self._exact if out.dtype == np.float64 else self._rough
        with nullcontext() if _is_thread_safe(self.kernel) else USER_FUNCTION_LOCK:
            gram.fill(rows, out)

    def take(self, rows: Array) -> KernelTiles:
        X = self.X[rows] if hasattr(self.X, "shape") else [self.X[row] for row in rows]
        return replace(self, X=X)


#: rules by which landmarks are chosen
LANDMARK_RULES = ("uniform", "kmeans++", "rpcholesky")
#: entries of the factor of the kernel matrix by which landmarks are chosen: more rows gained nothing, measured at 10,
#: 30 and 100 per landmark
MAX_FACTOR_ENTRIES = 3e7
#: share of the available memory for this factor
FACTOR_MEMORY_SHARE = 0.3
#: least number of candidate rows per landmark
MIN_ROWS_PER_LANDMARK = 4
#: entries of the kernel matrix that are computed to spread landmarks, at most
MAX_DISTANCES = 4e9
#: landmarks that are proposed together
PROPOSALS = 64
#: columns of a block of distances in one thread
DISTANCE_BLOCK = 2048
#: portion of k(x, x) + k(z, z) below which a squared distance is rounding
DISTANCE_ROUNDING = 1e-12


@stored(numbers=integers("m"))
@dataclass(frozen=True, eq=False)
class Landmarks:
    """Positions of the landmarks among the rows, in the order in which they were chosen."""

    numbers: Array
    #: share of the trace of the candidates' kernel matrix that they leave unexplained; None if unknown
    error: float | None
    #: number of candidate rows
    among: int


def choose_landmarks(
    kernel: Kernel,
    X: Any,
    most: int,
    rule: str,
    random: np.random.RandomState,
    *,
    tol: float = 0.0,
    max_factor_entries: float = MAX_FACTOR_ENTRIES,
    max_distances: float = MAX_DISTANCES,
) -> Landmarks:
    """Choose up to `most` of the rows of X by one of the `LANDMARK_RULES`.

    Parameters
    ----------
    kernel : Kernel
        Kernel that compares two rows.
    X : array of shape (n, d), sparse matrix, or sequence
        Rows. Where a rule would take too long on all of them, the candidates are drawn uniformly.
    most : int
        Number of landmarks, at most.
    rule : {"uniform", "kmeans++", "rpcholesky"}
        Rule by which they are chosen.
    random : numpy.random.RandomState
        Random number generator; uniform landmarks are those of scikit-learn.
    tol : float, default=0
        "rpcholesky" stops when at most this share of the trace remains.
    max_factor_entries : float, default=3e7
        Entries of the factor of the candidates' kernel matrix by which "rpcholesky" chooses, at most.
    max_distances : float, default=4e9
        Entries of the kernel matrix that "kmeans++" computes, at most.
    """
    n = count(X)
    if rule == "uniform":
        return Landmarks(random.permutation(n)[:most], None, n)
    memory = FACTOR_MEMORY_SHARE * available_bytes() / 8
    entries = max_distances if rule == "kmeans++" else min(max_factor_entries, memory)
    rows = _draw_candidates(n, min(most, n), entries, random)
    candidates = X if rows is None else take(X, rows)
    landmarks = choose_from_matrix(Gram(kernel, candidates), most, rule, random, tol=tol)
    return landmarks if rows is None else Landmarks(rows[landmarks.numbers], landmarks.error, len(rows))


def choose_from_matrix(
    gram: Gram | GivenMatrix, most: int, rule: str, random: np.random.RandomState, *, tol: float = 0.0
) -> Landmarks:
    """Choose landmarks among all rows of a kernel matrix; see `choose_landmarks`."""
    n = gram.shape[0]
    if rule == "uniform":
        return Landmarks(random.permutation(n)[:most], None, n)
    check_entries(gram.diagonal, n)
    draw = np.random.default_rng(random.randint(np.iinfo(np.int32).max))
    if rule == "kmeans++":
        return Landmarks(_draw_spread(gram, min(most, n), draw), None, n)
    trace = float(np.maximum(gram.diagonal, 0.0).sum())
    factor = PivotedCholesky.of(gram, most, tol * trace / n, rng=draw)
    # a kernel that is 0 everywhere has no pivots, but features need a column
    return Landmarks(
        factor.pivots if len(factor.pivots) else np.zeros(1, dtype=np.intp), factor.error if trace > 0 else None, n
    )


def check_entries(entries: Array, rows: int) -> None:
    """Raise `KernelError` if the squared distances of these rows, up to four times an entry each, overflow in a sum."""
    largest = float(np.abs(entries).max(initial=0.0))
    if np.isnan(largest):
        raise NonFiniteError("the kernel of some of the rows is nan; a kernel is finite.")
    if not largest < np.finfo(float).max / (4 * rows):
        raise KernelError(
            f"the kernel is up to {largest:.2g}, which float64 cannot add up for {rows:,} rows; multiply it by a small "
            "number (1e-100 * kernel), divide the columns by their scale, or use kernel.normalised()."
        )


def count_needed_landmarks(K: Array, across: Array, diagonal: Array, tol: float) -> int:
    """Return how many of the landmarks leave at most `tol` of the trace of some rows; all of them if none do.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix of the landmarks, in their order.
    across : array of shape (m, rows)
        Kernel matrix of the landmarks with the rows.
    diagonal : array of shape (rows,)
        k(x, x) of the rows.
    tol : float
        Portion of Σ k(x, x) that may remain.
    """
    # the factor of the first landmarks is a part of the factor of all, so that each row of L⁻¹ k(landmarks, x) is the
    # reduction by one more landmark; a ridge replaces the digits that are lost where landmarks are close together
    ridge = len(K) * np.finfo(float).eps * float(np.abs(np.diagonal(K)).max(initial=0.0))
    while True:
        try:
            L = cholesky(K + ridge * np.eye(len(K)), lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            ridge *= 10.0
            if not 0 < ridge < np.inf:
                return len(K)
            continue
        explained = np.square(solve_triangular(L, across, lower=True, check_finite=False)).sum(axis=1)
        remaining = diagonal.sum() - np.cumsum(explained)
        is_enough = remaining <= tol * diagonal.sum()
        return int(np.argmax(is_enough)) + 1 if is_enough.any() else len(K)


def _draw_candidates(n: int, most: int, entries: float, random: np.random.RandomState) -> Array | None:
    """Return the rows to choose `most` from, sorted, such that each pair has one of the entries; None for all."""
    size = max(MIN_ROWS_PER_LANDMARK * most, int(entries / most))
    return None if size >= n else np.sort(random.permutation(n)[:size])


def _draw_spread(gram: Gram | GivenMatrix, most: int, draw: np.random.Generator) -> Array:
    """Draw rows with probabilities proportional to their squared distance from the nearest landmark.

    Many are proposed at once, and each is accepted with the probability that remains after those before it: they are
    distributed as if each had been drawn on its own. Fewer than `most` where no more rows differ.
    """
    diagonal = np.asarray(gram.diagonal, dtype=float)
    chosen = np.array([draw.integers(len(diagonal))])
    apart = np.full(len(diagonal), np.inf)
    _update_distances(gram, diagonal, chosen, apart)
    while len(chosen) < most and apart.any():
        new = _accept_proposals(gram, diagonal, draw_rows(apart, min(PROPOSALS, most - len(chosen)), draw), apart, draw)
        _update_distances(gram, diagonal, new, apart)
        chosen = np.append(chosen, new)
    return chosen


def _accept_proposals(gram: Any, diagonal: Array, proposed: Array, apart: Array, draw: np.random.Generator) -> Array:
    K = np.asarray(gram.part(proposed).rows(np.arange(len(proposed))), dtype=float)
    among = _compute_squared_distances(K, diagonal[proposed], diagonal[proposed])
    thresholds, nearest = draw.random(len(proposed)) * apart[proposed], apart[proposed]
    kept = list[int]()
    for i, threshold in enumerate(thresholds):
        if nearest[i] > threshold:
            kept.append(i)
            nearest = np.minimum(nearest, among[i])
            nearest[proposed == proposed[i]] = 0.0
    return np.asarray(proposed[kept])


def _update_distances(gram: Gram | GivenMatrix, diagonal: Array, new: Array, apart: Array) -> None:
    """Lower the squared distance of every row from its nearest landmark by some new landmarks; theirs is 0."""

    def lower(columns: slice) -> None:
        squares = _compute_squared_distances(gram.tile(new, columns), diagonal[new], diagonal[columns])
        np.minimum(apart[columns], squares.min(axis=0), out=apart[columns])

    for_each(lower, row_blocks(len(diagonal), DISTANCE_BLOCK), None if isinstance(gram, GivenMatrix) else gram.kernel)
    apart[new] = 0.0


def _compute_squared_distances(K: Array, left: Array, right: Array) -> Array:
    """Return ‖ψ(x) − ψ(z)‖² from k(x, z), k(x, x) and k(z, z)."""
    squares = np.asarray(left[:, None] + right - 2 * K)
    squares[squares <= DISTANCE_ROUNDING * (np.abs(left)[:, None] + np.abs(right))] = 0.0
    return squares
