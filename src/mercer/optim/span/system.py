"""The equations of kernel ridge regression, (S K S + alpha) c = S y: K by tiles, S the roots of the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from mercer._errors import KernelError, NoFeatureMapError
from mercer._memory import check_memory
from mercer._typing import Array
from mercer.kernels import Gram, Kernel
from mercer.kernels.explicit import MAX_FEATURE_VALUES
from mercer.kernels.gram import GivenMatrix
from mercer.kernels.inputs import is_sparse

T = TypeVar("T")

#: entries of a kernel matrix up to which sums of squares do not overflow
LARGEST_KERNEL_VALUE = 1e140
#: rows per feature from which on features count as few
ROWS_PER_FEATURE = 10
#: matrices in memory at once while one is made symmetric
SYMMETRISED_MATRICES = 4
#: remedy for too many rows
FEWER_ROWS_REMEDY = (
    "approximate the kernel by some of its features, of the Nyström method or random Fourier features "
    "(approximate='nystroem' or 'fourier', or Nystroem before a linear model), or fit fewer rows"
)


class KernelMatrix(Protocol):
    """A symmetric kernel matrix: by tiles (`Gram`) or in memory (`GivenMatrix`)."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def diagonal(self) -> Array: ...

    def matvec(self, v: Any) -> Array: ...

    @property
    def dtype(self) -> Any: ...

    def rows(self, rows: Any) -> Array: ...

    def tile(self, rows: Any, columns: slice) -> Array: ...

    def lower(self, use: Callable[[slice, slice, Array], T]) -> Iterator[T]: ...


@dataclass(frozen=True, eq=False)
class RidgeSystem:
    """The equations (S K S + alpha) c = S y; the coefficients of the rows are a = S c."""

    K: KernelMatrix
    #: tolerance ↦ K with tiles of float32 if the errors of entries are below the tolerance
    rough: Callable[[float], KernelMatrix]
    Y: Array  # (n, targets)
    weight: Array | None = None
    #: returns ψ with K = ψψᵀ if it has few columns, else None
    features: Callable[[], Array | None] = lambda: None

    @classmethod
    def of(cls, kernel: Kernel, X: Any, Y: Array, weight: Array | None = None) -> RidgeSystem:
        """Return the equations for the rows X; the matrix of a kernel that may not be symmetric is checked."""
        gram = Gram(kernel, X)
        if not (sound := np.abs(gram.diagonal) < LARGEST_KERNEL_VALUE).all():
            row = int(np.argmin(sound))
            raise KernelError(
                f"k(x, x) of {kernel!r} is {gram.diagonal[row]:g} for row {row}: too large for float64, or not a "
                "number. Divide the columns by their scale, or use kernel.normalised()."
            )
        if not kernel.symmetric:
            n = gram.shape[0]
            check_memory(
                8.0 * SYMMETRISED_MATRICES * n**2, f"the matrix of {kernel!r} for {n:,} rows", FEWER_ROWS_REMEDY
            )
            return cls.of_matrix(gram.matrix(), Y, weight)
        rough = partial(Gram, kernel, X)
        return cls(gram, lambda tolerance: rough(tolerance=tolerance), Y, weight, partial(_few_features, kernel, X))

    @classmethod
    def of_matrix(cls, matrix: Array, Y: Array, weight: Array | None = None) -> RidgeSystem:
        """Return the equations for a symmetric matrix."""
        known = GivenMatrix(matrix)
        return cls(known, lambda tolerance: known, Y, weight)

    def __len__(self) -> int:
        return len(self.Y)

    @property
    def root(self) -> Array | None:
        """Return √weight."""
        return None if self.weight is None else np.sqrt(self.weight)

    @property
    def right(self) -> Array:
        """Return S y."""
        return self.apply_roots(self.Y)

    @property
    def diagonal(self) -> Array:
        return self.K.diagonal if self.weight is None else self.weight * self.K.diagonal

    def apply_roots(self, V: Array) -> Array:
        """Return S v."""
        return V if self.root is None else self.root[:, None] * V

    def matvec(self, V: Array, K: Any = None) -> Array:
        """Return S K S v."""
        return self.apply_roots(_multiply(self.K if K is None else K, self.apply_roots(V)))

    def compute_residual(self, c: Array, alpha: Array, K: Any = None) -> tuple[float, Array]:
        """Return ‖S y − (S K S + alpha) c‖ / ‖S y‖, the largest of all targets, and the residual."""
        residual = self.right - self.matvec(c, K) - alpha * c
        return largest_share(residual, self.right), residual

    def triangle(self) -> Array:
        """Return S K S on and below the diagonal, in a square matrix whose upper part is undefined."""
        square = np.empty((len(self), len(self)))
        root = self.root

        def put(rows: slice, columns: slice, tile: Array) -> None:
            square[rows, columns] = tile if root is None else root[rows, None] * tile * root[columns]

        for _ in self.K.lower(put):
            pass
        return square


@dataclass(frozen=True, eq=False)
class FeatureGram:
    """A kernel matrix K = ψψᵀ by its features."""

    features: Array

    def matvec(self, v: Array) -> Array:
        return np.asarray(self.features @ (self.features.T @ v))


def largest_share(residual: Array, right: Array) -> float:
    """Return ‖residual‖ / ‖right‖, the largest of all targets."""
    size = np.linalg.norm(right, axis=0)
    return float(np.max(np.linalg.norm(residual, axis=0) / np.where(size > 0, size, 1.0)))


def few_features(kernel: Kernel, rows: int, columns: int) -> int | None:
    """Return the number of features of the kernel if these are few compared with the rows, else None."""
    try:
        count = kernel.feature_map(columns).n_features if kernel.numeric else rows
    except NoFeatureMapError:
        return None
    return count if ROWS_PER_FEATURE * count <= rows and rows * count <= MAX_FEATURE_VALUES else None


def _few_features(kernel: Kernel, X: Any) -> Array | None:
    if not kernel.numeric or few_features(kernel, *X.shape) is None:
        return None
    features = kernel.feature_map(X.shape[1])(X)
    return np.asarray(features.toarray() if is_sparse(features) else features)


def _multiply(K: Any, V: Array) -> Array:
    # products with vectors are faster than with matrices of one column
    return np.asarray(K.matvec(V[:, 0])[:, None] if V.shape[1] == 1 else K.matvec(V))
