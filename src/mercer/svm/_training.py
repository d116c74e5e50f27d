"""The rows of a fit made ready for its machines: kernel rows for the solver, and how new rows will be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from mercer._errors import DataError, NonFiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.base.kernel_choice import sample_of
from mercer.base.kernel_comparison import ByKernel, RowComparison, block
from mercer.base.validation import is_sparse
from mercer.kernels import Gram, Kernel, Linear, PositiveDefinite, check_matrix, check_positive_definite
from mercer.kernels.inputs import count, take
from mercer.optim.span.kernel_rows import KernelMatrixRows, KernelRows, SharedRows
from mercer.svm.feature_machine import FeatureRows

# What a support vector machine is to learn: weights of rows, classes it can tell apart, and what each costs.


def row_weights(sample_weight: Any, X: Any) -> Array:
    """One for every row; as in libsvm, rows without a weight above 0 take no part."""
    n = count(X)
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as refusal:
        raise DataError(f"{refusal}: sample_weight must be numbers, one for each row.") from None
    if weight.shape != (n,):
        raise DataError(
            f"sample_weight and X have incompatible shapes: {weight.shape} vs {np.shape(X)}. Give one weight for "
            "each row."
        )
    if not (finite := np.isfinite(weight)).all():
        row = int(np.argmin(finite))
        raise NonFiniteError(f"Input sample_weight contains {weight[row]} in row {row}; give every row a number.")
    if not (weight > 0).any():
        raise DataError(
            "Invalid input - all samples have zero or negative weights. Give a weight above 0 to the rows to learn "
            "from."
        )
    return weight


def refuse_lost_classes(classes: Array, codes: Array) -> None:
    """Each must have rows, by their codes, that take part."""
    there = np.bincount(codes, minlength=len(classes)) > 0
    if there.sum() == 1:
        raise DataError(
            "Invalid input - all samples with positive weights belong to the same class, "
            f"{classes.tolist()[int(np.argmax(there))]!r}. Give weights above 0 to rows of another."
        )
    if not there.all():
        raise DataError(
            f"no row of class {classes.tolist()[int(np.argmin(there))]!r} has a weight above 0; leave its rows out, or "
            "give some of them weight."
        )


def prices(class_weight: Any, classes: Array, y: Any) -> Array:
    """The factor of C of each class."""
    if isinstance(class_weight, dict):
        for label, price in class_weight.items():
            if not isinstance(price, Real):
                raise DataError(f"class_weight of class {label!r} is {price!r}; give a number, 0 or more.")
    weights: Array = compute_class_weight(class_weight, classes=classes, y=y)
    if (bad := ~(weights >= 0)).any():
        raise DataError(
            f"class_weight of class {classes.tolist()[int(np.argmax(bad))]!r} is {weights[bad][0]:g}; a price is 0 or "
            "more. Leave the class out if it is not to count."
        )
    return weights


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
class MachineTraining:
    """Rows that can be compared with each other."""

    #: kernel rows, or features, for the machine of two groups of rows; of all rows where there is one group
    rows: Callable[[int, int], KernelMatrixRows | FeatureRows]
    diagonal: Array
    dtype: str
    #: what the kernel is, or the matrix was found to be
    definite: PositiveDefinite
    #: from the numbers of the support vectors to how new rows are compared with them
    comparison: Callable[[Array], RowComparison]
    #: the whole matrix, where there is one
    matrix: Array | None = None
    #: features of all rows, where these approximate the kernel
    features: FeatureRows | None = None


def by_kernel(
    kernel: Kernel, kept: Any, X: Any, *, groups: Sequence[Array], cache_bytes: int, intercept: bool
) -> MachineTraining:
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
    return MachineTraining(
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


def by_matrix(K: Array, comparison: Callable[[Array], RowComparison], *, groups: Sequence[Array]) -> MachineTraining:
    """Rows that a matrix compares; see `by_kernel`."""
    sample = sample_of(len(K), LOOKED_AT)
    with blas_for(1):
        definite = check_matrix(K[np.ix_(sample, sample)], entry_error=ENTRY)
    return MachineTraining(_in_memory(K, groups), np.diag(K).copy(), "float64", definite, comparison, K)


def _by_tiles(gram: Gram, groups: Sequence[Array], cache_bytes: int) -> Callable[[int, int], KernelMatrixRows]:
    if len(groups) > 1:
        return SharedRows(gram, groups, cache_bytes).pair
    rows = KernelRows(gram, cache_bytes)
    return lambda i, j: rows


def _in_memory(K: Array, groups: Sequence[Array]) -> Callable[[int, int], KernelMatrixRows]:
    if len(groups) > 1:
        return lambda i, j: KernelRows.of_matrix(block(K, np.concatenate([groups[i], groups[j]])))
    rows = KernelRows.of_matrix(K)
    return lambda i, j: rows
