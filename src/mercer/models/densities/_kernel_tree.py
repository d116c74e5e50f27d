"""Kernel densities of another metric than the Euclidean: scikit-learn's trees compute them."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from sklearn.neighbors import VALID_METRICS, BallTree, KDTree

from mercer._errors import BandwidthError, DataError, KernelError, NoClosedFormError
from mercer._typing import Array
from mercer.models.densities._kernel_rows import Rows
from mercer.smoothing import Gaussian, SmoothingKernel, Uniform, Windows
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.density import Rng

TREES = {"kd_tree": KDTree, "ball_tree": BallTree}
METRICS = set(chain(*(VALID_METRICS[name] for name in TREES)))
#: names that scikit-learn has for the kernels that it has
NAMES = {"uniform": "tophat", "triangular": "linear"}
KNOWN = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


def tree_for(algorithm: str, metric: str) -> Any:
    """The tree that scikit-learn would grow."""
    if algorithm == "auto":
        algorithm = "kd_tree" if metric in KDTree.valid_metrics else "ball_tree"
    if metric not in TREES[algorithm].valid_metrics:
        raise DataError(f"invalid metric for {TREES[algorithm]}: '{metric}'. Use algorithm='auto'.")
    return TREES[algorithm]


def is_euclidean(metric: str, params: dict[str, Any] | None) -> bool:
    """Whether a metric, with its parameters, is the length of the difference."""
    if metric in ("minkowski", "p"):
        return set(params or {}) <= {"p"} and (params or {}).get("p", 2) == 2
    return metric in ("euclidean", "l2") and not params


class TreeDensity:
    """What scikit-learn's `KernelDensity` computes: its normaliser is right for the Euclidean metric only.

    Parameters
    ----------
    tree : BallTree or KDTree
        A tree of the rows.
    kernel : SmoothingKernel
        One of those that scikit-learn has.
    bandwidth : Bandwidth
        A number.
    rows : Rows
        The points.
    breadth_first : bool
        How the tree is searched.
    """

    def __init__(
        self, tree: Any, kernel: SmoothingKernel, bandwidth: Bandwidth, rows: Rows, breadth_first: bool
    ) -> None:
        self.name = NAMES.get(kernel.name, kernel.name)
        if self.name not in KNOWN or kernel.form != "radial":
            raise KernelError(
                f"the {kernel.form} {kernel.name} kernel goes with the Euclidean metric only; other metrics take "
                f"{', '.join(KNOWN)}."
            )
        if np.ndim(bandwidth.value) or bandwidth.sensitivity:
            raise BandwidthError("a metric other than the Euclidean takes one bandwidth, a number for all points.")
        self.tree, self.kernel, self.bandwidth, self.rows = tree, kernel, bandwidth, rows
        self.breadth_first = breadth_first

    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        """Log density of every row."""
        total = float(self.rows.weights.sum())
        logs: Array = self.tree.kernel_density(
            X, h=self.bandwidth.value, kernel=self.name, atol=atol * total, rtol=rtol,
            breadth_first=self.breadth_first, return_log=True,
        )  # fmt: skip
        return np.asarray(logs - np.log(total))

    def sample(self, n: int, rng: Rng) -> Array:
        """As scikit-learn draws: steps are Euclidean whatever the metric is."""
        if not isinstance(self.kernel, Gaussian | Uniform):
            raise NoClosedFormError(
                f"the {self.name} kernel cannot be drawn from in another metric; use the Euclidean one, or the "
                "Gaussian or tophat kernel."
            )
        return Windows(self.kernel, self.bandwidth, self.rows.X, self.rows.weight).sample(n, rng)
