"""The features of a kernel that are exact on some rows, the landmarks (lecture 5, "Nyström Approximation").

With K = UDUᵀ of the landmarks, ψ(x) = D^(−½) Uᵀ k(x, landmarks): eigenvalues that are 0 up to rounding have no feature.
The lecture turns ψ back by U, which changes no inner product.
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
from mercer.kernel_approximation.fourier import empty_array, empty_tensor
from mercer.kernel_approximation.landmarks import KernelTiles, for_each
from mercer.kernels import Gram, Kernel
from mercer.kernels.inputs import is_sparse

#: bytes of a tile that is multiplied while it lies in the cache, the fewest rows that make a product worth it, and
#: tiles of few rows, so that each thread has some
TILE, FEWEST, PARTS = 2**23, 128, 4
#: error of a feature, compared with the longest ψ, up to which tensors of float32 are multiplied as such
SINGLE = 1e-6


@stored(landmarks=any_rows("m"), back=floats("m."))
@dataclass(frozen=True, eq=False)
class NystroemMap:
    """ψ(x) = Bᵀ k(x, landmarks)."""

    kernel: Kernel
    landmarks: Any
    back: Array  # B, (landmarks, features)

    @classmethod
    def of(cls, kernel: Kernel, landmarks: Any, *, beside: Any = None) -> Self:
        """With a feature for each eigenvalue of the landmarks' kernel matrix that is above rounding.

        Parameters
        ----------
        kernel : Kernel
            What compares two rows.
        landmarks : array of shape (m, d), sparse matrix, or sequence
            The rows that the features are exact on.
        beside : tensor, default=None
            The rows they belong to: where these lie on a card, it decomposes the matrix.
        """
        return cls.of_matrix(kernel, landmarks, Gram(kernel, landmarks).matrix(), beside=beside)

    @classmethod
    def of_matrix(cls, kernel: Kernel, landmarks: Any, K: Array, *, beside: Any = None) -> Self:
        """The same where the kernel matrix of the landmarks is known already."""
        values, vectors = eigenvalues(K, beside)
        kept = values > rounding(values)
        return cls(kernel, landmarks, vectors[:, kept] / np.sqrt(values[kept]))

    @property
    def n_features(self) -> int:
        return int(self.back.shape[1])

    def tiles(self, X: Any) -> KernelTiles:
        return KernelTiles(self.kernel, X, self.landmarks)

    def __call__(self, X: Any) -> Any:
        return self._of_tensor(X) if is_tensor(X) else self._of_rows(X)

    def _of_rows(self, X: Any) -> Array:
        gram = Gram(self.kernel, X, self.landmarks)
        n, M = gram.shape
        both = {getattr(side, "dtype", None) for side in (X, self.landmarks)}
        features = empty_array(n, self.n_features, np.float32 if both == {np.dtype(np.float32)} else np.float64)
        back = np.ascontiguousarray(self.back)

        def fill(rows: slice) -> None:
            tile = np.empty((rows.stop - rows.start, M))
            gram.fill(rows, tile)
            double = features.dtype == np.float64
            out = features[rows] if double else np.empty((len(tile), self.n_features))
            put_product(tile, back, out)
            if not double:
                features[rows] = out

        for_each(fill, row_blocks(n, max(FEWEST, min(TILE // (8 * M), -(-n // PARTS)))), self.kernel)
        return features

    def _of_tensor(self, X: Any) -> Any:
        """On the device of X; by float64 where the roundings of float32 would be seen in a feature."""
        import torch

        from mercer._gpu.chunks import in_chunks, tile_size
        from mercer.kernels.tensors import TensorGram

        dtype = X.dtype if self._rounding_error(float(np.finfo(np.float32).eps)) <= SINGLE else torch.float64
        written = self.landmarks.toarray() if is_sparse(self.landmarks) else np.asarray(self.landmarks)
        landmarks, back = (like(array, X, dtype=dtype) for array in (written, self.back))
        features = empty_tensor(X, self.n_features)

        def fill(rows: slice) -> None:
            features[rows] = TensorGram(self.kernel, X[rows].to(dtype), landmarks).matrix() @ back

        in_chunks(len(X), tile_size(X) // len(landmarks), fill, "a tile of features")
        return features

    def _rounding_error(self, eps: float) -> float:
        """Of a feature, relative to √k: k(x, ·) is rounded, and B makes the more of it the smaller an eigenvalue is."""
        largest = float(np.sqrt(np.einsum("ij,ij->j", self.back, self.back).max(initial=0.0)))
        return eps * largest * float(np.sqrt(np.abs(self.kernel.diag(self.landmarks)).max(initial=0.0)))


@stored(landmarks=any_rows("m"))
@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """Landmarks among the rows of a tensor, too many for their eigenvalues: ψ(x) = L⁻¹ k(landmarks, x) with K = LLᵀ.

    Solvers use the landmarks alone; ψ is for looking at few rows.
    """

    kernel: Kernel
    landmarks: Any

    @property
    def n_features(self) -> int:
        return len(self.landmarks)

    def __call__(self, X: Any) -> Any:
        import torch

        from mercer._gpu.chunks import room_for
        from mercer.kernels.tensors import TensorGram
        from mercer.matrices.mapped_tensors import landmark_factor

        rows = X.double()
        landmarks = like(np.asarray(self.landmarks), rows)
        across = TensorGram(self.kernel, landmarks, rows).matrix()
        L = landmark_factor(self.kernel, landmarks)
        with room_for(f"features of {len(L):,} landmarks"):
            return torch.linalg.solve_triangular(L, across, upper=False).T


def eigenvalues(K: Array, beside: Any = None) -> tuple[Array, Array]:
    """Of a symmetric matrix, in rising order, with their vectors; by the card that a tensor lies on."""
    if is_tensor(beside) and beside.is_cuda:
        import torch

        found = torch.linalg.eigh(like(K, beside, dtype=torch.float64))
        return to_numpy(found.eigenvalues), to_numpy(found.eigenvectors)
    with blas_for(len(K)):
        values, vectors = np.linalg.eigh(K)
    return values, vectors


def rounding(values: Array) -> float:
    """What an eigenvalue that is 0 may come out as, beside these."""
    return float(len(values) * np.finfo(float).eps * np.abs(values).max(initial=0.0))


def trace_error(features: Any, diagonal: Array) -> float:
    """Σ (k(x, x) − ‖ψ(x)‖²) of some rows, relative to Σ k(x, x); NaN where that is no trace of a kernel matrix."""
    unit = float(np.abs(diagonal).max(initial=0.0))  # sums of numbers near the largest float would be none
    trace = float(np.sum(diagonal / unit)) if unit > 0 else 0.0
    if not trace > 0:
        return float("nan")
    scaled = np.asarray(features, dtype=np.float64) / np.sqrt(unit)
    return max(0.0, 1.0 - float(np.einsum("ij,ij->", scaled, scaled)) / trace)
