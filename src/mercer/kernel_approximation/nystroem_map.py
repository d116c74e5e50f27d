"""Features of a kernel that are exact on some rows, the landmarks (lecture 5, "Nyström Approximation").

With K = UDUᵀ of the landmarks, ψ(x) = D^(−½) Uᵀ k(x, landmarks): eigenvalues that are 0 up to rounding give no feature.
The lecture multiplies ψ by U once more, which changes no inner product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._gpu import is_tensor, like, to_numpy
from mercer._jit.product import put_product
from mercer._stored import any_rows, floats, stored
from mercer._threads import blas_for, row_blocks
from mercer._typing import Array
from mercer.kernel_approximation.fourier import allocate_array, allocate_tensor
from mercer.kernel_approximation.landmarks import KernelTiles, for_each
from mercer.kernels import Gram, Kernel
from mercer.kernels.inputs import is_sparse

#: bytes of a tile that is multiplied while it is in the cache
FEATURE_TILE_BYTES = 2**23
#: least number of rows of a tile for an efficient product
MIN_PRODUCT_ROWS = 128
#: blocks into which few rows are divided, so that each thread has some
MIN_BLOCKS = 4
#: error of a feature, relative to the longest ψ, up to which tensors of float32 are multiplied in float32
FLOAT32_FEATURE_ERROR = 1e-6


@stored(landmarks=any_rows("m"), back=floats("m."))
@dataclass(frozen=True, eq=False)
class NystroemMap:
    """ψ(x) = Bᵀ k(x, landmarks)."""

    kernel: Kernel
    landmarks: Any
    back: Array  # B, (landmarks, features)

    @classmethod
    def of(cls, kernel: Kernel, landmarks: Any, *, data: Any = None) -> Self:
        """Make a feature for each eigenvalue of the landmarks' kernel matrix that is above rounding.

        Parameters
        ----------
        kernel : Kernel
            Kernel that compares two rows.
        landmarks : array of shape (m, d), sparse matrix, or sequence
            Rows on which the features are exact.
        data : tensor, default=None
            Rows of the data: if these are on a GPU, it decomposes the matrix.
        """
        return cls.of_matrix(kernel, landmarks, Gram(kernel, landmarks).matrix(), data=data)

    @classmethod
    def of_matrix(cls, kernel: Kernel, landmarks: Any, K: Array, *, data: Any = None) -> Self:
        """Make the features where the kernel matrix of the landmarks is known already."""
        values, vectors = decompose(K, data)
        kept = values > eigenvalue_rounding(values)
        return cls(kernel, landmarks, vectors[:, kept] / np.sqrt(values[kept]))

    @property
    def n_features(self) -> int:
        return int(self.back.shape[1])

    def tiles(self, X: Any) -> KernelTiles:
        return KernelTiles(self.kernel, X, self.landmarks)

    def __call__(self, X: Any) -> Any:
        return self._map_tensor(X) if is_tensor(X) else self._map_rows(X)

    def _map_rows(self, X: Any) -> Array:
        gram = Gram(self.kernel, X, self.landmarks)
        n, M = gram.shape
        both = {getattr(side, "dtype", None) for side in (X, self.landmarks)}
        features = allocate_array(n, self.n_features, np.float32 if both == {np.dtype(np.float32)} else np.float64)
        back = np.ascontiguousarray(self.back)

        def fill(rows: slice) -> None:
            tile = np.empty((rows.stop - rows.start, M))
            gram.fill(rows, tile)
            double = features.dtype == np.float64
            out = features[rows] if double else np.empty((len(tile), self.n_features))
            put_product(tile, back, out)
            if not double:
                features[rows] = out

        for_each(
            fill,
            row_blocks(n, max(MIN_PRODUCT_ROWS, min(FEATURE_TILE_BYTES // (8 * M), -(-n // MIN_BLOCKS)))),
            self.kernel,
        )
        return features

    def _map_tensor(self, X: Any) -> Any:
        """Compute on the device of X, in float64 where the rounding of float32 would show in a feature."""
        import torch

        from mercer._gpu.chunks import in_chunks, tile_size
        from mercer.kernels.tensors import TensorGram

        dtype = (
            X.dtype if self._rounding_error(float(np.finfo(np.float32).eps)) <= FLOAT32_FEATURE_ERROR else torch.float64
        )
        written = self.landmarks.toarray() if is_sparse(self.landmarks) else np.asarray(self.landmarks)
        landmarks, back = (like(array, X, dtype=dtype) for array in (written, self.back))
        features = allocate_tensor(X, self.n_features)

        def fill(rows: slice) -> None:
            features[rows] = TensorGram(self.kernel, X[rows].to(dtype), landmarks).matrix() @ back

        in_chunks(len(X), tile_size(X) // len(landmarks), fill, "a tile of features")
        return features

    def _rounding_error(self, eps: float) -> float:
        """Return the error of a feature, relative to √k: the rounding of k(x, ·), which B magnifies for small
        eigenvalues.
        """
        largest = float(np.sqrt(np.einsum("ij,ij->j", self.back, self.back).max(initial=0.0)))
        return eps * largest * float(np.sqrt(np.abs(self.kernel.diag(self.landmarks)).max(initial=0.0)))


@stored(landmarks=any_rows("m"))
@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """Landmarks among the rows of a tensor, too many for an eigendecomposition: ψ(x) = L⁻¹ k(landmarks, x) with K =
    LLᵀ.

    Solvers use only the landmarks; ψ is computed for few rows.
    """

    kernel: Kernel
    landmarks: Any

    @property
    def n_features(self) -> int:
        return len(self.landmarks)

    def __call__(self, X: Any) -> Any:
        import torch

        from mercer._gpu.chunks import device_memory_for
        from mercer.kernels.tensors import TensorGram
        from mercer.matrices.mapped_tensors import landmark_factor

        rows = X.double()
        landmarks = like(np.asarray(self.landmarks), rows)
        across = TensorGram(self.kernel, landmarks, rows).matrix()
        L = landmark_factor(self.kernel, landmarks)
        with device_memory_for(f"features of {len(L):,} landmarks"):
            return torch.linalg.solve_triangular(L, across, upper=False).T


def decompose(K: Array, data: Any = None) -> tuple[Array, Array]:
    """Return the eigenvalues of a symmetric matrix in ascending order, with their vectors, on the GPU of a tensor."""
    if is_tensor(data) and data.is_cuda:
        import torch

        eigen = torch.linalg.eigh(like(K, data, dtype=torch.float64))
        return to_numpy(eigen.eigenvalues), to_numpy(eigen.eigenvectors)
    with blas_for(len(K)):
        values, vectors = np.linalg.eigh(K)
    return values, vectors


def eigenvalue_rounding(values: Array) -> float:
    """Return the rounding of an eigenvalue that is 0, among these."""
    return float(len(values) * np.finfo(float).eps * np.abs(values).max(initial=0.0))


def compute_trace_error(features: Any, diagonal: Array) -> float:
    """Return Σ (k(x, x) − ‖ψ(x)‖²) of some rows, relative to Σ k(x, x); NaN where that is not positive."""
    unit = float(np.abs(diagonal).max(initial=0.0))  # sums of values near the largest float would overflow
    trace = float(np.sum(diagonal / unit)) if unit > 0 else 0.0
    if not trace > 0:
        return float("nan")
    scaled = np.asarray(features, dtype=np.float64) / np.sqrt(unit)
    return max(0.0, 1.0 - float(np.einsum("ij,ij->", scaled, scaled)) / trace)
