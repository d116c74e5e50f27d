"""Tests of positive definiteness: by construction, or on a sample (lecture 1, "Positive Definite Kernel")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import AsymmetricKernelError, DataError, NoFeatureMapError, NonFiniteError, NotPositiveDefiniteError
from mercer._stored import optional, reals, stored
from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.gram import KERNEL_SYMMETRY_TOLERANCE, Gram
from mercer.kernels.inputs import to_dense
from mercer.kernels.named import kernel_from

#: relative error of an entry of a kernel matrix, by default
ENTRY_ERROR = 1e-14


@stored(violation=optional(reals()), factor=optional(reals()))
@dataclass(frozen=True, eq=False)
class PositiveDefinite:
    """Evidence on whether a kernel is positive definite.

    Attributes
    ----------
    kind : str
        "by construction": for all rows; "on this sample": as far as its rows show, which can refute but not prove.
    holds : bool
        Whether there is no evidence against it.
    sentence : str
        The result in words.
    smallest_eigenvalue, error : float or None
        Smallest eigenvalue of the kernel matrix of the sample, and the bound of its rounding error.
    violation : array of shape (n,) or None
        α with Σ αᵢαⱼ k(xᵢ, xⱼ) < 0, which proves that there is no ψ.
    factor : array of shape (r, n) or None
        R with K = RᵀR: the columns are features of the rows of the sample.

    Examples
    --------
    >>> from mercer.kernels import RBF, check_positive_definite
    >>> proof = check_positive_definite(RBF(gamma=1), [[0.0], [1.0]])
    >>> proof.kind, proof.holds
    ('by construction', True)
    >>> print(proof.sentence)
    RBF(gamma=1.0) is positive definite: exp(−γ‖x − z‖²) is the Fourier transform of a normal density (Bochner).
    """

    kind: str
    holds: bool
    sentence: str
    smallest_eigenvalue: float | None = None
    error: float | None = None
    violation: Array | None = None
    factor: Array | None = None
    kernel: Kernel | None = None
    sample: Any = None
    asymmetric: bool = False

    def require(self) -> PositiveDefinite:
        """Return the certificate itself, or raise `NotPositiveDefiniteError` with its sentence."""
        if not self.holds:
            raise (AsymmetricKernelError if self.asymmetric else NotPositiveDefiniteError)(self.sentence)
        return self

    def features(self, X: Any) -> Array:
        """Return the empirical feature map: ψ(x) with ⟨ψ(x), ψ(z)⟩ = k(x, z) for z of the sample."""
        if self.factor is None or self.kernel is None:
            raise NoFeatureMapError(f"there is no empirical feature map: {self.sentence}; use check_on_sample.")
        squares = np.einsum("rn,rn->r", self.factor, self.factor)  # the eigenvalues: rows of R are orthogonal
        return np.asarray(Gram(self.kernel, X, self.sample).matvec((self.factor / squares[:, None]).T))

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


def check_positive_definite(kernel: Any, X: Any, *, entry_error: float = ENTRY_ERROR) -> PositiveDefinite:
    """Test whether a kernel is positive definite: from its algebra if that decides, otherwise on the rows of X.

    Parameters
    ----------
    kernel : Kernel, function or str
        Kernel, function k(x, z) or k(X, Z), or a name that `kernel_from` accepts.
    X : array, sparse matrix or sequence
        Rows whose whole kernel matrix is computed if the algebra does not decide.
    entry_error : float, default=1e-14
        Relative error of an entry of the matrix: raise it for a function that computes in float32.

    Returns
    -------
    PositiveDefinite

    Examples
    --------
    >>> from mercer.kernels import RBF, Sigmoid
    >>> check_positive_definite(2 * RBF(gamma=1), [[0.0]]).kind
    'by construction'
    >>> check_positive_definite(Sigmoid(gamma=-1, constant=0), [[1.0], [2.0]]).holds
    False
    """
    kernel = kernel_from(kernel)
    if kernel.reason is None:
        return check_on_sample(kernel, X, entry_error=entry_error)
    return PositiveDefinite(
        "by construction", True, f"{kernel!r} is positive definite: {kernel.reason}.", kernel=kernel
    )


def check_on_sample(kernel: Any, X: Any, *, entry_error: float = ENTRY_ERROR) -> PositiveDefinite:
    """Test a kernel on the rows of X, whatever its algebra shows.

    Examples
    --------
    >>> rows = [[0.0], [1.0]]
    >>> check_on_sample("sigmoid", rows).holds  # these rows do not refute it; others may
    True
    >>> check_on_sample(lambda x, z: -abs(x - z).sum(), rows).holds
    False
    """
    kernel = kernel_from(kernel)
    try:
        K = Gram(kernel, X).matrix()
    except AsymmetricKernelError as error:
        return PositiveDefinite("on this sample", False, str(error), kernel=kernel, sample=X, asymmetric=True)
    return _check_eigenvalues(K, repr(kernel), entry_error, kernel, X)


def check_matrix(K: Any, *, entry_error: float = ENTRY_ERROR) -> PositiveDefinite:
    """Test whether a matrix can be a kernel matrix: square, symmetric and without negative eigenvalues.

    Examples
    --------
    >>> check_matrix([[1.0, 2.0], [2.0, 1.0]]).holds
    False
    """
    K = np.array(to_dense(K), dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(f"a kernel matrix of n rows has n columns, got shape {K.shape}; give k(X, X).")
    if not np.isfinite(K).all():
        i, j = map(int, np.argwhere(~np.isfinite(K))[0])
        raise NonFiniteError(f"the kernel matrix is {K[i, j]} at ({i}, {j}); every entry must be a number.")
    off = np.abs(K - K.T)
    if off.size and off.max() > max(KERNEL_SYMMETRY_TOLERANCE, entry_error) * np.abs(K).max():
        i, j = map(int, np.unravel_index(np.argmax(off), off.shape))
        sentence = f"the kernel matrix is not symmetric: {K[i, j]:.6g} at ({i}, {j}), but {K[j, i]:.6g} at ({j}, {i})."
        return PositiveDefinite("on this sample", False, sentence, asymmetric=True)
    return _check_eigenvalues((K + K.T) / 2, "the matrix", entry_error)


def _check_eigenvalues(
    K: Array, name: str, entry_error: float, kernel: Kernel | None = None, X: Any = None
) -> PositiveDefinite:
    from scipy.linalg import eigh

    if len(K) == 0:
        raise DataError("there are no rows to test the kernel on; give some.")
    values, vectors = eigh(K)
    smallest, n = float(values[0]), len(K)
    # Weyl: an eigenvalue moves by no more than the norm of the perturbation, here the errors of the entries and of eigh
    float64 = np.finfo(float)
    error = float(n * (entry_error * np.abs(K).max() + float64.eps * np.abs(values).max() + float64.tiny))
    known: dict[str, Any] = {"smallest_eigenvalue": smallest, "error": error, "kernel": kernel, "sample": X}
    alpha = vectors[:, 0]
    value = float(alpha @ K @ alpha)
    if max(smallest, value) < -error:
        sentence = (
            f"{name} is not positive definite: Σ αᵢαⱼ k(xᵢ, xⱼ) = {value:.6g} < 0 for the α in "
            "`violation`, and no squared length is negative. A model with a convex loss may have no optimum with it."
        )
        return PositiveDefinite("on this sample", False, sentence, violation=alpha, **known)
    kept = values > error
    sentence = (
        f"these {n} rows do not refute that {name} is positive definite: the smallest eigenvalue is {smallest:.3g}, "
        f"give or take {error:.1g}. Other rows still may: a sample can refute, but not prove."
    )
    factor = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    return PositiveDefinite("on this sample", True, sentence, factor=factor, **known)
