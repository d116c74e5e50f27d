"""Splines of every column, so that a linear model is a sum of smooth functions."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import BinsError
from mercer._memory import refuse_beyond_memory
from mercer._stored import floats, integers, part_of, sequence, stored, whole
from mercer._typing import Array
from mercer.features.splines import ROUNDING, Splines, even_knots, quantile_knots
from mercer.models.base import column_names
from mercer.models.fitted_fields import FITTED
from mercer.models.numeric._columns import by_column, increasing
from mercer.models.numeric._rows import NumericTransformer


@stored(
    **FITTED,
    knots_=sequence("d", floats("_e")),
    _splines=sequence("d", part_of(Splines)),
    _ends=integers("d"),
    n_output_features_=whole(0),
)
class SplineFeatures(NumericTransformer):
    """Splines of every column: a linear model of them is a sum of smooth functions, one of each column.

    B-splines are those of scikit-learn's `SplineTransformer`. The splines of each column add up to 1 everywhere, so
    those of two columns, or of one beside an intercept, are collinear: set `include_bias=False` for a model without a
    penalty. Missing values stay missing.

    Parameters
    ----------
    n_knots : int, default=5
        Knots of each column, the smallest and the largest value among them; where values are equal there may be fewer
        quantiles.
    degree : int, default=3
        Of the polynomials between knots; 0 are steps, 1 is a broken line. Natural splines have 3.
    knots : {"quantiles", "width"}, array-like or dict, default="quantiles"
        Where they are. "quantiles": with as many rows between each two. "width": at equal distances. Or at positions
        given for all columns, or by column, {"age": [0, 18, 65, 100]}, by name or position; columns not named have
        quantiles.
    natural : bool, default=False
        Whether to take natural cubic splines, one for each knot, whose coefficients are the values of the function
        there, instead of B-splines.
    extrapolation : {"linear", "constant"}, default="constant"
        How functions go on beyond the first and the last knot.
    include_bias : bool, default=True
        Whether all splines are kept. The last one of a column is 1 minus the others.

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
        Which path the fit took.

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
        given = by_column("knots", self.knots, column_names(self), _checked_knots)
        by_width = isinstance(self.knots, str) and self.knots == "width"
        place = even_knots if by_width else partial(quantile_knots, apart=ROUNDING if self.natural else 0.0)
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
        refuse_beyond_memory(size, f"{shape[0]:,} rows of {shape[1]:,} splines", "give fewer knots or fewer rows")
        features = np.empty(shape, X.dtype)
        for j, (each, end) in enumerate(zip(self._splines, self._ends, strict=True)):
            kept = each.count - (not self.include_bias)
            each.write(X[:, j], features[:, end - kept : end])
        return features

    def _names(self, columns: list[str]) -> list[str]:
        kept = slice(None if self.include_bias else -1)
        return [name for column, each in zip(columns, self._splines, strict=True) for name in each.names(column)[kept]]


def _checked_knots(knots: Any, column: str) -> Array:
    found = increasing(knots)
    if found is None or not np.isfinite(found).all():
        raise BinsError(f"the knots for {column} have to be two or more increasing numbers, such as [0, 18, 65, 100].")
    return found
