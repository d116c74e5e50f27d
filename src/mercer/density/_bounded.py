"""Bounded supports, and kernel densities on them, which put no mass where a variable cannot be.

"reflect" folds space along the bounds, so that mass beyond a bound is added back inside; "transform" estimates
the density of log(x − low), −log(high − x) or the logit of x, which are unbounded.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, cast

import numpy as np
from scipy.special import expit

from mercer._errors import BandwidthError, SupportError
from mercer._stored import floats, part_of, sequence, stored
from mercer._typing import Array
from mercer.density._density import GRID_ERROR, Density, Rng
from mercer.density._windows import Windows
from mercer.report.wording import format_count

Boundary = Literal["reflect", "transform"]
#: most images of x along an axis; a kernel that needs more is so wide that the density is flat
MOST_IMAGES = 1000
#: exp overflows beyond this
EXP_OVERFLOW = 709.0
#: an image adds less than rounding if its log density is lower by this much
NEGLIGIBLE_LOG_SHARE = 40.0


@stored(low=floats("d"), high=floats("d"))
@dataclass(frozen=True, eq=False)
class Support:
    """Bounds of every column, which may be infinite, and their treatment."""

    low: Array
    high: Array
    boundary: Boundary = "reflect"

    @property
    def columns(self) -> int:
        return len(self.low)

    def over(self, keep: Sequence[int]) -> Support:
        """Return the bounds of some of the columns."""
        return Support(self.low[list(keep)], self.high[list(keep)], self.boundary)

    @property
    def is_bounded(self) -> bool:
        return bool((np.isfinite(self.low) | np.isfinite(self.high)).any())

    def contains(self, X: Array) -> Array:
        """Return whether each row lies within all bounds; the bounds themselves are included."""
        return np.asarray(((self.low <= X) & (self.high >= X)).all(axis=1))

    def check_inside(self, X: Array, names: Sequence[str]) -> None:
        """Raise an error for the first value outside the bounds; transformed bounds count as outside."""
        on_bounds = self.boundary == "reflect"
        bad = (self.low > X) | (self.high < X) if on_bounds else (self.low >= X) | (self.high <= X)
        if not bad.any():
            return
        row, column = np.argwhere(bad)[0]
        where = "outside" if on_bounds else "not strictly inside"
        remedy = "widen the support" if on_bounds else 'widen the support, use boundary="reflect"'
        raise SupportError(
            f"column {names[column]!r} is {X[row, column]:g} in row {row}, which is {where} the support "
            f"[{self.low[column]:g}, {self.high[column]:g}]; {remedy}, or drop the row."
        )

    def fold(self, X: Array) -> Array:
        """Reflect every x at the bounds until it lies between them."""
        folded = X.copy()
        for column, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            x = folded[:, column]
            if np.isfinite(low) and np.isfinite(high):
                width = high - low
                far = np.mod(x - low, 2 * width)
                x = low + np.where(far > width, 2 * width - far, far)
            elif np.isfinite(low):
                x = low + np.abs(x - low)
            elif np.isfinite(high):
                x = high - np.abs(high - x)
            folded[:, column] = np.clip(x, low, high)
        return folded

    def images(self, reach: Array) -> list[tuple[Array, Array]]:
        """Return the maps x → sign · x + shift that invert `fold`, as far as kernels reach beyond the bounds."""
        axes = [_images_of_axis(*bounds) for bounds in zip(self.low, self.high, reach, strict=True)]
        return [
            (np.array(signs), np.array(shifts)) for signs, shifts in (zip(*one, strict=True) for one in product(*axes))
        ]

    def forward(self, X: Array) -> Array:
        """Return unbounded coordinates, which increase with x; ±inf on the bounds and beyond."""
        return np.stack([_forward(x, *bounds) for x, *bounds in zip(X.T, self.low, self.high, strict=True)], axis=1)

    def backward(self, Y: Array) -> Array:
        """Return the inverse of `forward`, strictly inside the bounds."""
        return np.stack([_backward(y, *bounds) for y, *bounds in zip(Y.T, self.low, self.high, strict=True)], axis=1)

    def log_slope(self, X: Array) -> Array:
        """Return log ∏ dy/dx for rows strictly inside the bounds."""
        logs = np.zeros(len(X))
        for x, low, high in zip(X.T, self.low, self.high, strict=True):
            if np.isfinite(low):
                logs -= np.log(x - low)
            if np.isfinite(high):
                logs -= np.log(high - x)
            if np.isfinite(low) and np.isfinite(high):
                logs += np.log(high - low)
        return logs


def transform_points(X: Array, support: Support | None) -> Array:
    """Return the coordinates in which kernels are centred: transformed if the support says so."""
    return X if support is None or support.boundary == "reflect" else support.forward(X)


def support_from(given: Any, columns: int, boundary: str, names: Sequence[str]) -> Support | None:
    """Return the support from the parameter of an estimator; None if there are no bounds.

    Parameters
    ----------
    given : None, pair, sequence of pairs, or mapping
        (low, high) for all columns; one pair or None for each column; or pairs by the name or number of columns. A
        bound may be None or infinite.
    columns : int
        Number of columns.
    boundary : {"reflect", "transform"}
        Treatment of the bounds.
    names : sequence of str
        Column names, for error messages.
    """
    if given is None:
        return None
    pairs = _pairs(given, columns, names)
    bounds = np.array([_bounds(pair, name) for pair, name in zip(pairs, names, strict=True)])
    support = Support(bounds[:, 0], bounds[:, 1], cast(Boundary, boundary))
    return support if support.is_bounded else None


def _pairs(given: Any, columns: int, names: Sequence[str]) -> list[Any]:
    if isinstance(given, Mapping):
        places = dict(zip(names, range(columns), strict=True))
        pairs: list[Any] = [None] * columns
        for key, pair in given.items():
            place = places.get(key, key)
            if not isinstance(place, int | np.integer) or not 0 <= place < columns:
                raise SupportError(
                    f"support names the column {key!r}, but there are only {', '.join(map(repr, names))}."
                )
            pairs[place] = pair
        return pairs
    pairs = list(given) if isinstance(given, Sequence | np.ndarray) else [given]
    if len(pairs) == 2 and all(end is None or np.isscalar(end) for end in pairs) and pairs != [None, None]:
        return [pairs] * columns
    if len(pairs) != columns:
        raise SupportError(
            f"support has {len(pairs)} entries for {format_count(columns, 'column')}; give (low, high) for all, or one "
            "such pair or None for each."
        )
    return pairs


def _bounds(pair: Any, name: str) -> tuple[float, float]:
    if pair is None:
        return -np.inf, np.inf
    try:
        low, high = pair
        low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
    except (TypeError, ValueError):
        low = high = np.nan
    if not low < high:
        raise SupportError(f"{pair!r} is not a support of column {name!r}; give (low, high) with low < high, or None.")
    return low, high


def _images_of_axis(low: float, high: float, reach: float) -> list[tuple[float, float]]:
    if not np.isfinite(high):
        return [(1.0, 0.0), (-1.0, 2 * low)] if np.isfinite(low) else [(1.0, 0.0)]
    if not np.isfinite(low):
        return [(1.0, 0.0), (-1.0, 2 * high)]
    width = high - low
    if reach > MOST_IMAGES * width:
        raise BandwidthError(
            f"kernels reach {reach:g} beyond their points, {reach / width:.0f} times the width of the support "
            f"[{low:g}, {high:g}], so that the density is flat; narrow the bandwidth."
        )
    turns, mirrors = int((reach + width) / (2 * width)), int(np.ceil(reach / (2 * width)))
    shifted = [(1.0, 2 * k * width) for k in range(-turns, turns + 1)]
    return shifted + [(-1.0, 2 * low + 2 * k * width) for k in range(1 - mirrors, mirrors + 1)]


def _forward(x: Array, low: float, high: float) -> Array:
    y = np.zeros(len(x))
    with np.errstate(divide="ignore"):
        if np.isfinite(low):
            y = y + np.log(np.maximum(x - low, 0))
        if np.isfinite(high):
            y = y - np.log(np.maximum(high - x, 0))
    return y if np.isfinite(low) or np.isfinite(high) else x


def _backward(y: Array, low: float, high: float) -> Array:
    if np.isfinite(low) and np.isfinite(high):
        # measured from the nearer end, so that no digits cancel
        width = high - low
        x = np.where(y < 0, low + width * expit(y), high - width * expit(-y))
    elif np.isfinite(low):
        x = low + np.exp(np.minimum(y, EXP_OVERFLOW))
    elif np.isfinite(high):
        x = high - np.exp(np.minimum(-y, EXP_OVERFLOW))
    else:
        return y
    return np.clip(x, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))


# Densities.


def on_support(windows: Windows, support: Support | None) -> Density:
    """Return the density of `windows` within the bounds; for a transformed support their points are transformed."""
    if support is None or not support.is_bounded:
        return windows
    return Reflected(windows, support) if support.boundary == "reflect" else Transformed(windows, support)


class _OnSupport(Density):
    """Base class of densities on a bounded support."""

    def __init__(self, windows: Windows, support: Support) -> None:
        self.windows, self.support = windows, support

    @property
    def columns(self) -> int:
        return self.windows.columns

    @property
    def weight(self) -> Array | None:
        return self.windows.weight

    def marginal(self, keep: Sequence[int]) -> Density:
        return on_support(self.windows.marginal(keep), self.support.over(keep))

    def conditional(self, given: Mapping[int, float]) -> Density:
        check_conditions(self.support, given)
        values = np.array([[given[column] for column in given]], dtype=float)
        keep = [column for column in range(self.columns) if column not in given]
        return on_support(self._slice(list(given), values), self.support.over(keep))

    @abstractmethod
    def _slice(self, A: list[int], values: Array) -> Windows:
        """Return the windows of the other columns, given values of the columns A."""


@stored(windows=part_of(Windows, d="d"), support=part_of(Support, d="d"), _images=sequence("d"))
class Reflected(_OnSupport):
    """Density of x after folding space along the bounds: p(x) = Σ over images x' of x of p₀(x').

    One bound yields two images. Two bounds yield infinitely many, of which those are counted that
    a kernel reaches with more than 1e-16 of its mass, so that the density integrates to one within rounding.

    Parameters
    ----------
    windows : Windows
        The unbounded density p₀.
    support : Support
        Bounds of the columns.
    """

    def __init__(self, windows: Windows, support: Support) -> None:
        super().__init__(windows, support)
        self._images = support.images(windows.span * windows.widest * windows.scales)

    @property
    def centres(self) -> Array:
        return self.windows.points

    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        inside = self.support.contains(X)
        logs, atol = np.full(len(X), -np.inf), atol / len(self._images)
        held = X[inside]
        log_densities = self.windows.log_density(held, rtol=rtol, atol=atol)
        for image in self._yield_images(held, itself=False):
            some = np.flatnonzero(self.windows.log_density_at_most(image) > log_densities - NEGLIGIBLE_LOG_SHARE)
            log_densities[some] = np.logaddexp(
                log_densities[some], self.windows.log_density(image[some], rtol=rtol, atol=atol)
            )
        logs[inside] = log_densities
        return logs

    def log_curve(self, x: Array) -> Array:
        logs = _log_sum(self.windows.log_curve(sign[0] * x + shift[0]) for sign, shift in self._images)
        return np.where(self.support.contains(x[:, None]), logs, -np.inf)

    def density_within(self, X: Array, atol: float) -> Array:
        inside, result = np.flatnonzero(self.support.contains(X)), np.zeros(len(X))
        atol /= len(self._images)
        for image in self._yield_images(X[inside]):
            some = self.windows.log_density_at_most(image) > np.log(atol)
            result[inside[some]] += self.windows.density_within(image[some], atol)
        return result

    def log_density_left_out(self) -> Array:
        return _log_sum(self.windows.log_density_left_out(image) for image in self._yield_images(self.windows.points))

    def _yield_images(self, X: Array, *, itself: bool = True) -> Any:
        """Yield the images of the rows one by one; the rows themselves are left out unless `itself` is true."""
        for sign, shift in self._images:
            if itself or (sign < 0).any() or shift.any():
                yield sign * X + shift

    def sample(self, n: int, rng: Rng) -> Array:
        return self.support.fold(self.windows.sample(n, rng))

    def probability(self, low: Array, high: Array) -> Array:
        low, high = np.maximum(low, self.support.low), np.minimum(high, self.support.high)
        low = np.minimum(low, high)  # a box outside of the support is empty
        total = np.zeros(len(low))
        for sign, shift in self._images:
            ends = sign * low + shift, sign * high + shift
            total += self.windows.probability(np.minimum(*ends), np.maximum(*ends))
        return np.minimum(total, 1.0)

    def _slice(self, A: list[int], values: Array) -> Windows:
        images = self.support.over(A).images((self.windows.span * self.windows.widest * self.windows.scales)[A])
        slices = [self.windows.sliced(_by_column(A, sign * values + shift)) for sign, shift in images]
        return self.windows.from_slices(slices, _by_column(A, values))

    def extent(self, reach: float) -> tuple[Array, Array]:
        low, high = self.windows.extent(reach)
        return np.maximum(low, self.support.low), np.minimum(high, self.support.high)

    def ends(self) -> tuple[Array, Array]:
        low, high = self.windows.ends()
        return np.maximum(low, self.support.low), np.minimum(high, self.support.high)

    def probes(self) -> Array:
        places = self.windows.probes()[:, None]
        # a reflected kernel bends the density near a bound
        return np.unique([np.clip(places, self.support.low, self.support.high), self.support.fold(places)])


@stored(windows=part_of(Windows, d="d"), support=part_of(Support, d="d"))
class Transformed(_OnSupport):
    """Density p(x) = q(y(x)) ∏ dy/dx for a kernel density q of transformed points y (Silverman 1986, 2.10).

    Parameters
    ----------
    windows : Windows
        The density q of the transformed points.
    support : Support
        Bounds of the columns.
    """

    @property
    def centres(self) -> Array:
        return self.support.backward(self.windows.points)

    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        # an absolute tolerance would depend on the slope; a relative one does not
        return self._with_slope(X, lambda Y: self.windows.log_density(Y, rtol=rtol))

    def log_curve(self, x: Array) -> Array:
        return self._with_slope(x[:, None], lambda Y: self.windows.log_curve(Y[:, 0]))

    def density_within(self, X: Array, atol: float) -> Array:
        # the slope is unbounded, so that errors are kept small relative to the density
        return np.exp(self.log_density(X, rtol=GRID_ERROR))

    def _with_slope(self, X: Array, log_density: Callable[[Array], Array]) -> Array:
        """Return log q(y(x)) ∏ dy/dx strictly inside the bounds, and −inf elsewhere."""
        inside = ((self.support.low < X) & (self.support.high > X)).all(axis=1)
        logs, held = np.full(len(X), -np.inf), X[inside]
        logs[inside] = log_density(self.support.forward(held)) + self.support.log_slope(held)
        return logs

    def log_density_left_out(self) -> Array:
        return self.windows.log_density_left_out() + self.support.log_slope(self.centres)

    def sample(self, n: int, rng: Rng) -> Array:
        return self.support.backward(self.windows.sample(n, rng))

    def probability(self, low: Array, high: Array) -> Array:
        return self.windows.probability(self.support.forward(low), self.support.forward(high))

    def quantile(self, q: Any) -> Array:
        quantiles = np.asarray(self.windows.quantile(q))
        inner = self.support.backward(np.nan_to_num(quantiles.reshape(-1, 1))).reshape(quantiles.shape)
        bounds = np.where(quantiles < 0, self.support.low[0], self.support.high[0])
        return np.where(np.isinf(quantiles), bounds, inner)

    def _slice(self, A: list[int], values: Array) -> Windows:
        others = self.windows.sliced(_by_column(A, self.support.over(A).forward(values)))
        return self.windows.from_slices([others], _by_column(A, values))

    def extent(self, reach: float) -> tuple[Array, Array]:
        low, high = self.support.backward(np.stack(self.windows.extent(reach)))
        return low, high

    def ends(self) -> tuple[Array, Array]:
        low, high = self.windows.ends()
        inner = self.support.backward(np.nan_to_num(np.stack([low, high])))
        return np.where(np.isinf(low), self.support.low, inner[0]), np.where(
            np.isinf(high), self.support.high, inner[1]
        )

    def probes(self) -> Array:
        return np.unique(self.support.backward(self.windows.probes()[:, None])[:, 0])


def check_conditions(support: Support, given: Mapping[int, float], names: Sequence[str] | None = None) -> None:
    """Raise an error if a condition lies outside the support, where the density is 0."""
    for column, value in given.items():
        low, high = support.low[column], support.high[column]
        inside = low <= value <= high if support.boundary == "reflect" else low < value < high
        if not inside:
            raise SupportError(
                f"column {column if names is None else repr(names[column])} was given as {value:g}, which lies outside "
                f"of its support [{low:g}, {high:g}]; give a value inside, where the density is not 0."
            )


def _by_column(A: list[int], values: Array) -> dict[int, float]:
    """Return a row of values with column numbers as keys."""
    return dict(zip(A, values[0].tolist(), strict=True))


def _log_sum(logs: Any) -> Array:
    """Return log Σ exp of several arrays, elementwise."""
    total: Array | None = None
    for one in logs:
        total = one if total is None else np.logaddexp(total, one)
    assert total is not None
    return total
