"""Windows on a bounded support: folded along its bounds, or laid around transformed points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import SupportError
from mercer.smoothing.density import Density, Rng
from mercer.smoothing.support import Support
from mercer.smoothing.windows import Windows

Array = NDArray[Any]


def on_support(windows: Windows, support: Support | None) -> Density:
    """`windows`, kept within the bounds; the points of a transformed support are transformed ones."""
    if support is None or not support.is_bounded:
        return windows
    return Reflected(windows, support) if support.boundary == "reflect" else Transformed(windows, support)


class Reflected(Density):
    """The density of x after folding space along the bounds: p(x) = Σ over images x' of x of p₀(x').

    With one bound there are two images. Between two bounds there are infinitely many, of which those are counted that
    a kernel reaches with more than 1e-16 of its mass: the density integrates to one, to rounding.

    Parameters
    ----------
    windows : Windows
        p₀, without bounds.
    support : Support
        The bounds.
    """

    def __init__(self, windows: Windows, support: Support) -> None:
        self.windows, self.support = windows, support
        self._images = support.images(windows.span * windows.widest * windows.scales)

    @property
    def columns(self) -> int:
        return self.windows.columns

    @property
    def centres(self) -> Array:
        return self.windows.points

    @property
    def weight(self) -> Array | None:
        return self.windows.weight

    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        inside = self.support.contains(X)
        logs = np.full(len(X), -np.inf)
        logs[inside] = _log_sum(
            self.windows.log_density(image, rtol=rtol, atol=atol / len(self._images)) for image in self._of(X[inside])
        )
        return logs

    def log_density_left_out(self) -> Array:
        return _log_sum(self.windows.log_density_left_out(image) for image in self._of(self.windows.points))

    def _of(self, X: Array) -> Any:
        return (sign * X + shift for sign, shift in self._images)

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

    def marginal(self, keep: Sequence[int]) -> Density:
        return on_support(self.windows.marginal(keep), self.support.over(keep))

    def conditional(self, given: Mapping[int, float]) -> Density:
        A = list(given)
        refuse_given(self.support, given)
        images = self.support.over(A).images((self.windows.span * self.windows.widest * self.windows.scales)[A])
        values = np.array([given[column] for column in A], dtype=float)
        slices = [
            self.windows.sliced(dict(zip(A, (sign * values + shift).tolist(), strict=True))) for sign, shift in images
        ]
        keep = [column for column in range(self.columns) if column not in given]
        return on_support(self.windows.from_slices(slices, given), self.support.over(keep))

    def extent(self, reach: float) -> tuple[Array, Array]:
        low, high = self.windows.extent(reach)
        return np.maximum(low, self.support.low), np.minimum(high, self.support.high)

    def ends(self) -> tuple[Array, Array]:
        low, high = self.windows.ends()
        return np.maximum(low, self.support.low), np.minimum(high, self.support.high)

    def probes(self) -> Array:
        return np.unique(np.clip(self.windows.probes(), self.support.low[0], self.support.high[0]))


class Transformed(Density):
    """p(x) = q(y(x)) ∏ dy/dx for windows q of transformed points y (Silverman 1986, 2.10).

    Parameters
    ----------
    windows : Windows
        q, around transformed points.
    support : Support
        The bounds.
    """

    def __init__(self, windows: Windows, support: Support) -> None:
        self.windows, self.support = windows, support

    @property
    def columns(self) -> int:
        return self.windows.columns

    @property
    def centres(self) -> Array:
        return self.support.backward(self.windows.points)

    @property
    def weight(self) -> Array | None:
        return self.windows.weight

    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        # an absolute tolerance would have to know the slope, and a relative one does as well
        inside = ((self.support.low < X) & (self.support.high > X)).all(axis=1)
        logs = np.full(len(X), -np.inf)
        held = X[inside]
        logs[inside] = self.windows.log_density(self.support.forward(held), rtol=rtol) + self.support.log_slope(held)
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

    def marginal(self, keep: Sequence[int]) -> Density:
        return on_support(self.windows.marginal(keep), self.support.over(keep))

    def conditional(self, given: Mapping[int, float]) -> Density:
        A = list(given)
        refuse_given(self.support, given)
        values = np.array([[given[column] for column in A]], dtype=float)
        moved = dict(zip(A, self.support.over(A).forward(values)[0].tolist(), strict=True))
        keep = [column for column in range(self.columns) if column not in given]
        return on_support(self.windows.conditional(moved), self.support.over(keep))

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


def refuse_given(support: Support, given: Mapping[int, float]) -> None:
    """A condition outside of the support has probability 0."""
    for column, value in given.items():
        low, high = support.low[column], support.high[column]
        inside = low <= value <= high if support.boundary == "reflect" else low < value < high
        if not inside:
            raise SupportError(
                f"column {column} was given as {value:g}, which lies outside of its support [{low:g}, {high:g}]."
            )


def _log_sum(logs: Any) -> Array:
    """log Σ exp, one array after the other."""
    total: Array | None = None
    for one in logs:
        total = one if total is None else np.logaddexp(total, one)
    assert total is not None
    return total
