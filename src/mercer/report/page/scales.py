"""Linear, logarithmic and category scales, which map values to positions in a drawing, and their ticks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.report.page.numbers import write_power_of_ten, write_tick
from mercer.report.records import Axis

#: values are clipped to ±1e300, so that sums and differences do not overflow
_MAX_VALUE = 1e300
#: distances of ticks, as multiples of a power of ten
_TICK_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Tick(NamedTuple):
    value: float
    label: str


class AxisScale(NamedTuple):
    """A map of values between `low` and `high` to positions between `start` and `stop`."""

    axis: Axis
    low: float
    high: float
    start: float
    stop: float

    def place(self, value: float) -> float:
        """Return the position of a value."""
        return self.place_all([value])[0]

    def place_all(self, values: Any) -> list[float]:
        """Return positions of values: NaN for NaN, infinities and, on a logarithmic axis, values not above 0."""
        given = np.asarray(values, dtype=float)
        valid = np.isfinite(given) & ((given > 0) | (not self._is_log))
        at = np.where(valid, given, self.low).clip(-_MAX_VALUE, _MAX_VALUE)
        bottom, top = self._transform(self.low), self._transform(self.high)
        with np.errstate(over="ignore"):  # distant values are clipped anyway
            shares = (((np.log10(at) if self._is_log else at) - bottom) / (top - bottom)).clip(-50, 50)
        positions: list[float] = np.where(valid, self.start + shares * (self.stop - self.start), np.nan).tolist()
        return positions

    @property
    def _is_log(self) -> bool:
        return self.axis.scale == "log"

    def _transform(self, value: float) -> float:
        return math.log10(value) if self._is_log else value

    def ticks(self, most: int) -> list[Tick]:
        """Return about `most` ticks."""
        if self.axis.scale == "category":
            return [Tick(i, name) for i, name in enumerate(self.axis.names)]
        if self._is_log and self.high / self.low >= 5:
            return _log_ticks(self.low, self.high, most)
        return _linear_ticks(self.low, self.high, most)

    def minor_ticks(self) -> list[float]:
        """Return the grid lines of a logarithmic axis between its ticks."""
        if not self._is_log or not 5 <= self.high / self.low <= 1e5:
            return []
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)))
        return [v for p in powers for m in range(1, 10) if self.low <= (v := m * 10.0**p) <= self.high]


def make_scale(axis: Axis, values: NDArray[Any], start: float, stop: float) -> AxisScale:
    """Return the scale that shows all finite values with a small margin, unless the axis sets limits."""
    if axis.scale == "category":
        return AxisScale(axis, -0.5, max(len(axis.names), 1) - 0.5, start, stop)
    shown = values[np.isfinite(values) & ((values > 0) | (axis.scale != "log"))].clip(-_MAX_VALUE, _MAX_VALUE)
    low, high = (float(shown.min()), float(shown.max())) if shown.size else (1.0, 1.0)
    low, high = _log_limits(axis, low, high) if axis.scale == "log" else _limits(axis, low, high)
    return AxisScale(axis, low, high, start, stop)


def _limits(axis: Axis, low: float, high: float) -> tuple[float, float]:
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    # no margin beyond 0 and 1 for values close to them
    bottom = 0.0 if 0 <= low < 2 * margin else low - margin
    top = 1.0 if 1 - margin <= high <= 1 and low >= 0 else high + margin
    bottom, top = axis.low if axis.low is not None else bottom, axis.high if axis.high is not None else top
    return (bottom, top) if top > bottom else (bottom, math.nextafter(bottom + abs(bottom) * 1e-9 + 1e-9, math.inf))


def _log_limits(axis: Axis, low: float, high: float) -> tuple[float, float]:
    margin = max(10 ** (0.04 * (math.log10(high) - math.log10(low))), 1.05)
    bottom = axis.low if axis.low and axis.low > 0 else max(low / margin, 1 / _MAX_VALUE)
    top = axis.high if axis.high and axis.high > bottom else min(high * margin, _MAX_VALUE)
    return (bottom, top) if top > bottom else (bottom, 2 * bottom)


def _linear_ticks(low: float, high: float, most: int) -> list[Tick]:
    step = _nice((high - low) / max(most, 1))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last - first > 2 * most:  # float64 does not resolve the ticks: the axis is too short for its distance from 0
        return [Tick(low, write_tick(low, abs(low) or 1.0))]
    return [Tick(i * step, write_tick(i * step, step)) for i in range(first, last + 1)]


def _nice(step: float) -> float:
    """Return the least of 1, 2, 2.5, 5 times a power of ten that is not below a step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(nice * power for nice in _TICK_STEPS if nice * power >= step * (1 - 1e-9))


def _log_ticks(low: float, high: float, most: int) -> list[Tick]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    powers = range(first, last + 1, max(1, math.ceil((last - first + 1) / most)))
    if len(powers) >= 3 or (high / low) >= 1e3:
        return [_log_tick(10.0**p) for p in powers]
    values = [m * 10.0**p for p in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [_log_tick(v) for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]


def _log_tick(value: float) -> Tick:
    return Tick(value, f"{value:,g}" if 1e-3 <= value < 1e6 else write_power_of_ten(value))
