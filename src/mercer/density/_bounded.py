"""Kernel densities on a bounded support: reflected at the bounds, or estimated from transformed points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mercer._errors import SupportError
from mercer._stored import part_of, sequence, stored
from mercer._typing import Array
from mercer.density._density import GRID_ERROR, Density, Rng
from mercer.density._support import Support
from mercer.density._windows import Windows

#: an image adds less than rounding if its log density is lower by this much
NEGLIGIBLE = 40.0


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
        refuse_given(self.support, given)
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
        found = self.windows.log_density(held, rtol=rtol, atol=atol)
        for image in self._yield_images(held, itself=False):
            some = np.flatnonzero(self.windows.log_density_at_most(image) > found - NEGLIGIBLE)
            found[some] = np.logaddexp(found[some], self.windows.log_density(image[some], rtol=rtol, atol=atol))
        logs[inside] = found
        return logs

    def log_curve(self, x: Array) -> Array:
        logs = _log_sum(self.windows.log_curve(sign[0] * x + shift[0]) for sign, shift in self._images)
        return np.where(self.support.contains(x[:, None]), logs, -np.inf)

    def density_within(self, X: Array, atol: float) -> Array:
        inside, found = np.flatnonzero(self.support.contains(X)), np.zeros(len(X))
        atol /= len(self._images)
        for image in self._yield_images(X[inside]):
            some = self.windows.log_density_at_most(image) > np.log(atol)
            found[inside[some]] += self.windows.density_within(image[some], atol)
        return found

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
        found = np.asarray(self.windows.quantile(q))
        inner = self.support.backward(np.nan_to_num(found.reshape(-1, 1))).reshape(found.shape)
        bounds = np.where(found < 0, self.support.low[0], self.support.high[0])
        return np.where(np.isinf(found), bounds, inner)

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


def refuse_given(support: Support, given: Mapping[int, float], names: Sequence[str] | None = None) -> None:
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
