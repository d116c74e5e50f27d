"""Sums of smoothing kernels for queries that are tensors, on their device; the points are copied there once.

Sums that underflow the type of the queries are computed again in float64 and in log space.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._gpu import like, to_numpy
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._gpu.distances import from_products, squared_distances
from mercer._gpu.profiles import TensorProfile
from mercer._gpu.sums import TensorKernelSums
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth
from mercer.density._kernels import SmoothingKernel
from mercer.density._mixed import MixedRows
from mercer.density._regression import LocalFit, LocalMeans
from mercer.density._windows import Windows

Tensor = Any

#: bandwidths from the origin, by the bytes of a number, at which squared distances do not overflow float64
FARTHEST_COORDINATES = {4: 1e37, 8: 1e150}
#: a sum is computed again if underflowing terms could amount to more than the reciprocal of this share of it
UNDERFLOW_SHARE = 1e8


def has_tensor_sums(kernel: SmoothingKernel, bandwidth: Bandwidth | None, columns: int) -> bool:
    """Return whether sums for tensors are computed on their device: radial kernels of constant width."""
    radial = kernel.form == "radial" or kernel.name == "gaussian" or columns == 1
    return bandwidth is not None and bandwidth.sensitivity == 0 and radial


class TensorPoints(NamedTuple):
    """Points on a device, in units of the bandwidth."""

    profile: TensorProfile
    bandwidth: Bandwidth
    origin: Array
    #: coordinates in the type of the queries
    points: Tensor
    #: weights, and weights times each of the values, in float64
    sides: Tensor

    @classmethod
    def of(
        cls, kernel: SmoothingKernel, bandwidth: Bandwidth, origin: Array, points: Array, sides: Array, X: Tensor
    ) -> TensorPoints:
        import torch

        rate = {"gaussian": 0.5}.get(kernel.name, 1.0)
        copied = _clip(like(points, X, dtype=torch.float64), X.element_size()).to(X.dtype)
        return cls(TensorProfile(kernel.name, rate), bandwidth, origin, copied, like(sides, X, dtype=torch.float64))

    def sums(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Return log sums of the first side, and ratios of the others to it; −inf and NaN out of reach."""
        queries = self._in_bandwidths(X)
        sums = TensorKernelSums(self.profile, queries.to(X.dtype), self.points).matvec(self.sides)
        logs, means = sums[:, 0].log(), sums[:, 1:] / sums[:, :1]
        if not self.profile.ends:
            import torch

            least = torch.finfo(X.dtype).tiny * UNDERFLOW_SHARE * len(self.points) * self.sides[:, 0].amax()
            lost = (~(sums[:, 0] >= least)).nonzero()[:, 0]
            self._put_lost(queries, lost, logs, means)
        return logs, means

    def _put_lost(self, queries: Tensor, lost: Tensor, logs: Tensor, means: Tensor) -> None:
        points, masses = self.points.double(), self.sides[:, 0].log()
        of_mass = self.sides[:, 1:] / self.sides[:, :1].where(self.sides[:, :1] > 0, self.sides.new_ones(()))

        def fill(some: slice) -> None:
            U = queries[lost[some]]
            by_products = from_products(self.profile.slope, U, points)
            terms = self.profile.log(squared_distances(U, points, by_products=by_products)).add_(masses)
            top = terms.amax(dim=1, keepdim=True)
            shares = terms.sub_(top).exp_()
            total = shares.sum(dim=1, keepdim=True)
            logs[lost[some]] = (top + total.log())[:, 0]
            means[lost[some]] = shares @ of_mass / total

        in_chunks(len(lost), tile_size(points) // max(len(points), 1), fill)

    def _in_bandwidths(self, X: Tensor) -> Tensor:
        import torch

        away = X.double() - like(self.origin, X, dtype=torch.float64)
        L = like(self.bandwidth.root, X, dtype=torch.float64)
        U = torch.linalg.solve_triangular(L, away.T, upper=False).T if L.ndim == 2 else away / L
        return _clip(U, X.element_size())


def _clip(U: Tensor, size: int) -> Tensor:
    """Clip coordinates that are too far away for numbers of this many bytes."""
    most = FARTHEST_COORDINATES[size]
    return U.clamp(-most, most)


def log_density(windows: Windows, X: Tensor) -> Tensor:
    """Return log p(x) for every row of a tensor, computed on its device (see `Windows.log_density`)."""
    import torch

    logs, _ = _points_of(windows, X).sums(X)
    logs += windows.log_scale - np.log(windows.total_share)
    if np.isinf(windows.kernel.reach):
        logs.clamp_(min=torch.finfo(X.dtype).min)
    return logs.to(X.dtype)


def _points_of(windows: Windows, X: Tensor) -> TensorPoints:
    def make() -> TensorPoints:
        share = np.ones(len(windows.points)) if windows.share is None else windows.share
        return TensorPoints.of(
            windows.kernel, windows.bandwidth, windows.origin, windows.sums.points, share[:, None], X
        )

    points: TensorPoints = _get_copy(windows.device_copies, X, make)
    return points


def has_tensor_fit(fit: LocalFit) -> bool:
    """Return whether the results of a fit for tensors are computed on their device."""
    rows = fit.points
    return (
        isinstance(fit, LocalMeans)
        and rows.codes is None
        and has_tensor_sums(fit.kernel, fit.bandwidth, rows.numbers.shape[1])
    )


def evaluate(fit: LocalFit, X: Tensor, out_of_reach: str) -> Tensor:
    """Return the same as `_regression.evaluate` for a tensor, computed on its device."""

    def make() -> TensorPoints:
        assert fit.bandwidth is not None
        sides = (fit.weight / fit.weight.max())[:, None] * np.column_stack(
            [np.ones(fit.count), fit.values - fit.origin]
        )
        return TensorPoints.of(fit.kernel, fit.bandwidth, fit.centre, fit.points.numbers, sides, X)

    _, means = _get_copy(fit.device_copies, X, make).sums(X)
    means += like(fit.origin, means)
    lost = means[:, 0].isnan().nonzero()[:, 0]
    if len(lost) and out_of_reach in ("nearest", "mean"):
        rows = MixedRows(to_numpy(X[lost]).astype(float))
        means[lost] = like(fit.nearest(rows) if out_of_reach == "nearest" else fit.mean(), means)
    return means.to(X.dtype)


def _get_copy(copies: dict[Any, Any], X: Tensor, make: Any) -> Any:
    """Return the copy for the device and type of X, made on first use; copies for other types are dropped."""
    key = (X.device, X.dtype)
    if (points := copies.get(key)) is None:
        points = make()
        copies.clear()
        copies[key] = points
    return points
