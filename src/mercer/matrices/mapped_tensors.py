"""Rows of a tensor under a feature map: the counterpart of `MappedMatrix` on a GPU.

Coefficients are small arrays in main memory; vectors of rows stay on the device. Where the eigenvalues of the kernel
matrix of the landmarks would take too long, its Cholesky factor is used; and where that does not fit into memory, or is
too imprecise, coefficients are those of k(·, landmarks), with the penalty cᵀKc.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer._errors import NotPositiveDefiniteError
from mercer._gpu import like, to_numpy
from mercer._gpu.chunks import device_memory_for, in_chunks, tile_size
from mercer._typing import Array
from mercer.kernels import Kernel
from mercer.kernels.tensors import TensorGram

#: kernel values that a GPU computes in float64 in negligible time
DOUBLE_KERNELS_ON_CARD = 2e10
#: kernel values that the CPU computes in float64 in negligible time
DOUBLE_KERNELS_ON_CPU = 1e9
#: a few times the rounding error of float32 in the eigenvalues of k(landmarks, landmarks), relative to the largest
LANDMARK_JITTER = 1e-6
#: landmarks up to which L⁻¹ of their kernel matrix LLᵀ takes negligible time
MAX_FACTORED_LANDMARKS = 20_000


def worth_double(X: Any, columns: float) -> bool:
    """Return whether the kernels of all rows with `columns` others are computed in float64: if X is, or it is cheap."""
    import torch

    return bool(
        X.dtype == torch.float64 or len(X) * columns <= (DOUBLE_KERNELS_ON_CARD if X.is_cuda else DOUBLE_KERNELS_ON_CPU)
    )


@dataclass(frozen=True, eq=False)
class MappedTensors(ABC):
    """Z = [t(X), 1], with a column of ones for the intercept."""

    X: Any
    intercept: bool

    #: for solvers that also take a `MappedMatrix`; all products have the precision of X
    rough = np.dtype(np.float64)

    @property
    def digits(self) -> float:
        """Relative precision of a product."""
        return 1e-3 if self.is_single else 1e-5

    @property
    def is_single(self) -> bool:
        """Return whether products are computed in float32."""
        import torch

        return bool(self.X.dtype == torch.float32)

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @property
    def n_columns(self) -> int:
        return self.n_features + self.intercept

    @abstractmethod
    def rows(self, rows: slice) -> Any:
        """t of some rows."""

    @abstractmethod
    def _times(self, c: Any) -> Any:
        """t c."""

    @abstractmethod
    def _transposed_times(self, first: Any) -> Any:
        """tᵀ g."""

    @abstractmethod
    def _metric(self, c: Array) -> Array:
        """M c, where the penalty is ½ cᵀ M c."""

    @abstractmethod
    def metric_matrix(self) -> Any:
        """M as a tensor on the device."""

    def take(self, rows: Array) -> Self:
        """Return the rows at these positions."""
        import torch

        return replace(self, X=self.X[like(rows, self.X, dtype=torch.int64)])

    def metric(self, w: Array) -> Array:
        """Product of w with the matrix M of the penalty, and 0 for the intercept."""
        result = np.zeros(w.shape)
        result[: self.n_features] = self._metric(w[: self.n_features])
        return result

    def matvec(self, w: Array) -> Any:
        """Z w, a tensor of shape (rows, outputs)."""
        eta = self._times(self._on_device(w[: self.n_features]))
        return eta + self._on_device(w[-1]) if self.intercept else eta

    def rmatvec(self, first: Any) -> Array:
        """Zᵀ g."""
        inside = to_numpy(self._transposed_times(first)).astype(float)
        return np.vstack([inside, to_numpy(first.double().sum(dim=0))]) if self.intercept else inside

    def swept(self, w: Array, slopes: Callable[[Any, Any], Any], *, exactly: bool = True) -> tuple[Any, Array]:
        """η = Z w, and Zᵀ g for the slopes g at η."""
        eta = self.matvec(w)
        return eta, self.rmatvec(slopes(slice(None), eta))

    def swept_and_kept(self, w: Array, slopes: Callable[[Any, Any], Any]) -> tuple[Self, tuple[Any, Array]]:
        """`swept`; tiles of tensors are not stored."""
        return self, self.swept(w, slopes)

    def curved(self, curve: Any, w: Array, *, exactly: bool = False) -> Array:
        """Zᵀ W Z w."""
        return self.rmatvec(curve.matvec(self.matvec(w)))

    def _on_device(self, w: Array) -> Any:
        """Copy coefficients to the device, in float64; products round them to the dtype of X."""
        import torch

        return like(np.ascontiguousarray(w), self.X, dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class LandmarkTensors(MappedTensors):
    """t(x) = Bᵀ k(x, landmarks), or k(x, landmarks) with the penalty cᵀKc where B does not fit into memory."""

    kernel: Kernel
    landmarks: Any
    back: Any = None
    #: added to the diagonal of k(landmarks, landmarks), so that coefficients in float32 do not cancel
    jitter: float = 0.0

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        X: Any,
        landmarks: Any,
        back: Array | None,
        *,
        intercept: bool,
        double: bool | None = None,
        max_factored: int = MAX_FACTORED_LANDMARKS,
    ) -> LandmarkTensors:
        """Choose the precision and the features.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        X, landmarks : tensor
            Rows and landmarks on one device.
        back : array of shape (landmarks, features), optional
            B; None to choose it.
        intercept : bool
            Whether there is a column of ones.
        double : bool, optional
            Whether to compute in float64, by default where `worth_double`: sums of many kernels lose digits in float32.
        max_factored : int, optional
            Landmarks up to which B is the inverse of a Cholesky factor.

        Returns
        -------
        LandmarkTensors
        """
        import torch

        double = worth_double(X, len(landmarks)) if double is None else double
        X, landmarks = (part.double() if double else part for part in (X, landmarks))
        if back is not None:
            # the squared length of a column is the inverse of an eigenvalue
            lengths = np.einsum("ij,ij->j", back, back)
            precise = lengths * (0.0 if double else LANDMARK_JITTER) <= lengths.min(initial=np.inf)
            return cls(X, intercept, kernel, landmarks, like(back[:, precise], X, dtype=torch.float64))
        if double and len(landmarks) <= max_factored:
            L = landmark_factor(kernel, landmarks)
            with device_memory_for(f"the inverse of a triangle of {len(L):,} landmarks"):
                identity = torch.eye(len(L), dtype=L.dtype, device=L.device)
                return cls(X, intercept, kernel, landmarks, torch.linalg.solve_triangular(L.T, identity, upper=True))
        design = cls(X, intercept, kernel, landmarks)
        return design if double else replace(design, jitter=LANDMARK_JITTER * design._largest_eigenvalue())

    def _largest_eigenvalue(self) -> float:
        """Estimate the largest eigenvalue of k(landmarks, landmarks) by five steps of the power method."""
        v, length = np.ones((self.n_features, 1)), 0.0
        for _ in range(5):
            v = self._metric(v / max(float(np.linalg.norm(v)), 1e-300))
            length = float(np.linalg.norm(v))
        return length

    @property
    def n_features(self) -> int:
        return len(self.landmarks) if self.back is None else int(self.back.shape[1])

    @cached_property
    def _gram(self) -> TensorGram:
        return TensorGram(self.kernel, self.X, self.landmarks)

    @cached_property
    def _among(self) -> TensorGram:
        return TensorGram(self.kernel, self.landmarks)

    def landmark_coefficients(self, w: Array) -> Array:
        """Convert coefficients of features to coefficients of k(·, landmarks)."""
        return w if self.back is None else to_numpy(self.back @ self._on_device(w))

    def rows(self, rows: slice) -> Any:
        t = self._gram.rows(rows)
        return t if self.back is None else t.double() @ self.back

    def _times(self, c: Any) -> Any:
        return self._gram.matvec(c if self.back is None else self.back @ c)

    def _transposed_times(self, first: Any) -> Any:
        t = self._gram.rmatvec(first)
        return t if self.back is None else self.back.T @ t.double()

    def _metric(self, c: Array) -> Array:
        if self.back is not None:
            return c
        return np.asarray(to_numpy(self._among.matvec(self._on_device(c))) + self.jitter * c)

    def metric_matrix(self) -> Any:
        import torch

        if self.back is not None:
            return torch.eye(self.n_features, dtype=torch.float64, device=self.X.device)
        K = self._among.matrix()
        K.diagonal().add_(self.jitter)
        return K


def landmark_factor(kernel: Kernel, landmarks: Any) -> Any:
    """L with LLᵀ = k(landmarks, landmarks), up to rounding."""
    import torch

    K = TensorGram(kernel, landmarks).matrix()
    # bound on the rounding error of an eigenvalue, none of which is larger than the trace
    K.diagonal().add_(torch.finfo(K.dtype).eps * float(K.diagonal().sum()) * len(K) ** 0.5)
    with device_memory_for(f"a Cholesky factor of {len(K):,} landmarks"):
        L, failed = torch.linalg.cholesky_ex(K)
    if int(failed):
        raise NotPositiveDefiniteError(
            f"the kernel matrix of {len(K):,} landmarks has no Cholesky factor: {kernel!r} is not positive definite on "
            "them; use another kernel."
        )
    return L


@dataclass(frozen=True, eq=False)
class FeatureTensors(MappedTensors):
    """t(x) are explicit features, computed for a chunk of rows at a time."""

    map: Callable[[Any], Any]
    features: int

    @property
    def n_features(self) -> int:
        return self.features

    def rows(self, rows: slice) -> Any:
        return self.map(self.X[rows])

    def _times(self, c: Any) -> Any:
        eta = c.new_empty(len(self.X), c.shape[1])

        def fill(rows: slice) -> None:
            eta[rows] = self.rows(rows).to(c.dtype) @ c

        in_chunks(len(self.X), self._height, fill, "features")
        return eta

    def _transposed_times(self, first: Any) -> Any:
        sums = list[Any]()

        def add(rows: slice) -> None:
            sums.append(self.rows(rows).to(first.dtype).T @ first[rows])

        in_chunks(len(self.X), self._height, add, "features")
        return sum(sums[1:], start=sums[0])

    @property
    def _height(self) -> int:
        return max(1, tile_size(self.X) // (4 * max(1, self.features)))

    def _metric(self, c: Array) -> Array:
        return c

    def metric_matrix(self) -> Any:
        import torch

        return torch.eye(self.features, dtype=torch.float64, device=self.X.device)
