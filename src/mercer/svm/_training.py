"""Rows of a fit, prepared for the machines: weights, kernel rows for the solver, and the comparison with new rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from mercer._errors import DataError, NonFiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.base.kernel_choice import sample_row_numbers
from mercer.base.kernel_comparison import ByKernel, RowComparison, block
from mercer.base.validation import compute_class_weight, is_sparse
from mercer.kernels import Gram, Kernel, Linear, PositiveDefinite, check_matrix, check_positive_definite
from mercer.kernels.inputs import count, take
from mercer.optim.span.kernel_rows import KernelMatrixRows, KernelRows, SharedRows
from mercer.svm.feature_machine import FeatureRows

#: rows above which kernel rows may be in float32
FLOAT32_ROWS = 1000
#: error of an entry up to which float32 is worth trying: the solver measures its effect on the slopes, and continues in
#: float64 where it is too large
FLOAT32_ENTRY_ERROR = 1e-4
#: entries up to which a sparse matrix becomes dense: products are faster then, and bitwise equal to those of dense X
MAX_DENSE_ENTRIES = 2_000_000
#: distance from the origin, in standard deviations, at which products of rows lose too many digits
FAR_FROM_ORIGIN = 100.0
#: rows on which a kernel is checked, unless it is positive definite by construction
DEFINITENESS_SAMPLE = 200
#: relative error of an entry of a user's function or matrix, which may be computed in float32
USER_ENTRY_ERROR = 1e-6


def validate_row_weights(sample_weight: Any, X: Any) -> Array:
    """Return a weight for every row; as in libsvm, rows without a weight above 0 are left out."""
    n = count(X)
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{error}: sample_weight must be numbers, one for each row.") from None
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


def check_classes_have_weight(classes: Array, codes: Array) -> None:
    """Raise if a class has no rows left; `codes` are those of the rows with weight."""
    has_rows = np.bincount(codes, minlength=len(classes)) > 0
    if has_rows.sum() == 1:
        raise DataError(
            "Invalid input - all samples with positive weights belong to the same class, "
            f"{classes.tolist()[int(np.argmax(has_rows))]!r}. Give weights above 0 to rows of another."
        )
    if not has_rows.all():
        raise DataError(
            f"no row of class {classes.tolist()[int(np.argmin(has_rows))]!r} has a weight above 0; leave its rows out, "
            "or give some of them weight."
        )


def compute_class_weights(class_weight: Any, classes: Array, y: Any) -> Array:
    """Return the factor of C of each class."""
    if isinstance(class_weight, dict):
        for label, factor in class_weight.items():
            if not isinstance(factor, Real):
                raise DataError(f"class_weight of class {label!r} is {factor!r}; give a number, 0 or more.")
    weights: Array = compute_class_weight(class_weight, classes=classes, y=y)
    if (bad := ~(weights >= 0)).any():
        raise DataError(
            f"class_weight of class {classes.tolist()[int(np.argmax(bad))]!r} is {weights[bad][0]:g}; a factor is 0 or "
            "more. Leave the rows of the class out if it should not count."
        )
    return weights


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that can be compared with each other."""

    #: kernel rows, or features, for the machine of two groups of rows; of all rows where there is one group
    rows: Callable[[int, int], KernelMatrixRows | FeatureRows]
    diagonal: Array
    dtype: str
    #: whether the kernel, or the matrix, is positive definite
    definite: PositiveDefinite
    #: returns the comparison with new rows, given the positions of the support vectors
    comparison: Callable[[Array], RowComparison]
    #: whole kernel matrix, where it is in memory
    matrix: Array | None = None
    #: features of all rows, where they approximate the kernel
    features: FeatureRows | None = None


def prepare_by_kernel(
    kernel: Kernel, kept: Any, X: Any, *, groups: Sequence[Array], cache_bytes: int, intercept: bool
) -> TrainingRows:
    """Prepare rows that a kernel compares.

    Parameters
    ----------
    kernel : Kernel
        Kernel.
    kept : array, sparse matrix or sequence
        Rows with weight.
    X : like kept
        All rows, among which are the support vectors.
    groups : sequence of integer arrays
        Positions of the rows of each class, one after the other, for a machine of each pair. One group if there is one
        machine.
    cache_bytes : int
        Memory for kernel rows.
    intercept : bool
        Whether the machines have an intercept.
    """
    if is_sparse(kept) and kept.shape[0] * kept.shape[1] <= MAX_DENSE_ENTRIES:
        kept = kept.toarray()
    n, centre = count(kept), find_centre(kernel, kept) if intercept else None
    kept = kept if centre is None else kept - centre
    # several machines need the same entries, which are computed once if memory allows
    fits = len(groups) > 1 and 8 * n**2 <= cache_bytes
    gram = Gram(kernel, kept, tolerance=FLOAT32_ENTRY_ERROR if n > FLOAT32_ROWS and not fits else 0.0)
    matrix = gram.matrix() if fits else None
    rows = _rows_by_tiles(gram, groups, cache_bytes) if matrix is None else _rows_in_memory(matrix, groups)
    with blas_for(1):  # threads of BLAS would wait for each other on few rows
        definite = check_positive_definite(
            kernel, take(kept, sample_row_numbers(n, DEFINITENESS_SAMPLE)), entry_error=USER_ENTRY_ERROR
        )
    return TrainingRows(
        rows,
        gram.diagonal,
        str(gram.dtype),
        definite,
        lambda numbers: ByKernel(kernel, take(X, numbers), centre),
        matrix,
    )


def find_centre(kernel: Kernel, X: Any) -> Array | None:
    """Return the mean to subtract from rows that lie far from the origin, whose products x·z would lose digits, or
    None.

    With Σβ = 0, Σ βᵢ(xᵢ − c)·(x − c) is Σ βᵢ xᵢ·x but for a constant, which the intercept absorbs.
    """
    if not isinstance(kernel, Linear) or is_sparse(X):
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        centre, spread = X.mean(axis=0), X.std(axis=0)
        size = float(np.abs(centre).max(initial=0.0))
        is_far = np.isfinite(size) and size > FAR_FROM_ORIGIN * float(spread.max(initial=0.0))
    return np.asarray(centre) if is_far else None


def prepare_by_matrix(
    K: Array, comparison: Callable[[Array], RowComparison], *, groups: Sequence[Array]
) -> TrainingRows:
    """Prepare rows that a matrix compares; see `prepare_by_kernel`."""
    sample = sample_row_numbers(len(K), DEFINITENESS_SAMPLE)
    with blas_for(1):
        definite = check_matrix(K[np.ix_(sample, sample)], entry_error=USER_ENTRY_ERROR)
    return TrainingRows(_rows_in_memory(K, groups), np.diag(K).copy(), "float64", definite, comparison, K)


def _rows_by_tiles(gram: Gram, groups: Sequence[Array], cache_bytes: int) -> Callable[[int, int], KernelMatrixRows]:
    if len(groups) > 1:
        return SharedRows(gram, groups, cache_bytes).pair
    rows = KernelRows(gram, cache_bytes)
    return lambda i, j: rows


def _rows_in_memory(K: Array, groups: Sequence[Array]) -> Callable[[int, int], KernelMatrixRows]:
    if len(groups) > 1:
        return lambda i, j: KernelRows.of_matrix(block(K, np.concatenate([groups[i], groups[j]])))
    rows = KernelRows.of_matrix(K)
    return lambda i, j: rows
