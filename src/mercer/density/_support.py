"""Bounded supports, which keep a density from putting mass where a variable cannot be.

"reflect" folds space along the bounds, so that mass beyond a bound is added back inside; "transform" estimates
the density of log(x − low), −log(high − x) or the logit of x, which are unbounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, cast

import numpy as np
from scipy.special import expit

from mercer._errors import BandwidthError, SupportError
from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.report.wording import format_count

Boundary = Literal["reflect", "transform"]
#: most images of x along an axis; a kernel that needs more is so wide that the density is flat
MOST_IMAGES = 1000
#: exp overflows beyond this
LARGEST = 709.0


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

    def refuse_outside(self, X: Array, names: Sequence[str]) -> None:
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
        x = low + np.exp(np.minimum(y, LARGEST))
    elif np.isfinite(high):
        x = high - np.exp(np.minimum(-y, LARGEST))
    else:
        return y
    return np.clip(x, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
