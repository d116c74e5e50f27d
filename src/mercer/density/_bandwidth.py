"""Bandwidths of smoothing kernels: a number, one per axis, or a matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from mercer._errors import BandwidthError
from mercer._stored import either, floats, real, reals, stored
from mercer._typing import Array

#: relative difference between Σ and Σᵀ that is attributed to rounding
ASYMMETRY = 1e-10
#: a vector is printed up to this number of entries
MOST_SHOWN = 12


@stored(widths=reals(), values=reals())
@dataclass(frozen=True, eq=False)
class Criterion:
    """The criterion by which a bandwidth was chosen, with its values at the widths that were tried.

    Parameters
    ----------
    name : str
        Name of the criterion.
    widths : array of shape (m,)
        Widths at which it was evaluated, increasing.
    values : array of shape (m,)
        Values of the criterion; +inf where the density of some point is 0.
    unit : str, default="bandwidth"
        Unit of the widths: bandwidths, or multiples of a reference.
    chosen : float, default=None
        The minimising width; by default that of the least value.
    best : float, default=None
        The criterion of the chosen bandwidth, which is below all values if axes were refined one by one.

    Examples
    --------
    >>> from mercer.density import Gaussian, LikelihoodCV
    >>> rows = np.random.default_rng(0).normal(size=(50, 1))
    >>> looked_at = LikelihoodCV().choose(rows, None, Gaussian()).criterion
    >>> looked_at.name, len(looked_at.widths) == len(looked_at.values)
    ('−log likelihood of a point left out', True)
    """

    name: str
    widths: Array
    values: Array
    unit: str = "bandwidth"
    chosen: float | None = None
    best: float | None = None

    def __post_init__(self) -> None:
        least = int(np.argmin(self.values))
        if self.chosen is None:
            object.__setattr__(self, "chosen", float(self.widths[least]))
        if self.best is None:
            object.__setattr__(self, "best", float(self.values[least]))

    def table(self) -> dict[str, list[float]]:
        """Return the curve as columns, for a data frame of any kind."""
        return {self.unit: self.widths.tolist(), self.name: self.values.tolist()}

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve and the choice; return the Axes."""
        from mercer.report.plots import bandwidth_curve

        named = bandwidth_curve(self.widths, self.values, self.chosen, self.name, ax)
        named.set_xlabel(self.unit)
        return named


@stored(value=either(real(), floats("d"), floats("dd")))
@dataclass(frozen=True, eq=False, repr=False)
class Bandwidth:
    """h, one h per axis, or the matrix Σ of lecture 4: a kernel around x_j is `|Σ|^(−½) K(Σ^(−½)(x − x_j))`.

    Parameters
    ----------
    value : float or array of shape (d,) or (d, d)
        A number h means Σ = h² I, a vector diag(h_j²), a matrix is Σ itself: its entries are squares of widths.
    method : str, default="given"
        Name of the rule that chose it.
    sensitivity : float, default=0
        α of Abramson: the kernel of x_j is wider by the factor (p̂(x_j)/g)^(−α), where p̂ is the density with α = 0 and
        g its geometric mean over the points.
    criterion : Criterion, default=None
        The criterion that was minimised to choose it.

    Examples
    --------
    >>> print(Bandwidth([0.5, 2.0], method="scott-scaled"))
    h = (0.5, 2), by scott-scaled
    """

    value: float | Array
    method: str = "given"
    sensitivity: float = 0.0
    criterion: Criterion | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _check_value(self.value))
        if not isinstance(self.sensitivity, Real) or not 0 <= self.sensitivity <= 1:
            raise BandwidthError(f"sensitivity is {self.sensitivity!r}; give a number from 0 to 1, e.g. 0.5.")

    @cached_property
    def root(self) -> Array:
        """L with Σ = L Lᵀ: a number, a vector (of a diagonal), or a lower triangle."""
        value = np.asarray(self.value, dtype=float)
        return np.asarray(np.linalg.cholesky(value)) if value.ndim == 2 else value

    def whiten(self, X: Array) -> Array:
        """Return L⁻¹x for every row: coordinates in units of the bandwidth."""
        L = self.root
        if L.ndim == 2:
            from scipy.linalg import solve_triangular

            return np.ascontiguousarray(solve_triangular(L, X.T, lower=True).T)
        return np.ascontiguousarray(X / L)

    def coloured(self, U: Array) -> Array:
        """Return L u for every row, the inverse of `whiten`."""
        L = self.root
        return U @ L.T if L.ndim == 2 else U * L

    def log_volume(self, columns: int) -> float:
        """Return `log |L| = ½ log |Σ|`."""
        L = self.root
        if L.ndim == 2:
            return float(np.log(np.diag(L)).sum())
        return float(np.log(np.broadcast_to(L, columns)).sum())

    def scaled(self, factor: float) -> Bandwidth:
        """Return a bandwidth that is wider by a factor, without the criterion."""
        power = 2 if np.ndim(self.value) == 2 else 1
        return replace(self, value=self.value * factor**power, criterion=None)

    def plot(self, ax: Any = None) -> Any:
        """Draw the criterion and the choice.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure if not given.

        Returns
        -------
        matplotlib Axes
        """
        return self._required_criterion.plot(ax)

    def table(self) -> dict[str, list[float]]:
        """Return the criterion by which it was chosen: widths and values, as columns for a data frame of any kind."""
        return self._required_criterion.table()

    def check(self, columns: int) -> Bandwidth:
        """Return the bandwidth itself if it fits the number of columns; raise an error otherwise."""
        size = np.shape(self.value)
        if size and size[0] != columns:
            form = "a bandwidth matrix" if len(size) == 2 else "a vector of bandwidths"
            raise BandwidthError(
                f"{form} for {size[0]} columns was given to data of {columns}. Give one entry per column, or a number."
            )
        return self

    def __eq__(self, other: object) -> bool:
        """Return whether two bandwidths have the same value and sensitivity, and were chosen by the same method."""
        if not isinstance(other, Bandwidth):
            return NotImplemented
        same = (self.method, self.sensitivity) == (other.method, other.sensitivity)
        return same and np.array_equal(self.value, other.value)

    def __hash__(self) -> int:
        return hash((np.asarray(self.value).tobytes(), self.method, self.sensitivity))

    def __repr__(self) -> str:
        value = np.asarray(self.value).tolist()
        given = [repr(value), *([f"method={self.method!r}"] if self.method != "given" else [])]
        given += [f"sensitivity={self.sensitivity!r}"] if self.sensitivity else []
        return f"Bandwidth({', '.join(given)})"

    def __str__(self) -> str:
        parts = [_format_value(np.asarray(self.value)), self.method if self.method == "given" else f"by {self.method}"]
        if self.criterion is not None:
            parts.append(f"{self.criterion.name} {self.criterion.best:.6g}")
        if self.sensitivity:
            parts.append(f"wider where points are sparse (sensitivity {self.sensitivity:g})")
        return ", ".join(parts)

    @property
    def _required_criterion(self) -> Criterion:
        if self.criterion is None:
            raise BandwidthError(
                f"this bandwidth ({self.method}) was not chosen by a criterion, so that there is no curve. "
                'Rules that have one are "likelihood-cv" and "least-squares-cv".'
            )
        return self.criterion


def _format_value(value: Array) -> str:
    """Format a bandwidth with four digits; long vectors and large matrices are abbreviated."""
    if value.ndim == 2:
        rows = np.array2string(
            value, formatter={"float_kind": "{:.4g}".format}, threshold=36, separator=", ", prefix="Σ = "
        )
        return f"Σ = {rows}"
    if value.ndim == 0:
        return f"h = {float(value):.4g}"
    shown = [f"{h:.4g}" for h in value[:MOST_SHOWN]] + ["…"] * (value.size > MOST_SHOWN)
    return f"h = ({', '.join(shown)})"


def _check_value(value: Any) -> float | Array:
    try:
        if value is None or isinstance(value, str | bool):
            raise TypeError
        given = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise BandwidthError(f"{value!r} is not a bandwidth; give a number, one per column, or a matrix.") from None
    if given.ndim == 2:
        return _check_matrix(given)
    if given.ndim > 2 or given.size == 0:
        raise BandwidthError(f"a bandwidth cannot have shape {given.shape}; give a number, one per column or a matrix.")
    wrong = np.flatnonzero(~((given > 0) & np.isfinite(given)).ravel())
    if wrong.size:
        culprit = f"bandwidth of column {wrong[0]}" if given.ndim else "bandwidth"
        raise BandwidthError(f"the {culprit} is {given.ravel()[wrong[0]]:g}; give a finite number above 0.")
    given.flags.writeable = False
    return given if given.ndim else float(given)


def _check_matrix(given: Array) -> Array:
    if given.shape[0] != given.shape[1] or not np.isfinite(given).all():
        raise BandwidthError(
            f"a bandwidth matrix of shape {given.shape} is not square, or not finite; it is the covariance of a kernel."
        )
    size = np.sqrt(np.abs(np.diag(given)))
    if (np.abs(given - given.T) > ASYMMETRY * np.outer(size, size)).any():
        i, j = np.unravel_index(np.argmax(np.abs(given - given.T)), given.shape)
        raise BandwidthError(
            f"the bandwidth matrix is not symmetric: entries ({i}, {j}) and ({j}, {i}) are {given[i, j]:g} and "
            f"{given[j, i]:g}. Give (Σ + Σᵀ)/2."
        )
    symmetric = (given + given.T) / 2
    try:
        np.linalg.cholesky(symmetric)
    except np.linalg.LinAlgError:
        raise BandwidthError(
            f"the bandwidth matrix is not positive definite: its least eigenvalue is "
            f"{np.linalg.eigvalsh(symmetric)[0]:g}. Give the covariance of a kernel, or one bandwidth per column."
        ) from None
    symmetric.flags.writeable = False
    return symmetric
