"""Prediction intervals for new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._gpu import to_numpy
from mercer._typing import Array
from mercer.data.frame_like import frame_like


@dataclass(frozen=True, eq=False)
class PredictionInterval:
    """Mean and both ends of an interval for each row, or each row and class; tensors where the rows were a tensor.

    Examples
    --------
    >>> from mercer import NadarayaWatson
    >>> model = NadarayaWatson(bandwidth=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> interval = model.predict_interval([[1.0]], 0.9)
    >>> interval.mean, bool(interval.lower[0] < 1 < interval.upper[0])
    (array([1.]), True)
    """

    mean: Any
    lower: Any
    upper: Any
    level: float
    kind: str

    def frame(self, library: str = "pandas") -> Any:
        """Return a data frame of any library; for classes, names of columns end in the number of the class."""
        columns: dict[str, Array] = {}
        for name in ("mean", "lower", "upper"):
            values = to_numpy(getattr(self, name))
            if values.ndim == 2:
                columns |= {f"{name}_{k}": column for k, column in enumerate(values.T)}
            else:
                columns[name] = values
        return frame_like(list(columns), list(columns.values()), library)
