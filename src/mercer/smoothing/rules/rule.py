"""What a rule is: something that chooses a bandwidth from points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mercer._errors import BandwidthError
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import Gaussian, SmoothingKernel

#: one number for all axes, a number for each, or a matrix that turns with the data
Shape = Literal["one", "axes", "matrix"]
SHAPES = ("one", "axes", "matrix")


@dataclass(frozen=True)
class Rule(ABC):
    """Chooses a bandwidth from points: the data times c give the bandwidth times c.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Gaussian, Scott
    >>> rows = np.random.default_rng(0).normal(size=(100, 1))
    >>> print(Scott().choose(rows, None, Gaussian()))
    h = 0.385, by scott-scaled
    >>> print(Scott().choose(10 * rows, None, Gaussian()))
    h = 3.85, by scott-scaled
    """

    @abstractmethod
    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        """The bandwidth for these points.

        Parameters
        ----------
        X : array of shape (n, d)
            The points.
        weight : array of shape (n,) or None
            Of each point.
        kernel : SmoothingKernel
            What is to be laid around them.
        names : sequence of str, default=None
            What the columns are called in messages.

        Returns
        -------
        Bandwidth
            With the method and, where one was optimised, the criterion.
        """


@dataclass(frozen=True)
class ShapedRule(Rule):
    """A rule that is told which form of bandwidth to choose.

    Parameters
    ----------
    shape : {"axes", "one", "matrix"}, default="axes"
        A width for each axis, one for all of them, or a multiple of the covariance matrix.
    """

    shape: Shape = "axes"

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise BandwidthError(
                f"a bandwidth has no shape {quoted(self.shape)}. {did_you_mean(str(self.shape), SHAPES)}"
            )


def canonical(kernel: SmoothingKernel, columns: int) -> float:
    """How many times as wide as a Gaussian's the bandwidth of a kernel has to be to smooth as much."""
    if isinstance(kernel, Gaussian):
        return 1.0
    return kernel.canonical(columns) / Gaussian().canonical(columns)
