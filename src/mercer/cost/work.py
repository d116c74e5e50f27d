"""What a fit will do, counted before it starts: each kind of model says it in one function.

A class names its function in its traits (`cost`); others are linear models, or machines where they have a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._memory import SHARE, available_bytes
from mercer.base import resolve, traits_of
from mercer.base.kernel_choice import is_precomputed, plain_kernel, sample_of
from mercer.kernel_approximation.approximate import named_features
from mercer.kernel_approximation.landmarks import ENTRIES
from mercer.kernel_ridge.kernel_ridge import WIDTHS, is_several, ridge_kernel
from mercer.kernel_ridge.perceptron_solver import SHARE as KEPT
from mercer.kernels import Kernel
from mercer.kernels.inputs import count, take
from mercer.matrices.mapped import SHARE as TILES
from mercer.optim.span.mapped_curvature import curvature_sample as sample_of_rows
from mercer.optim.span.products import MOST_PIVOTS
from mercer.optim.span.products import SHARE as IN_MEMORY
from mercer.optim.span.ridge import AIM, MANY_ROWS, bytes_at_least, bytes_needed
from mercer.optim.span.spectrum import SQUARES
from mercer.optim.span.steps import (
    BYTES_PER_PIVOT,
    ROWS_PER_PIVOT,
    ROWS_PER_STEP,
    SHARE_OF_TILES,
    Deflation,
    pivots_beyond_memory,
)
from mercer.optim.span.system import INSTEAD, RidgeSystem, few_features
from mercer.report.wording import counted
from mercer.svm.feature_machine import FEATURE_COPIES

#: rows from which the number of steps is guessed
SAMPLE = 1500
#: passes over the data and over its square that fits of linear models take, about
STEPS, DESCENTS = 10, 100
#: factors of a kernel matrix, and products with it, that Newton's method takes, about
FACTORS, PRODUCTS = 2, 40
#: of the entries of a kernel matrix, the part that support vector machines compute, and passes of a perceptron, about
SWEEPS, PASSES = 0.4, 10
#: readings of the features of all rows that a support vector machine takes, about
READINGS = 90
#: exact passes over features of all rows, of least squares and of other losses, and rough ones, about
SQUARED, CURVED, ROUGH_PASSES = 3, 6, 12
#: M³ products that two decompositions of the kernel matrix of M landmarks take, and those that any features take: a
#: factor of their square, or where penalties are chosen its decomposition
DECOMPOSED, FACTORISED, EIGENVALUES = 19, 1, 10
#: operations of a product of large matrices that a pair of points takes as long as, about, and one of the plug-in rule
PER_PAIR, PER_PLUGGED_PAIR = 200, 1600
#: widths that a search tries among some rows, and among all of many: of a regression, and of a density
WALKED, SETTLED, CRITERIA, NEARBY = 200, 12, 70, 8
#: what to do where there is no room for so many features, rows or columns
FEWER_FEATURES = (
    "have fewer features (n_components of approximate=Nystroem(…) or RandomFourierFeatures(…)), or fit fewer rows"
)
FEWER_COLUMNS = "fit fewer rows, or fewer columns"


@dataclass(frozen=True)
class Work:
    """Operations by what bounds their speed, the most memory held at once, and the path they belong to."""

    path: str
    memory: float
    flops: float = 0.0  # of products and factors of large matrices
    entries: float = 0.0  # of a kernel matrix
    traffic: float = 0.0  # bytes that are read from memory
    kernel: Kernel | None = None
    instead: str = INSTEAD  # what to do where there is no room


def work_of(model: Any, X: Any) -> Work:
    """What fitting a model to these rows takes."""
    if getattr(model, "kernel", None) is not None:
        return resolve(traits_of(model).cost or kernel_machine)(model, X)  # type: ignore[no-any-return]
    return linear(model, X)


def kernel_ridge(model: Any, X: Any) -> Work:
    n = float(count(X))
    kernel = None if is_precomputed(model.kernel) else ridge_kernel(model, X, _number(model.gamma))
    tuned = isinstance(model.alpha, str) or is_several(model.gamma)
    several = np.size(model.gamma) if is_several(model.gamma) else 1
    several = WIDTHS if is_several(model.gamma) and isinstance(model.gamma, str) else several
    if kernel is not None and (features := _features(model, X)) is not None:
        return on_features(X, kernel, features, SQUARED, several if tuned else 0)
    if tuned:
        path, memory = f"{counted(several, 'eigendecomposition')} of the kernel matrix", 8 * SQUARES * n**2
        return Work(path, memory, 4 * several * n**3, several * n**2, several * 4 / 3 * n**3, kernel)
    few = few_features(kernel, int(n), X.shape[1]) if n >= MANY_ROWS and kernel is not None and kernel.numeric else None
    if few is not None and np.min(model.alpha) > 0:
        return Work(f"ridge regression on {few} features of the kernel", 16 * n * few, n * few**2, 0.0, 40 * n * few)
    pivots = n / ROWS_PER_PIVOT
    steps = _steps(model, X, kernel, int(pivots)) if n >= MANY_ROWS and kernel is not None else np.inf
    many = steps > n / ROWS_PER_STEP
    wanted = 8 * n**2 if many else bytes_needed(int(n))
    if kernel is not None and np.isfinite(steps) and wanted > SHARE * available_bytes():
        return _beyond_memory(model, X, kernel)
    if many:
        return Work("a Cholesky factor", 8 * n**2, n**3 / 3, 1.5 * n**2, 0.0, kernel)
    traffic = steps * (2 * n**2 + 16 * n * pivots)
    path = f"about {steps:.0f} steps of conjugate gradients"
    return Work(path, bytes_needed(int(n)), 4 * n * pivots**2, 2 * n**2, traffic, kernel)


def _beyond_memory(model: Any, X: Any, kernel: Kernel) -> Work:
    """Steps for which tiles are made again, as many as there is no room for, and three more in float64."""
    n = float(count(X))
    pivots = pivots_beyond_memory(int(n))
    steps = _steps(model, X, kernel, pivots)
    room = SHARE_OF_TILES * (available_bytes() - BYTES_PER_PIVOT * n * pivots)
    made = 1 - min(1.0, max(0.0, room) / (2 * n**2))
    path = f"about {steps:.0f} steps of conjugate gradients, with {made:.0%} of the kernel matrix made again in each"
    memory = BYTES_PER_PIVOT * n * pivots + max(0.0, room)
    memory = max(memory, bytes_at_least(int(n)))
    return Work(path, memory, 4 * n * pivots**2, (steps * made + 4) * n**2 / 2, steps * 16 * n * pivots, kernel)


def _steps(model: Any, X: Any, kernel: Kernel, pivots: int) -> float:
    """From what pivots leave of some rows: of all they leave as much."""
    alpha = float(np.min(model.alpha))
    if not alpha > 0 or not kernel.symmetric:
        return np.inf
    rows = take(X, sample_of(count(X), SAMPLE))
    system = RidgeSystem.of(kernel, rows, np.zeros((count(rows), 1)))
    return Deflation.of(system, alpha, pivots).steps(alpha, AIM)


def support_vectors(model: Any, X: Any) -> Work:
    n = float(count(X))
    if (features := _features(model, X)) is not None:
        M = float(features.count)
        return Work(
            features.path,
            memory=8 * FEATURE_COPIES * n * M + _bytes(X),
            flops=2 * n * M**2 + features.choosing,
            entries=n * M + features.looked_at * M,
            traffic=READINGS * 8 * n * M,
            kernel=_kernel(model.kernel),
            instead=FEWER_FEATURES,
        )
    memory = 1e6 * float(model.cache_size) + _bytes(X)
    return Work("decomposition, with a cache of rows", memory, 0.0, SWEEPS * n**2, 0.0, _kernel(model.kernel))


@dataclass(frozen=True)
class FeatureWork:
    """How many of them stand for the kernel, and of landmarks how many rows are looked at to choose these."""

    count: int
    of_landmarks: bool
    looked_at: float

    @property
    def path(self) -> str:
        return f"Newton's method on {self.count} features of the kernel"

    @property
    def choosing(self) -> float:
        """Products that landmarks take, until they are features; frequencies are drawn, and take none."""
        return self.looked_at * self.count**2 + self.of_landmarks * DECOMPOSED * self.count**3


def _features(model: Any, X: Any) -> FeatureWork | None:
    """What stands for the kernel; None if nothing does."""
    asked = named_features(getattr(model, "approximate", None), count(X))
    return None if asked is None else _count_of(asked, X)


def _count_of(asked: Any, X: Any) -> FeatureWork:
    many, rule = min(int(asked.n_components), count(X)), getattr(asked, "landmarks", None)
    looked_at = 0.0 if rule in (None, "uniform") else min(float(count(X)), ENTRIES / many)
    return FeatureWork(many, rule is not None, looked_at)


def on_features(X: Any, kernel: Kernel | None, features: FeatureWork, passes: int, tuned: int = 0) -> Work:
    """Landmarks, whose choice may look at many rows; the square of a sample; passes over all rows, most of them rough.

    A kernel that is `tuned` takes the square of all rows, and one more pass for the errors of these.
    """
    n, M = float(count(X)), float(features.count)
    room = TILES * available_bytes()
    kept = 4 * n * M if 4 * n * M <= room else 0.0
    sample = float(len(sample_of_rows(int(n), features.count)))
    times, inverse = max(1, tuned), EIGENVALUES if tuned else FACTORISED
    flops = times * (features.choosing + inverse * M**3) + sample * M**2 + tuned * 5 * n * M**2
    entries = n * M * (passes + 1 + 2 * tuned + (0 if kept else ROUGH_PASSES)) + times * features.looked_at * M
    memory = kept + 8 * features.looked_at * M + 40 * M**2 + _bytes(X)
    return Work(features.path, memory, flops, entries, ROUGH_PASSES * kept, kernel, FEWER_FEATURES)


def feature_map(model: Any, X: Any) -> Work:
    """Landmarks or frequencies alone, without a model on them."""
    features = _count_of(model, X)
    M = float(features.count)
    entries = features.of_landmarks * M**2 + features.looked_at * M
    memory = 8 * features.looked_at * M + 40 * M**2 + _bytes(X)
    path = f"{features.count} features of the kernel"
    return Work(path, memory, features.choosing, entries, _bytes(X), _kernel(model.kernel), FEWER_FEATURES)


def windows(model: Any, X: Any) -> Work:
    """Rows are kept, each with a kernel around it; pairs of them are met only to choose how wide these are."""
    size = _bytes(X)
    path, flops = _choosing_widths(model.bandwidth, float(count(X)))
    return Work(path, 2 * size, flops, traffic=STEPS * size, instead=FEWER_COLUMNS)


def _choosing_widths(asked: Any, n: float) -> tuple[str, float]:
    """How widths are chosen, and what that takes."""
    # only here, since kernel models load this file and have no use for that room
    from mercer.density import PlugIn
    from mercer.density.cross_validation import CROSSVALIDATION_MANY as MANY_POINTS
    from mercer.density.cross_validation import CrossValidation
    from mercer.density.named_rules import RULES
    from mercer.density.regression_widths import PAIRS, SEARCHED

    if isinstance(asked, str) and asked == "leave-one-out":
        left_out = max(SEARCHED, PAIRS / n)
        of_all = SETTLED * n * min(n, left_out) if n > SEARCHED else 0.0
        return "leaving rows out, to choose the widths", PER_PAIR * (WALKED * min(n, SEARCHED) ** 2 + of_all)
    rule = RULES.get(asked) if isinstance(asked, str) else asked
    if isinstance(rule, CrossValidation):
        of_all = NEARBY * n**2 if n > MANY_POINTS else 0.0
        return "cross-validation, to choose the bandwidth", PER_PAIR * (CRITERIA * min(n, MANY_POINTS) ** 2 + of_all)
    if isinstance(rule, PlugIn):
        return "integrals over pairs of rows, to choose the bandwidth", PER_PLUGGED_PAIR * n**2
    return "laying a kernel around each row", 0.0


def perceptron(model: Any, X: Any) -> Work:
    """Each row of the kernel matrix once where it has room, and read again in some passes."""
    n = float(count(X))
    memory = min(8 * n**2, KEPT * available_bytes())
    path = "passes over the rows, with those of the kernel matrix that there is room for"
    return Work(path, memory, 0.0, n**2, PASSES * 8 * n**2, _kernel(model.kernel))


def kernel_machine(model: Any, X: Any) -> Work:
    """Newton's method for functions, of one output: few factors where there is room, else products by tiles."""
    n, kernel = float(count(X)), _kernel(model.kernel)
    if (features := _features(model, X)) is not None:
        return on_features(X, kernel, features, CURVED)
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
        return Work("passes over the rows", size + 8 * d, traffic=descent, instead=FEWER_COLUMNS)
    memory = size + 16 * smaller**2
    return Work("sums over the rows", memory, STEPS * square, traffic=STEPS * size, instead=FEWER_COLUMNS)


def _kernel(kernel: Any) -> Kernel | None:
    return None if is_precomputed(kernel) else plain_kernel(kernel)


def _number(gamma: Any) -> Any:
    return None if is_several(gamma) else gamma


def _bytes(X: Any) -> float:
    """As float64."""
    return 8.0 * float(getattr(X, "nnz", None) or np.size(X))
