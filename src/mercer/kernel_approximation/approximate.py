"""`approximate=`: the features that approximate a kernel (lecture 5), and their distance from the kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, StrOptions

import mercer
from mercer._errors import KernelError
from mercer._gpu import is_tensor, to_numpy
from mercer._stored import stored
from mercer._typing import Array
from mercer.base.kernel_choice import sample_row_numbers
from mercer.base.validation import fetch_rows, validate_params
from mercer.kernel_approximation._nystroem import Nystroem, choose_landmark_rows, make_nystroem_map
from mercer.kernel_approximation._random_fourier import RandomFourierFeatures
from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernel_approximation.function import MAX_EIGEN_LANDMARKS, MAX_EXACT_ROWS
from mercer.kernel_approximation.nystroem_map import LandmarkMap, NystroemMap, compute_trace_error
from mercer.kernels import Kernel
from mercer.kernels.inputs import count, take

#: constraint on the parameter `approximate`, in scikit-learn's form
APPROXIMATE = [StrOptions({"nystroem", "fourier", "auto"}), HasMethods(["fit", "transform"]), None]
#: features of n rows, as a multiple of √n: an order at which the loss of accuracy is negligible (Rudi et al. 2015)
FEATURES_PER_ROOT = 2.0
#: least number of features, if there are as many rows
MIN_FEATURES = 100


def make_transformer(approximate: Any, n: int) -> Nystroem | RandomFourierFeatures | None:
    """Return an unfitted transformer for n rows; None stays None."""
    components = min(n, max(MIN_FEATURES, int(FEATURES_PER_ROOT * np.sqrt(n))))
    if approximate is None or isinstance(approximate, Nystroem | RandomFourierFeatures):
        return approximate
    if isinstance(approximate, str) and approximate == "nystroem":
        return Nystroem(n_components=components, landmarks="rpcholesky", random_state=0)
    if isinstance(approximate, str) and approximate == "fourier":
        return RandomFourierFeatures(n_components=components, sampling="orthogonal", random_state=0)
    raise KernelError(
        f"approximate takes None, 'nystroem', 'fourier', 'auto', Nystroem(…) or RandomFourierFeatures(…), got "
        f"{approximate!r}; put other features before a linear model in a Pipeline."
    )


#: rows on which the exact model is fitted too, and rows on which the two are compared
COMPARISON_SAMPLE = 500
#: outputs of a model up to which the sample has that many rows
FULL_SAMPLE_OUTPUTS = 20
#: spread of values, relative to their size, that is rounding
FLAT_SPREAD = 1e-9

Map = NystroemMap | LandmarkMap | FourierMap


@stored()
@dataclass(frozen=True)
class Approximation:
    """The features that approximated a kernel, and the loss of accuracy.

    Attributes
    ----------
    kind : {"nystroem", "fourier"}
        Kind of features.
    n_components : int
        Number of features.
    error : float
        For Nyström features the share of the trace of the kernel matrix that is not explained; for Fourier features the
        root mean square error of an entry, relative to √(k(x, x) k(z, z)). Both on a sample of the rows.
    distance : float
        Root mean square difference between the predictions and those of the exact model, both fitted to a sample of
        `rows` rows, on as many other rows, relative to the spread of the exact ones. NaN where the sample has no fit.
    rows : int
        Rows of that sample.
    """

    kind: str
    n_components: int
    error: float
    distance: float
    rows: int

    def __str__(self) -> str:
        measure = "of the trace is left" if self.kind == "nystroem" else "is the error of an entry"
        text = f"{self.n_components} {self.kind} features: {self.error:.2g} {measure}; on {self.rows} rows "
        if np.isnan(self.distance):
            return text + "predictions could not be compared with those of the exact model"
        return text + f"predictions differ from those of the exact model by {self.distance:.2g} of their spread"


def fit_feature_map(model: Any, kernel: Kernel, X: Any) -> Map | None:
    """Return ψ with ψ(x)ᵀψ(z) close to k(x, z) as a model's `approximate` sets it; None for an exact model."""
    transformer = choose_transformer(model, X)
    return None if transformer is None else fit_map_of(transformer, kernel, X)


def fit_map_of(transformer: Nystroem | RandomFourierFeatures, kernel: Kernel, X: Any) -> Map:
    """Return ψ of an unfitted transformer, for this kernel; the transformer's own kernel and γ are ignored."""
    validate_params(transformer)
    if not isinstance(transformer, Nystroem):
        if not kernel.numeric:
            kernel.spectrum(1)  # raises an error that says so, before one about texts that are not numbers
        return clone(transformer).set_params(kernel=kernel, gamma=None).fit(X)._map  # type: ignore[no-any-return]
    if is_tensor(X) and min(transformer.n_components, count(X)) > MAX_EIGEN_LANDMARKS:
        return LandmarkMap(kernel, choose_landmark_rows(kernel, transformer, X))
    map = make_nystroem_map(kernel, transformer, X)
    # a kernel that is 0 has one feature, 0
    return map if map.n_features else replace(map, back=np.zeros((len(map.back), 1)))


def is_auto(model: Any) -> bool:
    """Return whether costs decide if features approximate the kernel."""
    approximate = getattr(model, "approximate", None)
    return isinstance(approximate, str) and approximate == "auto"


def choose_transformer(model: Any, X: Any) -> Nystroem | RandomFourierFeatures | None:
    """Return the transformer that a model's `approximate` sets; None for an exact model."""
    approximate = model.approximate
    if is_auto(model):
        approximate = None if _is_bearable(model, X) else "nystroem"
    return make_transformer(approximate, count(X))


def _is_bearable(model: Any, X: Any) -> bool:
    if is_tensor(X):
        return count(X) <= MAX_EIGEN_LANDMARKS
    return bool(mercer.estimate_cost(clone(model).set_params(approximate=None), X).bearable)


def assess_approximation(
    map: Map, kernel: Kernel, X: Any, values: Callable[[Any, Array, Any], tuple[Array, Array]], outputs: int = 1
) -> Approximation:
    """Return the errors of a map, from a sample of the rows.

    Parameters
    ----------
    values : callable
        (rows, their positions, other rows) ↦ values of the others from the exact and the approximate model, both fitted
        to the rows, with the same ratio of losses to penalty as the fit to all rows.
    outputs : int, default=1
        Decompositions of the kernel matrix in a step of a fit: the more, the fewer the rows.
    """
    if isinstance(map, LandmarkMap):
        return _assess_landmarks(map, X)
    size = int(COMPARISON_SAMPLE * min(1.0, np.sqrt(FULL_SAMPLE_OUTPUTS / outputs)))
    numbers = np.random.default_rng(0).permutation(count(X))[: 2 * size]
    half = -(-len(numbers) // 2)
    rows, others = np.sort(numbers[:half]), numbers[half:] if half < len(numbers) else numbers
    sample = fetch_rows(X, rows)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        distance = _compute_distance(lambda: values(sample, rows, fetch_rows(X, others)))
        error = _compute_error(map, kernel, fetch_rows(X, sample_row_numbers(count(X), COMPARISON_SAMPLE)))
    kind = "nystroem" if isinstance(map, NystroemMap) else "fourier"
    return Approximation(kind, map.n_features, error, distance, half)


def _assess_landmarks(map: LandmarkMap, X: Any) -> Approximation:
    """Return the unexplained share of the trace where memory allows; an exact twin would take longer than the fit."""
    rows, error = take(X, sample_row_numbers(count(X), COMPARISON_SAMPLE)), float("nan")
    if len(map.landmarks) <= MAX_EXACT_ROWS:
        with suppress(ValueError, MemoryError):  # describing a fit must not make it fail
            error = compute_trace_error(to_numpy(map(rows)), map.kernel.diag(to_numpy(rows)))
    return Approximation("nystroem", map.n_features, error, float("nan"), 0)


def _compute_distance(values: Callable[[], tuple[Array, Array]]) -> float:
    """Return the distance between values of two models, relative to the spread of the first; NaN without a fit."""
    try:
        exact, approximate = values()
    except (ValueError, ArithmeticError, MemoryError):  # describing a fit must not make it fail
        return float("nan")
    unit = max(float(np.abs(exact).max(initial=0.0)), np.finfo(float).tiny)  # its square may overflow
    spread = float(np.sqrt(np.mean(((exact - exact.mean(axis=0)) / unit) ** 2)))
    difference = float(np.sqrt(np.mean(((exact - approximate) / unit) ** 2)))
    return difference / spread if not spread <= FLAT_SPREAD else difference


def _compute_error(map: Map, kernel: Kernel, rows: Any) -> float:
    features = map(rows)
    diagonal = kernel.diag(rows)
    if isinstance(map, NystroemMap):
        return compute_trace_error(features, diagonal)
    off = (features @ features.T - kernel(rows)) / np.sqrt(np.outer(diagonal, diagonal))
    return float(np.sqrt(np.mean(off**2)))
