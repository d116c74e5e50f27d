"""The kernel that scikit-learn's `kernel`, `gamma`, `degree` and `coef0` stand for, and defaults for comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError
from mercer._gpu import is_tensor
from mercer._stored import stored
from mercer._typing import Array
from mercer.base import Question
from mercer.base.validation import is_sparse
from mercer.kernels import RBF, FromFunction, Kernel, Linear, Polynomial, kernel_from
from mercer.kernels.gram import Gram
from mercer.kernels.named import KERNELS

#: constraints of the parameter `kernel`
KERNEL_CONSTRAINTS = [StrOptions({*KERNELS, "precomputed"}), Kernel, callable]
#: constraints of the parameter `gamma`
GAMMA_CONSTRAINTS = [StrOptions({"scale", "auto", "median"}), Interval(Real, 0.0, None, closed="left")]

#: rows whose distances give the median
ROWS_FOR_MEDIAN = 500


@stored()
@dataclass(frozen=True)
class AnyPolynomial:
    """(γ x·z + c)ᵖ for any c and p, as in scikit-learn; `Polynomial` takes only those that are inner products."""

    degree: float
    gamma: float
    constant: float

    def __call__(self, X: Any, Z: Any) -> Array:
        products = X @ Z.T
        products = products.toarray() if is_sparse(products) else products
        return np.asarray((self.gamma * products + self.constant) ** self.degree)


def choose_kernel(kernel: Any, X: Any, *, gamma: Any, degree: int, coef0: float) -> Kernel:
    """Return the kernel that scikit-learn's parameters stand for.

    Parameters
    ----------
    kernel : str or Kernel
        A name, to which `gamma`, `degree` and `coef0` apply, or a kernel, which has its own parameters.
    X : array or sparse matrix of shape (n, d), or sequence of objects
        The rows, from which "scale" and "median" compute γ.
    gamma : float or {"scale", "auto", "median"}
        See `width_of`.
    degree : int
        The degree of a polynomial.
    coef0 : float
        The constant of a polynomial or sigmoid.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if kernel == "linear" or not kernel_from(kernel).numeric:  # these have no width
        return kernel_from(kernel)
    return named_kernel(kernel, X, gamma=width_of(gamma, X), degree=degree, coef0=float(coef0))


def is_precomputed(kernel: Any) -> bool:
    """Return whether X is the kernel matrix itself, by the parameter `kernel`."""
    return isinstance(kernel, str) and kernel == "precomputed"


def plain_kernel(kernel: Any) -> Kernel:
    """Return the kernel without its parameters, which shows whether it takes rows of numbers, as a matrix has."""
    return Linear() if is_precomputed(kernel) else kernel_from(kernel)


def kernel_of_function(function: Callable[..., Any], params: Mapping[str, Any] | None) -> Kernel:
    """Return the kernel of a function, some of whose arguments are given by `params`."""
    return FromFunction(partial(function, **params) if params else function)


def named_kernel(
    name: str, X: Any, *, gamma: float | None = None, degree: float = 3, coef0: float = 1, **more: Any
) -> Kernel:
    """Return a kernel by its name, with scikit-learn's parameters and defaults."""
    if KERNELS[name] is Polynomial and (coef0 < 0 or degree != int(degree)):
        # not necessarily positive definite: `Polynomial` would raise, but scikit-learn computes it
        width = 1 / X.shape[1] if gamma is None else gamma
        return FromFunction(AnyPolynomial(degree, width, coef0), by_rows=False)
    return kernel_from(name, gamma=gamma, degree=int(degree), coef0=coef0, **more)


def width_of(gamma: Any, X: Any) -> float:
    """Return γ: a number, 1/(d·variance) for "scale", 1/d for "auto", 1/2m² for "median" with the median distance m.

    Examples
    --------
    >>> width_of("scale", np.array([[0.0], [1.0]]))
    4.0
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma == "median":
        return _width_of_median(X)
    variance = variance_of(X)
    width = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if not (np.isfinite(variance) and np.isfinite(width)):
        raise DataError(
            "The dual coefficients or intercepts are not finite. The input data may contain large values and need to "
            f"be preprocessed. The variance of X is {variance:g}, from which gamma='scale' has no number; divide the "
            "columns by their scale, e.g. with StandardScaler."
        )
    return width


def variance_of(X: Any) -> float:
    """Return the variance of all entries of a matrix or tensor."""
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(X):
            X = X.astype(np.float64)  # squares of int8 overflow
            return max(float(X.multiply(X).mean() - X.mean() ** 2), 0.0)
        variance = float(X.var(correction=0) if is_tensor(X) else X.var())
        float32 = np.finfo(np.float32)
        if X.dtype.itemsize < 8 and not float32.tiny <= variance <= float32.max:  # squares have lost digits
            return float(X.double().var(correction=0) if is_tensor(X) else X.var(dtype=np.float64))
        return variance


def _width_of_median(X: Any) -> float:
    """Return 1/2m², so that m is the σ of an RBF kernel; pairs of equal rows are left out."""
    squares = _squared_distances(X[sample_row_numbers(X.shape[0], ROWS_FOR_MEDIAN)])
    if not (apart := squares[squares > 0]).size:
        return 1.0
    return float(0.5 / np.median(np.sqrt(apart)) ** 2)


def _squared_distances(X: Any) -> Array:
    """Return ‖x − z‖² for all pairs of rows."""
    if not is_sparse(X):
        X = X - X.mean(axis=0)
    products = Gram(kernel_from("linear"), X).matrix()
    lengths = np.diag(products)
    squares = lengths[:, None] + lengths - 2 * products
    squares[squares < 1e-12 * (lengths[:, None] + lengths)] = 0.0
    return np.asarray(squares[np.triu_indices(len(squares), 1)])


def sample_row_numbers(n: int, most: int) -> Array:
    """Return the numbers of `most` rows out of n, in order and the same in every call; all where n is smaller."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


# Defaults for comparisons. Limits are numbers of rows: with a limit in seconds the list of models would depend on how
# busy the machine is.

#: the most rows for models that need parts of the kernel matrix
MOST_ROWS_OF_PARTS = 10_000
#: the most rows for models that need one factor of the kernel matrix
MOST_ROWS_OF_FACTOR = 5_000
#: the most rows for models that need several factors of the kernel matrix
MOST_ROWS_OF_FACTORS = 4_000
#: the most rows for models that need the eigenvalues of the kernel matrix
MOST_ROWS_OF_EIGENVALUES = 2_000
#: rows × functions up to which the price of an error is chosen by folds
MOST_TO_SEARCH_PRICE = 1_500


def default_kernel(question: Question) -> RBF:
    """Return a Gaussian kernel for columns in standard units.

    The mean squared distance of two rows is twice the number of columns; γ = 1/d is also the value of "scale".
    """
    return RBF(gamma=float(f"{1 / max(question.columns, 1):.2g}"))


def searches_price(question: Question) -> bool:
    """Return whether there are few enough rows and functions to choose the price of an error by folds."""
    return question.rows * question.outputs <= MOST_TO_SEARCH_PRICE


def most_rows_of_factors(question: Question) -> int:
    """Return the most rows for a model that needs several factors of the kernel matrix for each function."""
    return int(MOST_ROWS_OF_FACTORS / question.outputs ** (1 / 3))
