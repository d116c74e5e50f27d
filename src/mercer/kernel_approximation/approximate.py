"""`approximate=`: which features stand for a kernel (lecture 5), and how far that is from the kernel itself."""

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
from mercer.base.kernel_choice import sample_of
from mercer.base.validation import fetch_rows
from mercer.kernel_approximation._nystroem import Nystroem, landmarks_for, map_for
from mercer.kernel_approximation._random_fourier import RandomFourierFeatures
from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernel_approximation.function import MOST_LANDMARKS, WHITENED
from mercer.kernel_approximation.nystroem_map import LandmarkMap, NystroemMap, trace_error
from mercer.kernels import Kernel
from mercer.kernels.inputs import count, take

# Which features `approximate=` names; whether "auto" is to be exact is for others to say, who know what that costs.

#: what `approximate` may be, in scikit-learn's language
APPROXIMATE = [StrOptions({"nystroem", "fourier", "auto"}), HasMethods(["fit", "transform"]), None]
#: features of n rows: so many times √n, which is of the order that loses nothing to speak of (Rudi et al. 2015)
PER_ROOT, FEWEST = 2.0, 100


def named_features(approximate: Any, n: int) -> Nystroem | RandomFourierFeatures | None:
    """Features for n rows, not fitted yet; None stays None."""
    components = min(n, max(FEWEST, int(PER_ROOT * np.sqrt(n))))
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


#: rows on which the exact model is fitted too, and as many to compare the two on
SAMPLE = 500
#: outputs of a model up to which the sample has that many rows
OUTPUTS = 20
#: a spread, beside the values themselves, that is rounding
FLAT = 1e-9

Map = NystroemMap | LandmarkMap | FourierMap


@stored()
@dataclass(frozen=True)
class Approximation:
    """Which features stood for a kernel, and what that cost.

    Attributes
    ----------
    kind : {"nystroem", "fourier"}
        Of features.
    n_components : int
        How many numbers are made of a row.
    error : float
        Of Nyström features what is left of the trace of the kernel matrix, relative to it; of Fourier features the root
        mean square error of an entry, relative to √(k(x, x) k(z, z)). Both of a sample of the rows.
    distance : float
        Of the predictions from those of the exact model, both fitted to a sample of `rows` rows: their root mean square
        on as many others, relative to the spread of the exact ones. NaN where such a sample has no fit.
    rows : int
        Of that sample.
    """

    kind: str
    n_components: int
    error: float
    distance: float
    rows: int

    def __str__(self) -> str:
        what = "of the trace is left" if self.kind == "nystroem" else "is the error of an entry"
        told = f"{self.n_components} {self.kind} features: {self.error:.2g} {what}; on {self.rows} rows "
        if np.isnan(self.distance):
            return told + "predictions could not be compared with those of the exact model"
        return told + f"predictions are {self.distance:.2g} of their spread away from those of the exact model"


def features_for(model: Any, kernel: Kernel, X: Any) -> Map | None:
    """ψ with ψ(x)ᵀψ(z) close to k(x, z), as a model asks for it by `approximate`; None where it is to be exact."""
    asked = features_asked(model, X)
    return None if asked is None else features_of(asked, kernel, X)


def features_of(asked: Nystroem | RandomFourierFeatures, kernel: Kernel, X: Any) -> Map:
    """ψ of an unfitted transformer, for this kernel; the transformer's own kernel and γ are ignored."""
    asked._validate_params()
    if not isinstance(asked, Nystroem):
        if not kernel.numeric:
            kernel.spectrum(1)  # which says that there is none, before somebody complains that texts are no numbers
        return clone(asked).set_params(kernel=kernel, gamma=None).fit(X)._map  # type: ignore[no-any-return]
    if is_tensor(X) and min(asked.n_components, count(X)) > WHITENED:
        return LandmarkMap(kernel, landmarks_for(kernel, asked, X))
    map = map_for(kernel, asked, X)
    # a kernel that is 0 has a feature that is
    return map if map.n_features else replace(map, back=np.zeros((len(map.back), 1)))


def is_auto(model: Any) -> bool:
    """Whether costs decide if features stand for the kernel."""
    approximate = getattr(model, "approximate", None)
    return isinstance(approximate, str) and approximate == "auto"


def features_asked(model: Any, X: Any) -> Nystroem | RandomFourierFeatures | None:
    """Which features a model asks for by `approximate`; None where it is to be exact."""
    approximate = model.approximate
    if is_auto(model):
        approximate = None if _bearable(model, X) else "nystroem"
    return named_features(approximate, count(X))


def _bearable(model: Any, X: Any) -> bool:
    if is_tensor(X):
        return count(X) <= WHITENED
    return bool(mercer.estimate_cost(clone(model).set_params(approximate=None), X).bearable)


def approximation(
    map: Map, kernel: Kernel, X: Any, values: Callable[[Any, Array, Any], tuple[Array, Array]], outputs: int = 1
) -> Approximation:
    """What is known of a map from a sample of the rows.

    Parameters
    ----------
    values : callable
        (rows, their numbers, other rows) ↦ values of the others from the exact model and the approximate one, both
        fitted to the rows, each penalised as much beside them as it is beside all.
    outputs : int, default=1
        How many decompositions of their kernel matrix a step of a fit takes: of many, the rows are fewer.
    """
    if isinstance(map, LandmarkMap):
        return _of_many_landmarks(map, X)
    size = int(SAMPLE * min(1.0, np.sqrt(OUTPUTS / outputs)))
    numbers = np.random.default_rng(0).permutation(count(X))[: 2 * size]
    half = -(-len(numbers) // 2)
    rows, others = np.sort(numbers[:half]), numbers[half:] if half < len(numbers) else numbers
    sample = fetch_rows(X, rows)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        distance = _distance(lambda: values(sample, rows, fetch_rows(X, others)))
        error = _error(map, kernel, fetch_rows(X, sample_of(count(X), SAMPLE)))
    kind = "nystroem" if isinstance(map, NystroemMap) else "fourier"
    return Approximation(kind, map.n_features, error, distance, half)


def _of_many_landmarks(map: LandmarkMap, X: Any) -> Approximation:
    """What is left of the trace, where that has room; an exact twin would take longer than the fit."""
    rows, error = take(X, sample_of(count(X), SAMPLE)), float("nan")
    if len(map.landmarks) <= MOST_LANDMARKS:
        with suppress(ValueError, MemoryError):  # describing a fit must not make it fail
            error = trace_error(to_numpy(map(rows)), map.kernel.diag(to_numpy(rows)))
    return Approximation("nystroem", map.n_features, error, float("nan"), 0)


def _distance(values: Callable[[], tuple[Array, Array]]) -> float:
    """Between values of two models, relative to the spread of the first; NaN where either cannot be fitted."""
    try:
        exact, approximate = values()
    except (ValueError, ArithmeticError, MemoryError):  # describing a fit must not make it fail
        return float("nan")
    unit = max(float(np.abs(exact).max(initial=0.0)), np.finfo(float).tiny)  # whose square may be no number
    spread = float(np.sqrt(np.mean(((exact - exact.mean(axis=0)) / unit) ** 2)))
    away = float(np.sqrt(np.mean(((exact - approximate) / unit) ** 2)))
    return away / spread if not spread <= FLAT else away


def _error(map: Map, kernel: Kernel, rows: Any) -> float:
    features = map(rows)
    diagonal = kernel.diag(rows)
    if isinstance(map, NystroemMap):
        return trace_error(features, diagonal)
    off = (features @ features.T - kernel(rows)) / np.sqrt(np.outer(diagonal, diagonal))
    return float(np.sqrt(np.mean(off**2)))
