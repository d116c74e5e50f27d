"""Intervals for new rows, as estimators return them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._gpu import to_numpy
from mercer._typing import Array
from mercer.data.frame_like import frame_like


@dataclass(frozen=True, eq=False)
class PredictionInterval:
    """Mean and both ends for each row; for classes, for each row and class. Tensors where rows were one."""

    mean: Any
    lower: Any
    upper: Any
    level: float
    kind: str

    def frame(self, library: str = "pandas") -> Any:
        """One row for each row, as a frame of any library; for classes, columns end in the number of the class."""
        columns: dict[str, Array] = {}
        for name in ("mean", "lower", "upper"):
            values = to_numpy(getattr(self, name))
            of_classes = {f"{name}_{k}": column for k, column in enumerate(values.T)} if values.ndim == 2 else {}
            columns |= of_classes or {name: values}
        return frame_like(list(columns), list(columns.values()), library)
