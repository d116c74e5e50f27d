"""Parzen windows as a family of distributions: a column of naive Bayes modelled by a kernel density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from mercer._errors import BandwidthError, FamilyError
from mercer._stored import floats, stored, values
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth
from mercer.density._kernel_bayes import ClassBandwidths, Points, join_classes
from mercer.density._kernels import SmoothingKernel, smoothing_kernel_from
from mercer.density._rules import Rule
from mercer.density._windows import Windows
from mercer.density.named_rules import rule_named
from mercer.families import Family
from mercer.families.links import Link


@stored(
    lambda own: (
        own.bandwidth.shape == own.windows.shape
        and all(each is None or each.points.shape[1] == 1 for each in own.windows.flat)
    ),
    bandwidth=floats(),
    windows=values(),
)
class ParzenParameters(NamedTuple):
    """Windows of each class and column, and their bandwidths; None and NaN where no value was observed.

    Examples
    --------
    >>> from mercer import NaiveBayes
    >>> rows = [[-2.0], [-1.0], [1.0], [2.0]]
    >>> model = NaiveBayes(Parzen(bandwidth=0.5)).fit(rows, ["low", "low", "high", "high"])
    >>> model.parameters_["x0"].windows[0]
    <windows around 2 points, gaussian kernels, h = 0.5, given>
    """

    bandwidth: Array
    windows: Array


@stored()
@dataclass(frozen=True)
class Parzen(Family):
    """Kernel density of a column: p(x) = Σ_j w_j K((x − x_j)/h) / (h Σ_j w_j).

    A class whose values have no spread takes the bandwidth of all classes, each relative to its mean. A class in which
    the column is entirely missing takes the windows of all classes. A constant column is ignored.

    Parameters
    ----------
    kernel : str or SmoothingKernel, default="gaussian"
        Kernel centred on each value. Kernels other than the Gaussian and the exponential have compact support, outside
        which the density is 0.
    bandwidth : str, float, Rule or Bandwidth, default="silverman-scaled"
        Bandwidth: a number, a rule that chooses one from the values of each class, or the name of a rule.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NaiveBayes
    >>> from mercer.density import Parzen
    >>> X = np.array([[-2.1], [-1.9], [1.9], [2.1], [-0.1], [0.1]])
    >>> model = NaiveBayes(Parzen(bandwidth=0.5)).fit(X, ["far", "far", "far", "far", "near", "near"])
    >>> model.predict([[2.5], [0.3]])
    array(['far', 'near'], dtype='<U4')
    """

    kernel: str | SmoothingKernel = "gaussian"
    bandwidth: Any = "silverman-scaled"

    name: ClassVar[str] = "parzen"
    parameters_type: ClassVar[type[ParzenParameters]] = ParzenParameters
    support: ClassVar[str] = "finite numbers"
    statistic: ClassVar[str] = "rows"
    exponential: ClassVar[bool] = False

    def __post_init__(self) -> None:
        smoothing_kernel_from(self.kernel)
        object.__setattr__(self, "bandwidth", _check_bandwidth(self.bandwidth))

    # Methods of exponential families, which do not apply.

    def _no_formula(self) -> NoReturn:
        raise FamilyError(
            f"{self!r} is not an exponential family: it keeps every value instead of a mean of T(x). Use its fit, "
            "log_density and sample, or describe the column by a family with parameters, such as Gaussian()."
        )

    @property
    def link(self) -> Link:
        self._no_formula()

    def sufficient(self, x: Array) -> Array:
        self._no_formula()

    def log_base(self, x: Array) -> Array:
        self._no_formula()

    def log_partition(self, eta: Array) -> Array:
        self._no_formula()

    def natural(self, parameters: ParzenParameters) -> Array:
        self._no_formula()

    def from_natural(self, eta: Array) -> ParzenParameters:
        self._no_formula()

    def expected(self, parameters: ParzenParameters) -> Array:
        self._no_formula()

    def from_mean(self, mean: Array) -> ParzenParameters:
        self._no_formula()

    # Methods that apply to all families.

    def outside(self, x: Array) -> Array:
        return np.isinf(x)

    def fit(self, statistic: Any, prior: Any = None) -> ParzenParameters:
        """Return windows around the values of each group and column of a statistic of rows; `prior` must be None."""
        if prior is not None:
            self._no_formula()
        return self.fit_named(statistic, None)

    def fit_named(self, statistic: Any, names: Sequence[str] | None) -> ParzenParameters:
        """Do the same as `fit`, with column names in error messages."""
        groups = statistic.by_group()
        columns = [
            self._fit_column(
                [_select_observed(rows, j) for rows in groups], None if names is None else names[j : j + 1]
            )
            for j in range(statistic.columns)
        ]
        return ParzenParameters(*(np.stack(fields, axis=1) for fields in zip(*columns, strict=True)))

    def _fit_column(self, classes: list[Points], names: Sequence[str] | None) -> ParzenParameters:
        """Return windows around the values of each class, of shape (classes,)."""
        kernel, every = smoothing_kernel_from(self.kernel), join_classes(classes)
        bandwidth, windows = np.full(len(classes), np.nan), np.full(len(classes), None)
        if len(every[0]) == 0 or (isinstance(self.bandwidth, str | Rule) and (every[0] == every[0][0]).all()):
            return ParzenParameters(bandwidth, windows)
        chosen = ClassBandwidths(self.bandwidth, kernel, classes, names=names)
        for c, (points, width) in enumerate(zip(classes, chosen.choose(), strict=True)):
            windows[c] = Windows(kernel, width, *_merge_equal_points(points if len(points[0]) else every))
            bandwidth[c] = _to_number(width)
        return ParzenParameters(bandwidth, windows)

    def log_density_inside(self, x: Array, parameters: ParzenParameters) -> Array:
        windows = np.asarray(parameters.windows, dtype=object)
        x = np.broadcast_to(x, np.broadcast_shapes(np.shape(x), windows.shape))
        result = np.zeros(x.shape)
        for place, each in np.ndenumerate(windows):
            if each is not None:
                index = _broadcast_index(place, windows.shape)
                result[index] = _log_density(each, x[index])
        return result

    def sample(self, parameters: ParzenParameters, n: int, rng: np.random.Generator) -> Array:
        windows = np.asarray(parameters.windows, dtype=object)
        draws = [np.full(n, np.nan) if each is None else each.sample(n, rng)[:, 0] for each in windows.flat]
        return np.reshape(np.transpose(draws), (n, *windows.shape))


def _select_observed(rows: Points, column: int) -> Points:
    points, weight = rows
    present = ~np.isnan(points[:, column])
    return points[present][:, [column]], None if weight is None else weight[present]


def _broadcast_index(place: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the index, in an array broadcast from `shape`, that corresponds to `place`."""
    return (..., *(slice(None) if size == 1 else index for index, size in zip(place, shape, strict=True)))


def _log_density(windows: Windows, x: Array) -> Array:
    """Return the log density of values of any shape; 0 for values that are not finite, which callers ignore."""
    result, finite = np.zeros(x.shape), np.isfinite(x)
    if finite.any():
        result[finite] = windows.log_density(x[finite][:, None])
    return result


def _merge_equal_points(points: Points) -> Points:
    """Merge points of equal value into one with the sum of their weights."""
    (x, weight), n = points, len(points[0])
    values, places = np.unique(x[:, 0], return_inverse=True)
    return points if len(values) == n else (values[:, None], np.bincount(places, weight).astype(float))


def _check_bandwidth(bandwidth: Any) -> Any:
    """Return a bandwidth such that equal ones compare equal: a number where possible."""
    if isinstance(bandwidth, str):
        rule_named(bandwidth)
    if isinstance(bandwidth, str | Rule):
        return bandwidth
    given = bandwidth if isinstance(bandwidth, Bandwidth) else Bandwidth(bandwidth)
    if np.size(given.value) != 1:
        raise BandwidthError(f"a Parzen family describes one column, whose bandwidth is one number; got {bandwidth!r}.")
    if given.sensitivity == 0:
        return _to_number(given)
    return Bandwidth(_to_number(given), given.method, given.sensitivity)


def _to_number(bandwidth: Bandwidth) -> float:
    """Return the width of a bandwidth of one column as a number."""
    value = float(np.ravel(bandwidth.value)[0])
    return float(np.sqrt(value)) if np.ndim(bandwidth.value) == 2 else value  # Σ holds squares
