"""Count the operations and the memory of a fit before it starts, with one function for each kind of model.

A class names its function in its traits (`cost`). Other models with a kernel count as kernel machines, and those
without one as linear models. All counts are approximate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._memory import MAX_MEMORY_SHARE, available_bytes
from mercer.base import resolve, traits_of
from mercer.base.kernel_choice import is_precomputed, plain_kernel, sample_row_numbers
from mercer.kernel_approximation.approximate import make_transformer
from mercer.kernel_approximation.landmarks import MAX_FACTOR_ENTRIES
from mercer.kernel_ridge.kernel_ridge import N_WIDTHS, is_choice_of_gamma, make_kernel
from mercer.kernel_ridge.perceptron_solver import ROW_CACHE_SHARE
from mercer.kernels import Kernel
from mercer.kernels.inputs import count, take
from mercer.matrices.mapped import TileOptions
from mercer.optim.span.mapped_curvature import curvature_sample
from mercer.optim.span.products import MATRIX_MEMORY_SHARE as PRODUCT_SHARE
from mercer.optim.span.products import MAX_NEWTON_PIVOTS
from mercer.optim.span.ridge import MANY_KERNEL_ROWS, RIDGE_AIM, bytes_at_least, bytes_needed
from mercer.optim.span.spectrum import DECOMPOSITION_MATRICES
from mercer.optim.span.steps import (
    BYTES_PER_PIVOT,
    ROWS_PER_PIVOT,
    ROWS_PER_STEP,
    SHARE_OF_TILES,
    Deflation,
    pivots_beyond_memory,
)
from mercer.optim.span.system import FEWER_ROWS_REMEDY, RidgeSystem, few_features
from mercer.report.wording import format_count
from mercer.svm.feature_machine import FEATURE_COPIES

#: number of rows from which the number of conjugate gradient steps is estimated
N_SPECTRUM_ROWS = 1500
#: Newton steps of linear models, each of which reads the data and forms the Gram matrix
NEWTON_STEPS = 10
#: passes over the data of linear models with too many columns for a Gram matrix; products of kernel machines in the
#: span of pivots
DESCENT_PASSES = 100
#: factorisations of a kernel matrix in Newton's method
NEWTON_FACTORS = 2
#: products with a kernel matrix in Newton's method
NEWTON_PRODUCTS = 40
#: share of the entries of a kernel matrix that support vector machines compute
COMPUTED_SHARE = 0.4
#: passes of a perceptron
PERCEPTRON_PASSES = 10
#: passes over the features of all rows by a support vector machine
SVM_FEATURE_PASSES = 90
#: exact passes over the features of all rows for least squares
LEAST_SQUARES_PASSES = 3
#: exact passes over the features of all rows for other losses
NEWTON_FEATURE_PASSES = 6
#: passes over the features of all rows in float32
FLOAT32_PASSES = 12
#: operations, in units of M³, of two decompositions of the kernel matrix of M landmarks
LANDMARK_DECOMPOSITIONS = 19
#: operations, in units of M³, of a factor of the Gram matrix of M features
GRAM_FACTORS = 1
#: operations, in units of M³, of a decomposition of the Gram matrix of M features, which the choice of a penalty needs
GRAM_DECOMPOSITIONS = 10
#: time of a pair of points of a density, in operations of a product of large matrices
FLOPS_PER_PAIR = 200
#: time of a pair of points of the plug-in rule, in the same unit
FLOPS_PER_PLUG_IN_PAIR = 1600
#: widths that the search of a kernel regression tries on a sample
REGRESSION_WIDTHS = 200
#: widths that it tries on all of many rows
REGRESSION_WIDTHS_OF_ALL = 12
#: bandwidths that the search of a density tries on a sample
DENSITY_WIDTHS = 70
#: bandwidths that it tries on all of many rows
DENSITY_WIDTHS_OF_ALL = 8
#: remedy if the memory does not suffice for the features
REMEDY_FOR_FEATURES = (
    "have fewer features (n_components of approximate=Nystroem(…) or RandomFourierFeatures(…)), or fit fewer rows"
)
#: remedy if the memory does not suffice for the rows
REMEDY_FOR_ROWS = "fit fewer rows, or fewer columns"


@dataclass(frozen=True)
class Work:
    """Operations of a fit by the resource that limits their speed, and its peak memory."""

    path: str  # name of the algorithm
    memory: float  # bytes
    flops: float = 0.0  # of products and factors of large matrices
    entries: float = 0.0  # entries of a kernel matrix that are computed
    traffic: float = 0.0  # bytes that are read from memory
    kernel: Kernel | None = None
    remedy: str = FEWER_ROWS_REMEDY  # if the memory does not suffice


def work_of(model: Any, X: Any) -> Work:
    """Return the work of fitting a model to these rows."""
    if getattr(model, "kernel", None) is not None:
        return resolve(traits_of(model).cost or kernel_machine)(model, X)  # type: ignore[no-any-return]
    return linear(model, X)


def kernel_ridge(model: Any, X: Any) -> Work:
    n = float(count(X))
    has_several_widths = is_choice_of_gamma(model.gamma)
    gamma = None if has_several_widths else model.gamma
    kernel = None if is_precomputed(model.kernel) else make_kernel(model, X, gamma)
    tuned = isinstance(model.alpha, str) or has_several_widths
    several = 1
    if has_several_widths:
        several = N_WIDTHS if isinstance(model.gamma, str) else np.size(model.gamma)
    if kernel is not None and (features := _features(model, X)) is not None:
        return on_features(X, kernel, features, LEAST_SQUARES_PASSES, several if tuned else 0)
    if tuned:
        path, memory = (
            f"{format_count(several, 'eigendecomposition')} of the kernel matrix",
            8 * DECOMPOSITION_MATRICES * n**2,
        )
        return Work(path, memory, 4 * several * n**3, several * n**2, several * 4 / 3 * n**3, kernel)
    few = (
        few_features(kernel, int(n), X.shape[1])
        if n >= MANY_KERNEL_ROWS and kernel is not None and kernel.numeric
        else None
    )
    if few is not None and np.min(model.alpha) > 0:
        return Work(f"ridge regression on {few} features of the kernel", 16 * n * few, n * few**2, 0.0, 40 * n * few)
    pivots = n / ROWS_PER_PIVOT
    steps = _steps(model, X, kernel, int(pivots)) if n >= MANY_KERNEL_ROWS and kernel is not None else np.inf
    is_direct = steps > n / ROWS_PER_STEP
    needed = 8 * n**2 if is_direct else bytes_needed(int(n))
    if kernel is not None and np.isfinite(steps) and needed > MAX_MEMORY_SHARE * available_bytes():
        return _beyond_memory(model, X, kernel)
    if is_direct:
        return Work("a Cholesky factor", 8 * n**2, n**3 / 3, 1.5 * n**2, 0.0, kernel)
    traffic = steps * (2 * n**2 + 16 * n * pivots)
    path = f"about {steps:.0f} steps of conjugate gradients"
    return Work(path, bytes_needed(int(n)), 4 * n * pivots**2, 2 * n**2, traffic, kernel)


def _beyond_memory(model: Any, X: Any, kernel: Kernel) -> Work:
    """Return the work of steps that compute the tiles beyond memory each time, and of three steps in float64."""
    n = float(count(X))
    pivots = pivots_beyond_memory(int(n))
    steps = _steps(model, X, kernel, pivots)
    for_tiles = max(0.0, SHARE_OF_TILES * (available_bytes() - BYTES_PER_PIVOT * n * pivots))
    made = 1 - min(1.0, for_tiles / (2 * n**2))
    path = f"about {steps:.0f} steps of conjugate gradients, with {made:.0%} of the kernel matrix made again in each"
    memory = max(BYTES_PER_PIVOT * n * pivots + for_tiles, bytes_at_least(int(n)))
    return Work(path, memory, 4 * n * pivots**2, (steps * made + 4) * n**2 / 2, steps * 16 * n * pivots, kernel)


def _steps(model: Any, X: Any, kernel: Kernel, pivots: int) -> float:
    """Estimate the number of conjugate gradient steps from a sample, by the spectrum that the pivots leave."""
    alpha = float(np.min(model.alpha))
    if not alpha > 0 or not kernel.symmetric:
        return np.inf
    rows = take(X, sample_row_numbers(count(X), N_SPECTRUM_ROWS))
    system = RidgeSystem.of(kernel, rows, np.zeros((count(rows), 1)))
    return Deflation.of(system, alpha, pivots).steps(alpha, RIDGE_AIM)


def support_vectors(model: Any, X: Any) -> Work:
    n = float(count(X))
    if (features := _features(model, X)) is not None:
        M = float(features.count)
        return Work(
            features.path,
            memory=8 * FEATURE_COPIES * n * M + _bytes(X),
            flops=2 * n * M**2 + features.choosing,
            entries=n * M + features.examined * M,
            traffic=SVM_FEATURE_PASSES * 8 * n * M,
            kernel=_kernel(model.kernel),
            remedy=REMEDY_FOR_FEATURES,
        )
    memory = 1e6 * float(model.cache_size) + _bytes(X)
    return Work("decomposition, with a cache of rows", memory, 0.0, COMPUTED_SHARE * n**2, 0.0, _kernel(model.kernel))


@dataclass(frozen=True)
class FeatureWork:
    """Number of features that approximate the kernel and, for landmarks, of rows from which they are chosen."""

    count: int
    of_landmarks: bool
    examined: float

    @property
    def path(self) -> str:
        return f"Newton's method on {self.count} features of the kernel"

    @property
    def choosing(self) -> float:
        """Operations of choosing landmarks; frequencies are drawn, and take none."""
        return self.examined * self.count**2 + self.of_landmarks * LANDMARK_DECOMPOSITIONS * self.count**3


def _features(model: Any, X: Any) -> FeatureWork | None:
    """Return the features that approximate the kernel; None if it is exact."""
    transformer = make_transformer(getattr(model, "approximate", None), count(X))
    return None if transformer is None else _count_of(transformer, X)


def _count_of(transformer: Any, X: Any) -> FeatureWork:
    many, rule = min(int(transformer.n_components), count(X)), getattr(transformer, "landmarks", None)
    examined = 0.0 if rule in (None, "uniform") else min(float(count(X)), MAX_FACTOR_ENTRIES / many)
    return FeatureWork(many, rule is not None, examined)


def on_features(X: Any, kernel: Kernel | None, features: FeatureWork, passes: int, tuned: int = 0) -> Work:
    """Return the work of choosing features, of the Gram matrix of a sample, and of passes over all rows.

    A penalty that is chosen for each of `tuned` widths needs the Gram matrix of all rows, and one more pass for their
    errors.
    """
    n, M = float(count(X)), float(features.count)
    kept = 4 * n * M if 4 * n * M <= TileOptions().stored_share * available_bytes() else 0.0
    sample = float(len(curvature_sample(int(n), features.count)))
    times, inverse = max(1, tuned), GRAM_DECOMPOSITIONS if tuned else GRAM_FACTORS
    flops = times * (features.choosing + inverse * M**3) + sample * M**2 + tuned * 5 * n * M**2
    entries = n * M * (passes + 1 + 2 * tuned + (0 if kept else FLOAT32_PASSES)) + times * features.examined * M
    memory = kept + 8 * features.examined * M + 40 * M**2 + _bytes(X)
    return Work(features.path, memory, flops, entries, FLOAT32_PASSES * kept, kernel, REMEDY_FOR_FEATURES)


def feature_map(model: Any, X: Any) -> Work:
    """Return the work of landmarks or frequencies alone, without a model on them."""
    features = _count_of(model, X)
    M = float(features.count)
    entries = features.of_landmarks * M**2 + features.examined * M
    memory = 8 * features.examined * M + 40 * M**2 + _bytes(X)
    path = f"{features.count} features of the kernel"
    return Work(path, memory, features.choosing, entries, _bytes(X), _kernel(model.kernel), REMEDY_FOR_FEATURES)


def windows(model: Any, X: Any) -> Work:
    """Return the work of densities and regressions with a kernel around each row: the choice of the widths."""
    size = _bytes(X)
    path, flops = _choosing_widths(model.bandwidth, float(count(X)))
    return Work(path, 2 * size, flops, traffic=NEWTON_STEPS * size, remedy=REMEDY_FOR_ROWS)


def _choosing_widths(bandwidth: Any, n: float) -> tuple[str, float]:
    """Return the method by which widths are chosen, and its operations."""
    # imported here, since the fits of kernel models import this module and do not need mercer.density
    from mercer.density import PlugIn
    from mercer.density.cross_validation import CrossValidation
    from mercer.density.named_rules import BANDWIDTH_RULES
    from mercer.density.regression_widths import MOST_LEFT_OUT_PAIRS, SEARCHED_ROWS

    if isinstance(bandwidth, str) and bandwidth == "leave-one-out":
        left_out = max(SEARCHED_ROWS, MOST_LEFT_OUT_PAIRS / n)
        of_all = REGRESSION_WIDTHS_OF_ALL * n * min(n, left_out) if n > SEARCHED_ROWS else 0.0
        return "leaving rows out, to choose the widths", FLOPS_PER_PAIR * (
            REGRESSION_WIDTHS * min(n, SEARCHED_ROWS) ** 2 + of_all
        )
    rule = BANDWIDTH_RULES.get(bandwidth) if isinstance(bandwidth, str) else bandwidth
    if isinstance(rule, CrossValidation):
        of_all = DENSITY_WIDTHS_OF_ALL * n**2 if n > rule.sampled_points else 0.0
        return "cross-validation, to choose the bandwidth", FLOPS_PER_PAIR * (
            DENSITY_WIDTHS * min(n, rule.sampled_points) ** 2 + of_all
        )
    if isinstance(rule, PlugIn):
        return "integrals over pairs of rows, to choose the bandwidth", FLOPS_PER_PLUG_IN_PAIR * n**2
    return "laying a kernel around each row", 0.0


def perceptron(model: Any, X: Any) -> Work:
    """Return the work of computing each row of the kernel matrix once, if memory suffices, and reading it in passes."""
    n = float(count(X))
    memory = min(8 * n**2, ROW_CACHE_SHARE * available_bytes())
    path = "passes over the rows, with those rows of the kernel matrix that fit into memory"
    return Work(path, memory, 0.0, n**2, PERCEPTRON_PASSES * 8 * n**2, _kernel(model.kernel))


def kernel_machine(model: Any, X: Any) -> Work:
    """Return the work of Newton's method for functions of one output: by factors if memory suffices, else by tiles."""
    n, kernel = float(count(X)), _kernel(model.kernel)
    if (features := _features(model, X)) is not None:
        return on_features(X, kernel, features, NEWTON_FEATURE_PASSES)
    if 16 * n**2 > PRODUCT_SHARE * available_bytes():
        path = "Newton's method with the kernel matrix made anew for each product"
        return Work(
            path,
            24 * n * min(MAX_NEWTON_PIVOTS, n),
            4 * n * MAX_NEWTON_PIVOTS**2,
            DESCENT_PASSES * 0.5 * n**2,
            0.0,
            kernel,
        )
    path = "Newton's method with factors of the kernel matrix"
    return Work(path, 16 * n**2, NEWTON_FACTORS * n**3 / 3, 0.5 * n**2, NEWTON_PRODUCTS * 16 * n**2, kernel)


def linear(model: Any, X: Any) -> Work:
    """Return the work of a linear model: a Gram matrix for each step or, with many columns, passes over the rows."""
    n, size = float(count(X)), _bytes(X)
    d = float(X.shape[1]) if hasattr(X, "shape") and len(X.shape) == 2 else size / 8 / max(n, 1.0)
    smaller = min(n, d)
    gram = size / 8 * smaller
    if gram > DESCENT_PASSES * size:  # too many columns for a Gram matrix
        return Work("passes over the rows", size + 8 * d, traffic=DESCENT_PASSES * size, remedy=REMEDY_FOR_ROWS)
    memory = size + 16 * smaller**2
    return Work("sums over the rows", memory, NEWTON_STEPS * gram, traffic=NEWTON_STEPS * size, remedy=REMEDY_FOR_ROWS)


def _kernel(kernel: Any) -> Kernel | None:
    return None if is_precomputed(kernel) else plain_kernel(kernel)


def _bytes(X: Any) -> float:
    """Return the size of X as float64."""
    return 8.0 * float(getattr(X, "nnz", None) or np.size(X))
