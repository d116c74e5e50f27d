"""What a fit will do, counted before it starts: each kind of model says it in one function.

`WORK` has such a function for the name of a class; one class up the inheritance line will do. A new model with a kernel
adds a line there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._memory import available_bytes
from mercer.kernels import Kernel
from mercer.models._comparisons import count, take
from mercer.models._kernel_choice import sample_of
from mercer.models._ridge_kernel import WIDTHS, is_precomputed, is_several, plain_kernel, ridge_kernel
from mercer.solvers._kernel_products import MOST_PIVOTS
from mercer.solvers._kernel_products import SHARE as IN_MEMORY
from mercer.solvers._kernel_spectrum import SQUARES
from mercer.solvers._kernel_steps import ROWS_PER_PIVOT, ROWS_PER_STEP, Deflation
from mercer.solvers._kernel_system import few_features
from mercer.solvers.kernel_perceptron import SHARE as KEPT
from mercer.solvers.kernel_ridge import AIM, MANY_ROWS, System, bytes_needed

#: rows from which the number of steps is guessed
SAMPLE = 1500
#: passes over the data and over its square that fits of linear models take, about
STEPS, DESCENTS = 10, 100
#: factors of a kernel matrix, and products with it, that Newton's method takes, about
FACTORS, PRODUCTS = 2, 40
#: of the entries of a kernel matrix, the part that support vector machines compute, and passes of a perceptron, about
SWEEPS, PASSES = 0.4, 10


@dataclass(frozen=True)
class Work:
    """Operations by what bounds their speed, the most memory held at once, and the path they belong to."""

    path: str
    memory: float
    flops: float = 0.0  # of products and factors of large matrices
    entries: float = 0.0  # of a kernel matrix
    traffic: float = 0.0  # bytes that are read from memory
    kernel: Kernel | None = None


def work_of(model: Any, X: Any) -> Work:
    """What fitting a model to these rows takes."""
    if getattr(model, "kernel", None) is not None:
        names = [cls.__name__ for cls in type(model).__mro__]
        return next((WORK[name] for name in names if name in WORK), kernel_machine)(model, X)
    return linear(model, X)


def kernel_ridge(model: Any, X: Any) -> Work:
    n = float(count(X))
    kernel = None if is_precomputed(model.kernel) else ridge_kernel(model, X, _number(model.gamma))
    if isinstance(model.alpha, str) or is_several(model.gamma):
        several = WIDTHS if isinstance(model.gamma, str) else np.size(model.gamma) if is_several(model.gamma) else 1
        path, memory = f"{several} eigendecomposition(s) of the kernel matrix", 8 * SQUARES * n**2
        return Work(path, memory, 4 * several * n**3, several * n**2, several * 4 / 3 * n**3, kernel)
    few = few_features(kernel, int(n), X.shape[1]) if n >= MANY_ROWS and kernel is not None and kernel.numeric else None
    if few is not None and np.min(model.alpha) > 0:
        return Work(f"ridge regression on {few} features of the kernel", 16 * n * few, n * few**2, 0.0, 40 * n * few)
    steps = _steps(model, X, kernel) if n >= MANY_ROWS and kernel is not None else np.inf
    if steps > n / ROWS_PER_STEP:
        return Work("a Cholesky factor", 8 * n**2, n**3 / 3, 1.5 * n**2, 0.0, kernel)
    pivots = n / ROWS_PER_PIVOT
    traffic = steps * (2 * n**2 + 16 * n * pivots)
    path = f"about {steps:.0f} steps of conjugate gradients"
    return Work(path, bytes_needed(int(n)), 4 * n * pivots**2, 2 * n**2, traffic, kernel)


def _steps(model: Any, X: Any, kernel: Kernel) -> float:
    """From what pivots leave of some rows: of all they leave as much."""
    alpha = float(np.min(model.alpha))
    if not alpha > 0 or not kernel.symmetric:
        return np.inf
    rows = take(X, sample_of(count(X), SAMPLE))
    system = System.of(kernel, rows, np.zeros((count(rows), 1)))
    return Deflation.of(system, alpha, count(X) // ROWS_PER_PIVOT).steps(alpha, AIM)


def support_vectors(model: Any, X: Any) -> Work:
    n = float(count(X))
    memory = 1e6 * float(model.cache_size) + _bytes(X)
    return Work("decomposition, with a cache of rows", memory, 0.0, SWEEPS * n**2, 0.0, _kernel(model.kernel))


def perceptron(model: Any, X: Any) -> Work:
    """Each row of the kernel matrix once where it has room, and read again in some passes."""
    n = float(count(X))
    memory = min(8 * n**2, KEPT * available_bytes())
    path = "passes over the rows, with those of the kernel matrix that there is room for"
    return Work(path, memory, 0.0, n**2, PASSES * 8 * n**2, _kernel(model.kernel))


def kernel_machine(model: Any, X: Any) -> Work:
    """Newton's method for functions, of one output: few factors where there is room, else products by tiles."""
    n, kernel = float(count(X)), _kernel(model.kernel)
    if 16 * n**2 > IN_MEMORY * available_bytes():
        path = "Newton's method with the kernel matrix made anew for each product"
        return Work(path, 24 * n * min(MOST_PIVOTS, n), 4 * n * MOST_PIVOTS**2, DESCENTS * 0.5 * n**2, 0.0, kernel)
    path = "Newton's method with factors of the kernel matrix"
    return Work(path, 16 * n**2, FACTORS * n**3 / 3, 0.5 * n**2, PRODUCTS * 16 * n**2, kernel)


def linear(model: Any, X: Any) -> Work:
    """A square of the columns for each step, or so many passes over the rows."""
    n, size = float(count(X)), _bytes(X)
    d = float(X.shape[1]) if hasattr(X, "shape") and len(X.shape) == 2 else size / 8 / max(n, 1.0)
    smaller = min(n, d)
    square = size / 8 * smaller
    descent = DESCENTS * size
    if square > DESCENTS * size:  # so many columns that no square of them is formed
        return Work("passes over the rows", size + 8 * d, 0.0, 0.0, descent)
    return Work("sums over the rows", size + 16 * smaller**2, STEPS * square, 0.0, STEPS * size)


def _kernel(kernel: Any) -> Kernel | None:
    return None if is_precomputed(kernel) else plain_kernel(kernel)


def _number(gamma: Any) -> Any:
    return None if is_several(gamma) else gamma


def _bytes(X: Any) -> float:
    """As float64."""
    return 8.0 * float(getattr(X, "nnz", None) or np.size(X))


WORK: dict[str, Callable[[Any, Any], Work]] = {
    "KernelRidge": kernel_ridge,
    "SVC": support_vectors,
    "SVR": support_vectors,
    "KernelPerceptron": perceptron,
}
