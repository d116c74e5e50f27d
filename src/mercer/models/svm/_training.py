"""The rows of a fit made ready for its machines: kernel rows for the solver, and how new rows will be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.kernels import Gram, Kernel, Linear, PositiveDefinite, check_matrix, check_positive_definite
from mercer.models._kernel_choice import sample_of
from mercer.models.base import is_sparse
from mercer.models.comparisons import ByKernel, Comparison, block, count, take
from mercer.solvers.machines.feature_machine import FeatureRows
from mercer.solvers.machines.kernel_rows import KernelRows, Rows, SharedRows

#: rows from which on kernel rows may be of float32, and the bound of the error of an entry up to which that is worth
#: trying: the solver measures what it does to slopes, and goes on in float64 where it is too much
MANY, TOLERANCE = 1000, 1e-4
#: numbers up to which a sparse matrix is written out: products are then faster, and bit by bit those of dense X
FEW_NUMBERS = 2_000_000
#: distance from the origin, in standard deviations, that costs products of rows more digits than they can spare
FAR = 100.0
#: rows on which a kernel is checked if it is not known to be positive definite
LOOKED_AT = 200
#: relative error of an entry that a user's function or matrix may have: they may be of float32
ENTRY = 1e-6


@dataclass(frozen=True, eq=False)
class Training:
    """Rows that can be compared with each other."""

    #: kernel rows, or features, for the machine of two groups of rows; of all rows where there is one group
    rows: Callable[[int, int], Rows | FeatureRows]
    diagonal: Array
    dtype: str
    #: what the kernel is, or the matrix was found to be
    definite: PositiveDefinite
    #: from the numbers of the support vectors to how new rows are compared with them
    comparison: Callable[[Array], Comparison]
    #: the whole matrix, where there is one
    matrix: Array | None = None
    #: features of all rows, where these approximate the kernel
    features: FeatureRows | None = None


def by_kernel(
    kernel: Kernel, kept: Any, X: Any, *, groups: Sequence[Array], cache_bytes: int, intercept: bool
) -> Training:
    """Rows that a kernel compares.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    kept : array, sparse matrix or sequence
        The rows that take part.
    X : like kept
        All rows, of which the support vectors will be some.
    groups : sequence of integer arrays
        The numbers of the rows of each class, one after the other; a machine of each pair will need them. One group
        if there is one machine.
    cache_bytes : int
        Memory for kernel rows.
    intercept : bool
        Whether the machines have one.
    """
    if is_sparse(kept) and kept.shape[0] * kept.shape[1] <= FEW_NUMBERS:
        kept = kept.toarray()
    n, centre = count(kept), centre_of(kernel, kept) if intercept else None
    kept = kept if centre is None else kept - centre
    # several machines need the same entries, which are made once where there is room for all
    fits = len(groups) > 1 and 8 * n**2 <= cache_bytes
    gram = Gram(kernel, kept, tolerance=TOLERANCE if n > MANY and not fits else 0.0)
    matrix = gram.matrix() if fits else None
    rows = _by_tiles(gram, groups, cache_bytes) if matrix is None else _in_memory(matrix, groups)
    with blas_for(1):  # few rows: threads of BLAS would wait for each other
        definite = check_positive_definite(kernel, take(kept, sample_of(n, LOOKED_AT)), entry_error=ENTRY)
    return Training(
        rows,
        gram.diagonal,
        str(gram.dtype),
        definite,
        lambda numbers: ByKernel(kernel, take(X, numbers), centre),
        matrix,
    )


def centre_of(kernel: Kernel, X: Any) -> Array | None:
    """What to take from rows that lie far from the origin, whose products x·z would lose digits; None elsewhere.

    With Σβ = 0, Σ βᵢ(xᵢ − c)·(x − c) is Σ βᵢ xᵢ·x but for a constant, which is the intercept's.
    """
    if not isinstance(kernel, Linear) or is_sparse(X):
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        centre, spread = X.mean(axis=0), X.std(axis=0)
        size = float(np.abs(centre).max(initial=0.0))
        far = np.isfinite(size) and size > FAR * float(spread.max(initial=0.0))
    return np.asarray(centre) if far else None


def by_matrix(K: Array, comparison: Callable[[Array], Comparison], *, groups: Sequence[Array]) -> Training:
    """Rows that a matrix compares; see `by_kernel`."""
    sample = sample_of(len(K), LOOKED_AT)
    with blas_for(1):
        definite = check_matrix(K[np.ix_(sample, sample)], entry_error=ENTRY)
    return Training(_in_memory(K, groups), np.diag(K).copy(), "float64", definite, comparison, K)


def _by_tiles(gram: Gram, groups: Sequence[Array], cache_bytes: int) -> Callable[[int, int], Rows]:
    if len(groups) > 1:
        return SharedRows(gram, groups, cache_bytes).pair
    rows = KernelRows(gram, cache_bytes)
    return lambda i, j: rows


def _in_memory(K: Array, groups: Sequence[Array]) -> Callable[[int, int], Rows]:
    if len(groups) > 1:
        return lambda i, j: KernelRows.of_matrix(block(K, np.concatenate([groups[i], groups[j]])))
    rows = KernelRows.of_matrix(K)
    return lambda i, j: rows
