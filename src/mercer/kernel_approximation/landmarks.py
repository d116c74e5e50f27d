"""Which rows the features of a kernel are to be exact on.

`uniform`: any. `kmeans++`: far from each other, by the distance √(k(x, x) + k(z, z) − 2k(x, z)) of their features
(Arthur and Vassilvitskii 2007). `rpcholesky`: where those before leave most of k(x, x), as `PivotedCholesky` draws its
pivots, which knows what all of them leave.
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
from mercer.kernels.pivoted import PivotedCholesky, drawn

# Kernels of rows with landmarks, made tile by tile: for `designs.mapped`, and for features.

#: error of an entry that a rough tile may have
ROUGH = 1e-5
ONE_AT_A_TIME = Lock()


def for_each(function: Callable[[slice], None], blocks: list[slice], kernel: Kernel | None) -> None:
    """Call a function that asks a kernel (None: one whose values are there) for all blocks, on threads if it may be."""
    for _ in (ordered_stream if _may_be_shared(kernel) else map)(function, blocks):
        pass


def _may_be_shared(kernel: Kernel | None) -> bool:
    """A function of a user has never been asked whether it may be called by several threads."""
    return kernel is None or kernel.symmetric


@dataclass(frozen=True, eq=False)
class KernelTiles:
    """k(X, landmarks) (`designs.mapped.Tiles`)."""

    kernel: Kernel
    X: Any
    landmarks: Any

    @cached_property
    def _exact(self) -> Gram:
        return self._rough.exact()  # which has been made ready for it already

    @cached_property
    def _rough(self) -> Gram:
        return Gram(self.kernel, self.X, self.landmarks, tolerance=ROUGH)

    @property
    def shape(self) -> tuple[int, int]:
        return self._exact.shape

    @property
    def rough(self) -> np.dtype[Any]:
        return self._rough.dtype

    def fill(self, rows: slice, out: Array) -> None:
        gram = self._exact if out.dtype == np.float64 else self._rough
        with nullcontext() if _may_be_shared(self.kernel) else ONE_AT_A_TIME:
            gram.fill(rows, out)

    def take(self, rows: Array) -> KernelTiles:
        X = self.X[rows] if hasattr(self.X, "shape") else [self.X[row] for row in rows]
        return replace(self, X=X)


RULES = ("uniform", "kmeans++", "rpcholesky")
#: most numbers of a factor of the kernel matrix that landmarks are chosen by (more rows gained nothing to speak of,
#: measured at 10, 30 and 100 for each landmark), of the memory that is left no more than a share, and the fewest rows
#: for each landmark that are looked at
ENTRIES, SHARE, ROWS_FOR_EACH = 3e7, 0.3, 4
#: most entries of the kernel matrix that are computed to spread landmarks
DISTANCES = 4e9
#: landmarks that are proposed together, and columns that a thread compares them with at a time
BLOCK, PIECE = 64, 2048
#: a squared distance below this portion of k(x, x) + k(z, z) is rounding
ROUNDING = 1e-12


@stored(numbers=integers("m"))
@dataclass(frozen=True, eq=False)
class Landmarks:
    """Rows by their numbers, in the order in which they were chosen."""

    numbers: Array
    #: what they leave of the trace of the kernel matrix of the rows looked at, relative to it; None if nobody knows
    error: float | None
    #: how many rows were looked at
    among: int


def choose(
    kernel: Kernel, X: Any, most: int, rule: str, random: np.random.RandomState, *, tol: float = 0.0
) -> Landmarks:
    """No more than `most` of the rows of X by one of the `RULES`.

    Parameters
    ----------
    kernel : Kernel
        What compares two rows.
    X : array of shape (n, d), sparse matrix, or sequence
        The rows. Where a rule would take too long on all of them, it looks at some, drawn uniformly.
    most : int
        Of landmarks.
    rule : {"uniform", "kmeans++", "rpcholesky"}
        How they are chosen.
    random : numpy.random.RandomState
        What draws them; uniformly as scikit-learn does.
    tol : float, default=0
        "rpcholesky" stops when so much is left of the trace, relative to it.
    """
    n = count(X)
    if rule == "uniform":
        return Landmarks(random.permutation(n)[:most], None, n)
    rows = _looked_at(n, min(most, n), rule, random)
    looked = X if rows is None else take(X, rows)
    found = choose_from(Gram(kernel, looked), most, rule, random, tol=tol)
    return found if rows is None else Landmarks(rows[found.numbers], found.error, len(rows))


def choose_from(
    gram: Gram | GivenMatrix, most: int, rule: str, random: np.random.RandomState, *, tol: float = 0.0
) -> Landmarks:
    """`choose` where all of the kernel matrix is at hand, or is to be looked at."""
    n = gram.shape[0]
    if rule == "uniform":
        return Landmarks(random.permutation(n)[:most], None, n)
    refuse_too_large(gram.diagonal, n)
    draw = np.random.default_rng(random.randint(np.iinfo(np.int32).max))
    if rule == "kmeans++":
        return Landmarks(_spread(gram, min(most, n), draw), None, n)
    trace = float(np.maximum(gram.diagonal, 0.0).sum())
    found = PivotedCholesky.of(gram, most, tol * trace / n, rng=draw)
    # of a kernel that is 0 everywhere there are no pivots, but features are to have a column
    return Landmarks(
        found.pivots if len(found.pivots) else np.zeros(1, dtype=np.intp), found.error if trace > 0 else None, n
    )


def refuse_too_large(entries: Array, rows: int) -> None:
    """`KernelError` where squared distances of so many rows, each up to four times an entry, have no sum in float64."""
    largest = float(np.abs(entries).max(initial=0.0))
    if np.isnan(largest):
        raise NonFiniteError("the kernel of some of the rows is nan; a kernel is finite.")
    if not largest < np.finfo(float).max / (4 * rows):
        raise KernelError(
            f"the kernel is up to {largest:.2g}, which float64 cannot add up for {rows:,} rows; multiply it by a small "
            "number (1e-100 * kernel), divide the columns by their scale, or use kernel.normalised()."
        )


def fewest(K: Array, across: Array, diagonal: Array, tol: float) -> int:
    """How many of the landmarks leave `tol` of the trace of some rows, relative to it; all where none do.

    Parameters
    ----------
    K : array of shape (m, m)
        The kernel matrix of the landmarks, in their order.
    across : array of shape (m, rows)
        That of the landmarks with the rows.
    diagonal : array of shape (rows,)
        k(x, x) of the rows.
    tol : float
        The portion of Σ k(x, x) that may be left.
    """
    # the triangle of the first of them is a part of that of all, so that each row of L⁻¹ k(landmarks, x) is what one
    # more landmark takes off; a multiple of the identity stands in for digits that landmarks close together do not have
    ridge = len(K) * np.finfo(float).eps * float(np.abs(np.diagonal(K)).max(initial=0.0))
    while True:
        try:
            L = cholesky(K + ridge * np.eye(len(K)), lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            ridge *= 10.0
            if not 0 < ridge < np.inf:
                return len(K)
            continue
        taken = np.square(solve_triangular(L, across, lower=True, check_finite=False)).sum(axis=1)
        left = diagonal.sum() - np.cumsum(taken)
        enough = left <= tol * diagonal.sum()
        return int(np.argmax(enough)) + 1 if enough.any() else len(K)


def _looked_at(n: int, most: int, rule: str, random: np.random.RandomState) -> Array | None:
    """Rows to choose from, sorted; None for all."""
    room = DISTANCES if rule == "kmeans++" else min(ENTRIES, SHARE * available_bytes() / 8)
    size = max(ROWS_FOR_EACH * most, int(room / most))
    return None if size >= n else np.sort(random.permutation(n)[:size])


def _spread(gram: Gram | GivenMatrix, most: int, draw: np.random.Generator) -> Array:
    """Rows drawn with the chance of their squared distance from the nearest one before.

    Many are proposed at once, and each is kept with the chance that those before it leave: so they are distributed as
    if each had been drawn on its own. Fewer than `most` where there are no more rows that differ.
    """
    diagonal = np.asarray(gram.diagonal, dtype=float)
    chosen = np.array([draw.integers(len(diagonal))])
    apart = np.full(len(diagonal), np.inf)
    _come_nearer(gram, diagonal, chosen, apart)
    while len(chosen) < most and apart.any():
        new = _kept(gram, diagonal, drawn(apart, min(BLOCK, most - len(chosen)), draw), apart, draw)
        _come_nearer(gram, diagonal, new, apart)
        chosen = np.append(chosen, new)
    return chosen


def _kept(gram: Any, diagonal: Array, proposed: Array, apart: Array, draw: np.random.Generator) -> Array:
    K = np.asarray(gram.part(proposed).rows(np.arange(len(proposed))), dtype=float)
    among = _distances(K, diagonal[proposed], diagonal[proposed])
    thresholds, nearest = draw.random(len(proposed)) * apart[proposed], apart[proposed]
    kept = list[int]()
    for i, threshold in enumerate(thresholds):
        if nearest[i] > threshold:
            kept.append(i)
            nearest = np.minimum(nearest, among[i])
            nearest[proposed == proposed[i]] = 0.0
    return np.asarray(proposed[kept])


def _come_nearer(gram: Gram | GivenMatrix, diagonal: Array, new: Array, apart: Array) -> None:
    """Lower the squared distance of every row from the nearest landmark by some new ones, which have none."""

    def lower(columns: slice) -> None:
        squares = _distances(gram.tile(new, columns), diagonal[new], diagonal[columns])
        np.minimum(apart[columns], squares.min(axis=0), out=apart[columns])

    for_each(lower, row_blocks(len(diagonal), PIECE), None if isinstance(gram, GivenMatrix) else gram.kernel)
    apart[new] = 0.0


def _distances(K: Array, left: Array, right: Array) -> Array:
    """‖ψ(x) − ψ(z)‖² from k(x, z), k(x, x) and k(z, z)."""
    squares = np.asarray(left[:, None] + right - 2 * K)
    squares[squares <= ROUNDING * (np.abs(left)[:, None] + np.abs(right))] = 0.0
    return squares
