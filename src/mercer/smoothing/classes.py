"""Bandwidths of classes: each its own, unless it has too few points, or no spread, to choose one from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mercer._errors import BandwidthError
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.rules import bandwidth_from

#: points, and the weight of each; None if all are 1
Points = tuple[Array, Array | None]


class ClassBandwidths:
    """How wide kernels around the points of several classes are to be.

    Parameters
    ----------
    asked : number, array, Bandwidth, Rule or str
        What `bandwidth_from` takes.
    kernel : SmoothingKernel
        What is to be laid around the points.
    classes : list of (points, weight)
        Those of each class, which may have none.
    names : sequence of str, default=None
        What the columns are called in messages.
    """

    def __init__(
        self, asked: Any, kernel: SmoothingKernel, classes: list[Points], *, names: Sequence[str] | None = None
    ) -> None:
        self.asked, self.kernel, self.classes, self.names = asked, kernel, classes, names

    def own(self) -> list[Bandwidth]:
        """The bandwidth chosen from each class; where that cannot be, the common one."""
        return [self._of(points) or self.common for points in self.classes]

    @cached_property
    def common(self) -> Bandwidth:
        """Chosen from all points, each relative to the mean of its class.

        Where that leaves no spread, because every class sits in one place, from all points as they are.
        """
        return self._of(together([_centred(points) for points in self.classes])) or self._chosen(together(self.classes))

    def _of(self, points: Points) -> Bandwidth | None:
        try:
            return self._chosen(points)
        except BandwidthError:
            return None

    def _chosen(self, points: Points) -> Bandwidth:
        return bandwidth_from(self.asked, *points, self.kernel, names=self.names)


def together(classes: list[Points]) -> Points:
    """The points of all classes."""
    points = np.concatenate([each for each, _ in classes])
    if all(weight is None for _, weight in classes):
        return points, None
    return points, np.concatenate([np.ones(len(each)) if weight is None else weight for each, weight in classes])


def _centred(of_class: Points) -> Points:
    points, weight = of_class
    if not len(points):
        return of_class
    # a class in one place is to have no spread to the last bit, which a mean does not promise
    with np.errstate(over="ignore", invalid="ignore"):  # which `Spread` refuses, by name
        about = points - points[0]
        return about - np.average(about, axis=0, weights=weight), weight
