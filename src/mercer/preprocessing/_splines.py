"""Splines of every column, with which a linear model is a sum of smooth functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import BSpline, CubicSpline
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import BinsError
from mercer._memory import check_memory
from mercer._stored import floats, integers, part_of, sequence, stored, whole
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.base.fitted_fields import FITTED
from mercer.base.validation import column_names
from mercer.preprocessing._buckets import equal_widths, format_distinct, halve_if_large
from mercer.preprocessing._numeric import NumericTransformer, map_by_column, parse_increasing

# B-splines and natural cubic splines of one column.
#
# Both bases sum to 1 everywhere. B-splines of degree p are 0 except between p + 2 neighbouring knots. Natural cubic
# splines are linear beyond the first and the last knot; each is 1 at one knot and 0 at the others, so that the
# coefficients of a linear model are its values at the knots. Computations place the first knot at 0 and the last at 1,
# so that powers of distances neither overflow nor underflow.

#: number of rows that are computed at a time
ROWS_AT_ONCE = 1 << 13
#: learned knots of natural splines are at least this part of their range apart: a smaller distance is due to rounding,
#: as that of 0.1 + 0.2 from 0.3, and the splines would be as large as its inverse
MIN_KNOT_DISTANCE = 1e-12


def quantile_knots(x: Array, count: int, apart: float = MIN_KNOT_DISTANCE) -> Array:
    """Return knots at quantiles from the smallest to the largest value; fewer if values are equal, but at least two.

    Their distances exceed `apart` as a part of their range. For B-splines, which are bounded by 1, it may be 0: a
    number that stands for a missing value, such as 1e20, then does not remove the knots of the others.
    """
    if not len(x):
        return np.array([0.0, 1.0])
    x, unit = halve_if_large(x)
    return _ensure_two(_separate(np.unique(np.quantile(x, np.linspace(0.0, 1.0, count)) * unit), apart))


def even_knots(x: Array, count: int) -> Array:
    """Return knots at equal distances from the smallest to the largest value."""
    return _ensure_two(_separate(equal_widths(x, count - 1), 0.0)) if len(x) else np.array([0.0, 1.0])


def _separate(knots: Array, least: float) -> Array:
    """Remove knots whose distance from the one before is at most `least`, in units of the range."""
    if knots[0] / 2 == knots[-1] / 2:  # also of denormal numbers
        return knots[:1]
    places = _to_unit_interval(knots, knots)
    is_kept = np.append(True, np.diff(np.maximum.accumulate(places)) > least)
    return np.append(knots[is_kept][:-1], knots[-1])


def _to_unit_interval(x: Array, knots: Array) -> Array:
    """Map values so that the first knot becomes 0 and the last 1."""
    first, last = knots[0] / 2, knots[-1] / 2  # halved, since the difference may overflow
    return np.asarray((x / 2 - first) / (last - first))


def _ensure_two(knots: Array) -> Array:
    """Return the knots, or for a column of one value a knot on either side of it."""
    if len(knots) > 1:
        return knots
    value = float(knots[0])
    distance = max(1.0, abs(value) / 2)
    around = [knot for knot in (value - distance, value, value + distance) if np.isfinite(knot)]
    return np.array([around[0], around[-1]])


@stored(lambda own: len(own.knots) > 1, knots=floats("n", order="rising", finite=True), degree=whole(0, 1000))
@dataclass(frozen=True, eq=False)
class Splines:
    """The splines of one column for given knots, continued beyond them linearly if `linear`, else constantly.

    Examples
    --------
    >>> hats = Splines(np.array([0.0, 1.0, 2.0]), degree=1)
    >>> hats(np.array([0.0, 0.25, 2.0])).tolist()
    [[1.0, 0.0, 0.0], [0.75, 0.25, 0.0], [0.0, 0.0, 1.0]]
    """

    knots: Array
    degree: int = 3
    natural: bool = False
    linear: bool = False

    @property
    def count(self) -> int:
        """Number of splines."""
        return len(self.knots) if self.natural else len(self.knots) + self.degree - 1

    @cached_property
    def _inner_knots(self) -> Array:
        return _to_unit_interval(self.knots, self.knots)

    @cached_property
    def _all_knots(self) -> Array:
        """The knots with `degree` more on either side, at the distance of the last two."""
        knots, steps = self._inner_knots, np.arange(1, self.degree + 1)
        return np.concatenate([-knots[1] * steps[::-1], knots, 1.0 + (1.0 - knots[-2]) * steps])

    @cached_property
    def _functions(self) -> Any:
        """All splines as one function with vector values."""
        if self.natural:
            return CubicSpline(self._inner_knots, np.eye(self.count), bc_type="natural")
        return BSpline(self._all_knots, np.eye(self.count), self.degree, extrapolate=False)

    @cached_property
    def slopes(self) -> tuple[Array, Array]:
        """Slopes at the first and the last knot, from inside."""
        if self.degree == 0 and not self.natural:
            return np.zeros(self.count), np.zeros(self.count)
        within = 1.0 if self.natural or self.degree > 1 else (1.0 + self._inner_knots[-2]) / 2
        slope = self._functions.derivative()
        return np.asarray(slope(0.0)), np.asarray(slope(within))

    def __call__(self, x: Array) -> Array:
        """Return a row of splines for every value; NaN if it is missing."""
        result = np.empty((len(x), self.count), x.dtype)
        self.write(x, result)
        return result

    def write(self, x: Array, out: Array) -> None:
        """Write a row of splines for every value to an array, which may have no column for the last one."""

        def write_rows(rows: slice) -> None:
            out[rows] = self._evaluate(_to_unit_interval(x[rows].astype(np.float64), self.knots))[:, : out.shape[1]]

        ordered_map(write_rows, row_blocks(len(x), ROWS_AT_ONCE))

    def _evaluate(self, x: Array) -> Array:
        missing = np.isnan(x)
        x[missing] = 0.0
        result = self._between_knots(np.clip(x, 0.0, 1.0))
        if self.linear:
            for beyond, end, slopes in zip((x < 0, x > 1), (0.0, 1.0), self.slopes, strict=True):
                result[beyond] += (x[beyond] - end)[:, None] * slopes
        result[missing] = np.nan
        return result

    def _between_knots(self, x: Array) -> Array:
        if self.natural:
            return np.asarray(self._functions(x))
        result = np.zeros((len(x), self.count))
        design = BSpline.design_matrix(x, self._all_knots, self.degree)
        # each row has the same number of entries, some of which may be 0
        result[np.arange(len(x))[:, None], design.indices.reshape(len(x), -1)] = design.data.reshape(len(x), -1)
        return result

    def names(self, column: str) -> list[str]:
        """Return names for the splines: by the knot for natural splines, by number for others."""
        if self.natural:
            return [f"{column} at {knot}" for knot in format_distinct(self.knots)]
        return [f"{column} spline {j}" for j in range(self.count)]


@stored(
    **FITTED,
    knots_=sequence("d", floats("_e")),
    _splines=sequence("d", part_of(Splines)),
    _ends=integers("d"),
    n_output_features_=whole(0),
)
class SplineFeatures(NumericTransformer):
    """Splines of every column: a linear model of them is a sum of smooth functions, one for each column.

    B-splines are those of scikit-learn's `SplineTransformer`. The splines of each column sum to 1 everywhere, so those
    of two columns, or of one column and an intercept, are collinear: set `include_bias=False` for a model without a
    penalty. Missing values stay missing.

    Parameters
    ----------
    n_knots : int, default=5
        Number of knots of each column, including the smallest and the largest value; there may be fewer quantiles if
        values are equal.
    degree : int, default=3
        Degree of the polynomials between knots; 0 gives steps, 1 a broken line. Natural splines have degree 3.
    knots : {"quantiles", "width"}, array-like or dict, default="quantiles"
        Positions of the knots. "quantiles": equally many rows between any two neighbours. "width": equal distances. Or
        positions given for all columns, or by column, {"age": [0, 18, 65, 100]}, by name or position; other columns
        have quantiles.
    natural : bool, default=False
        Whether to use natural cubic splines instead of B-splines: one for each knot, whose coefficient is the value of
        the function there.
    extrapolation : {"linear", "constant"}, default="constant"
        Continuation of the functions beyond the first and the last knot.
    include_bias : bool, default=True
        Whether to keep all splines. The last one of a column is 1 minus the others.

    Attributes
    ----------
    knots_ : list of ndarray
        Knots of each column.
    n_output_features_ : int
        Number of features.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Kind and number of splines, and number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Ridge, SplineFeatures
    >>> x = np.linspace(0, 6, 50)[:, None]
    >>> features = SplineFeatures(n_knots=8).fit(x)
    >>> features.transform(x).shape
    (50, 10)
    >>> wave = Ridge(alpha=1e-6).fit(features.transform(x), np.sin(x[:, 0]))
    >>> bool(abs(wave.predict(features.transform(x)) - np.sin(x[:, 0])).max() < 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_knots": [Interval(Integral, 2, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "knots": [StrOptions({"quantiles", "width"}), "array-like", dict],
        "natural": ["boolean"],
        "extrapolation": [StrOptions({"linear", "constant"})],
        "include_bias": ["boolean"],
    }

    def __init__(
        self,
        n_knots: int = 5,
        degree: int = 3,
        *,
        knots: Any = "quantiles",
        natural: bool = False,
        extrapolation: str = "constant",
        include_bias: bool = True,
    ) -> None:
        self.n_knots = n_knots
        self.degree = degree
        self.knots = knots
        self.natural = natural
        self.extrapolation = extrapolation
        self.include_bias = include_bias

    def _learn(self, X: Array) -> str:
        if self.natural and self.degree != 3:
            raise BinsError(f"natural splines are cubic, but degree is {self.degree}; leave it out, or natural=True.")
        given = map_by_column("knots", self.knots, column_names(self), _check_knots)
        by_width = isinstance(self.knots, str) and self.knots == "width"
        place = even_knots if by_width else partial(quantile_knots, apart=MIN_KNOT_DISTANCE if self.natural else 0.0)
        columns = (X[~np.isnan(X[:, j]), j] for j in range(X.shape[1]))
        self.knots_ = [given[j] if j in given else place(x, self.n_knots) for j, x in enumerate(columns)]
        linear = self.extrapolation == "linear"
        self._splines = [Splines(knots, int(self.degree), self.natural, linear) for knots in self.knots_]
        kept = [each.count - (not self.include_bias) for each in self._splines]
        self._ends = np.cumsum(kept)
        self.n_output_features_ = int(self._ends[-1])
        kind = "natural cubic splines" if self.natural else f"B-splines of degree {self.degree}"
        return f"{self.n_output_features_:,} {kind} of {X.shape[1]:,} columns"

    def _mapped(self, X: Array) -> Array:
        shape = (len(X), self.n_output_features_)
        size = float(shape[0]) * shape[1] * X.itemsize
        check_memory(size, f"{shape[0]:,} rows of {shape[1]:,} splines", "give fewer knots or fewer rows")
        features = np.empty(shape, X.dtype)
        for j, (each, end) in enumerate(zip(self._splines, self._ends, strict=True)):
            kept = each.count - (not self.include_bias)
            each.write(X[:, j], features[:, end - kept : end])
        return features

    def _names(self, columns: list[str]) -> list[str]:
        kept = slice(None if self.include_bias else -1)
        return [name for column, each in zip(columns, self._splines, strict=True) for name in each.names(column)[kept]]


def _check_knots(knots: Any, column: str) -> Array:
    vector = parse_increasing(knots)
    if vector is None or not np.isfinite(vector).all():
        raise BinsError(f"the knots for {column} must be two or more increasing numbers, such as [0, 18, 65, 100].")
    return vector
