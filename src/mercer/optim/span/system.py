"""(S K S + alpha) c = S y, what kernel ridge regression solves: K known by its tiles, S the roots of the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from mercer._errors import KernelError, NoFeatureMapError
from mercer._memory import refuse_beyond_memory
from mercer._typing import Array
from mercer.kernels import Gram, Kernel
from mercer.kernels.explicit import MOST_NUMBERS
from mercer.kernels.gram import GivenMatrix
from mercer.kernels.inputs import is_sparse

T = TypeVar("T")

#: entries of a kernel matrix up to which sums of squares do not overflow
LARGEST = 1e140
#: rows for each feature from which on there are few features
ROWS_PER_FEATURE = 10
#: matrices of that size in memory at once while one is made symmetric
SQUARES = 4
#: what to do about too many rows
INSTEAD = (
    "approximate the kernel by some of its features, of the Nyström method or random Fourier features "
    "(approximate='nystroem' or 'fourier', or Nystroem before a linear model), or fit fewer rows"
)


class KernelMatrix(Protocol):
    """A symmetric kernel matrix: made tile by tile (`Gram`) or in memory (`GivenMatrix`)."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def diagonal(self) -> Array: ...

    def times(self, v: Any) -> Array: ...

    @property
    def dtype(self) -> Any: ...

    def rows(self, rows: Any) -> Array: ...

    def tile(self, rows: Any, columns: slice) -> Array: ...

    def lower(self, use: Callable[[slice, slice, Array], T]) -> Iterator[T]: ...


@dataclass(frozen=True, eq=False)
class RidgeSystem:
    """The equations; c of a row is its coefficient over the root of its weight."""

    K: KernelMatrix
    #: K with tiles of float32 where errors of entries below a tolerance allow it
    rough: Callable[[float], KernelMatrix]
    Y: Array  # (n, targets)
    weight: Array | None = None
    #: ψ with K = ψψᵀ, where it has few columns; else None
    features: Callable[[], Array | None] = lambda: None

    @classmethod
    def of(cls, kernel: Kernel, X: Any, Y: Array, weight: Array | None = None) -> RidgeSystem:
        """For the rows X; the matrix of a kernel that may not be symmetric is made once, and checked."""
        gram = Gram(kernel, X)
        if not (sound := np.abs(gram.diagonal) < LARGEST).all():
            row = int(np.argmin(sound))
            raise KernelError(
                f"k(x, x) of {kernel!r} is {gram.diagonal[row]:g} for row {row}: too large for float64, or no number. "
                "Divide the columns by their scale, or use kernel.normalised()."
            )
        if not kernel.symmetric:
            n = gram.shape[0]
            refuse_beyond_memory(8.0 * SQUARES * n**2, f"the matrix of {kernel!r} for {n:,} rows", INSTEAD)
            return cls.given(gram.matrix(), Y, weight)
        rough = partial(Gram, kernel, X)
        return cls(gram, lambda tolerance: rough(tolerance=tolerance), Y, weight, partial(_few_features, kernel, X))

    @classmethod
    def given(cls, matrix: Array, Y: Array, weight: Array | None = None) -> RidgeSystem:
        """Of a symmetric matrix."""
        known = GivenMatrix(matrix)
        return cls(known, lambda tolerance: known, Y, weight)

    def __len__(self) -> int:
        return len(self.Y)

    @property
    def root(self) -> Array | None:
        """√weight."""
        return None if self.weight is None else np.sqrt(self.weight)

    @property
    def right(self) -> Array:
        """S y."""
        return self.scaled(self.Y)

    @property
    def diagonal(self) -> Array:
        return self.K.diagonal if self.weight is None else self.weight * self.K.diagonal

    def scaled(self, V: Array) -> Array:
        """S v."""
        return V if self.root is None else self.root[:, None] * V

    def times(self, V: Array, K: Any = None) -> Array:
        """S K S v."""
        return self.scaled(_multiply(self.K if K is None else K, self.scaled(V)))

    def left_over(self, c: Array, alpha: Array, K: Any = None) -> tuple[float, Array]:
        """‖S y − (S K S + alpha) c‖ / ‖S y‖, the largest of all targets, and what is inside."""
        residual = self.right - self.times(c, K) - alpha * c
        return largest_share(residual, self.right), residual

    def triangle(self) -> Array:
        """S K S on and below the diagonal, in the one square of memory that its factor needs; above it is nothing."""
        square = np.empty((len(self), len(self)))
        root = self.root

        def put(rows: slice, columns: slice, tile: Array) -> None:
            square[rows, columns] = tile if root is None else root[rows, None] * tile * root[columns]

        for _ in self.K.lower(put):
            pass
        return square


@dataclass(frozen=True, eq=False)
class FeatureGram:
    """K = ψψᵀ."""

    features: Array

    def times(self, v: Array) -> Array:
        return np.asarray(self.features @ (self.features.T @ v))


def largest_share(residual: Array, right: Array) -> float:
    """‖residual‖ / ‖right‖, the largest of all targets."""
    size = np.linalg.norm(right, axis=0)
    return float(np.max(np.linalg.norm(residual, axis=0) / np.where(size > 0, size, 1.0)))


def few_features(kernel: Kernel, rows: int, columns: int) -> int | None:
    """How many features the kernel has, where these are few beside so many rows."""
    try:
        count = kernel.feature_map(columns).n_features if kernel.numeric else rows
    except NoFeatureMapError:
        return None
    return count if ROWS_PER_FEATURE * count <= rows and rows * count <= MOST_NUMBERS else None


def _few_features(kernel: Kernel, X: Any) -> Array | None:
    if not kernel.numeric or few_features(kernel, *X.shape) is None:
        return None
    features = kernel.feature_map(X.shape[1])(X)
    return np.asarray(features.toarray() if is_sparse(features) else features)


def _multiply(K: Any, V: Array) -> Array:
    # vectors are multiplied faster than matrices of one column
    return np.asarray(K.times(V[:, 0])[:, None] if V.shape[1] == 1 else K.times(V))
