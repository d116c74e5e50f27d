"""Columns of numbers, independent given the class, that are described by kernels around their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import NoLinearFormError
from mercer._stored import flags, floats, part_of, reals, sequence, stored, whole
from mercer._typing import Array
from mercer.models.generative.parts._base import Smoothing
from mercer.models.generative.parts.numbers import NumbersConditional, NumbersPart
from mercer.models.linear_forms.pieces import LinearPiece
from mercer.smoothing import Parzen
from mercer.stats import Rows


@stored(columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class WindowsPart(NumbersPart):
    """Parzen windows of every class and column. Nothing is smoothed but by their bandwidth."""

    def fit(self, statistic: Rows, smoothing: Smoothing) -> WindowsConditional:
        assert isinstance(self.family, Parzen)
        parameters = self.family.fit_named(statistic, self.names)
        informative = np.array([windows is not None for windows in parameters.windows[0]])
        rows = statistic.rows.sum(axis=0)
        return WindowsConditional(self, parameters, informative, rows, _any_value(statistic.together.points))


@stored(part=part_of(WindowsPart, d="d"), informative=flags("d"), rows=reals("d"), value=floats("d"))
@dataclass(frozen=True)
class WindowsConditional(NumbersConditional):
    """Windows of shape (classes, columns)."""

    #: a value of each column: the only one, where there are no windows
    value: Array

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        return np.where(self.informative, super().sample(codes, rng), self.value)

    def tables(self, classes: list[Any]) -> dict[Any, dict[Any, dict[Any, Any]]]:
        """Column -> class -> the bandwidth, and how many values have a window."""
        bandwidth, windows = self.parameters
        return {
            name: {label: _described(bandwidth[c, j], windows[c, j]) for c, label in enumerate(classes)}
            for j, name in enumerate(self.part.names)
        }

    def linear_piece(self, n_rows: int) -> LinearPiece:
        raise NoLinearFormError(
            f"column {self.part.names[0]!r} is described by {self.part.family!r}: the logarithm of a sum of kernels is "
            "linear in no features that are the same for all classes. Describe it by a family with parameters, such as "
            "Gaussian(), or by Histogram(), whose features are its bins."
        )


def _any_value(points: Array) -> Array:
    """The first value of each column; NaN where there is none."""
    seen = ~np.isnan(points)
    first = points[np.argmax(seen, axis=0), np.arange(points.shape[1])] if len(points) else np.zeros(0)
    return np.asarray(first)


def _described(bandwidth: float, windows: Any) -> dict[str, Any]:
    return {"bandwidth": float(bandwidth), "windows": 0 if windows is None else len(windows.points)}
