"""Discretisation of columns: an indicator for each bucket of values (lecture 1: saturation by discretisation)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config

from mercer._errors import BinsError, NonFiniteError
from mercer._memory import check_memory
from mercer._stored import flags, floats, integers, part_of, sequence, stored, whole
from mercer._typing import Array
from mercer.base.fitted_fields import FITTED
from mercer.base.validation import column_names, find_first
from mercer.matrices import Encoded
from mercer.matrices.encoded import CodePart
from mercer.preprocessing._numeric import NumericTransformer, map_by_column, parse_increasing


def decades(x: Array) -> Array:
    """Return 0, 10, 100, … beyond the largest value, and likewise below 0 as far as the smallest requires.

    Examples
    --------
    >>> decades(np.array([3.0, 250.0])).tolist()
    [0.0, 10.0, 100.0, 1000.0]
    """
    lowest, highest = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
    up = _powers_to(highest)
    return np.concatenate([-_powers_to(-lowest)[::-1], [0.0], up]) if lowest < 0 else np.append(0.0, up)


def _powers_to(most: float) -> Array:
    """Return 10, 100, … up to the first that is larger than `most`, or to the largest finite power."""
    powers = 10.0 ** np.arange(1, 309)
    return powers[: int(np.searchsorted(powers, most, side="right")) + 1]


def quantiles(x: Array, count: int) -> Array:
    """Return the edges of `count` buckets with equally many values; fewer if many values are equal."""
    if not len(x):
        return np.zeros(1)
    x, unit = halve_if_large(x)
    # in percent, as in scikit-learn: the third of five quantiles is then exactly 0.6
    levels = np.linspace(0.0, 100.0, count + 1)
    return np.unique(np.percentile(x, levels, method="averaged_inverted_cdf") * unit)


def equal_widths(x: Array, count: int) -> Array:
    """Return the edges of `count` buckets of equal width between the smallest and the largest value."""
    if not len(x):
        return np.zeros(1)
    x, unit = halve_if_large(x)
    return np.unique(np.linspace(x.min(), x.max(), count + 1) * unit)


def halve_if_large(x: Array) -> tuple[Array, float]:
    """Return values whose differences do not overflow, and their unit, 1 or 2."""
    x = x.astype(np.float64, copy=False)
    return (x, 1.0) if np.abs(x).max() < 1e307 else (x / 2, 2.0)


@stored(edges=floats("e", order="rising"))
@dataclass(frozen=True, eq=False)
class Buckets:
    """The buckets [e₀, e₁), [e₁, e₂), … of one column, by their edges; the first and the last are unbounded.

    Examples
    --------
    >>> ages = Buckets(np.array([20.0, 30.0, 40.0, 50.0]))
    >>> ages.codes(np.array([12.0, 30.0, 49.0, 70.0, np.nan])).tolist()
    [0, 1, 2, 2, -1]
    >>> ages.names("age")
    ['age < 30', 'age in [30, 40)', 'age >= 40']
    """

    edges: Array

    @property
    def inner(self) -> Array:
        """The edges between two buckets."""
        return self.edges[1:-1]

    @property
    def count(self) -> int:
        """Number of buckets."""
        return len(self.inner) + 1

    def codes(self, x: Array) -> Array:
        """Return the bucket of each value, from 0 on; −1 if it is missing."""
        codes = np.searchsorted(self.inner, x, side="right").astype(np.int32)
        codes[np.isnan(x)] = -1
        return codes

    def names(self, column: str) -> list[str]:
        """Return a condition on the column for each bucket, as its name."""
        at = format_distinct(self.inner)
        if not at:
            return [f"{column} in (-inf, inf)"]
        between = [f"{column} in [{low}, {high})" for low, high in pairwise(at)]
        return [f"{column} < {at[0]}", *between, f"{column} >= {at[-1]}"]


def format_distinct(numbers: Array) -> list[str]:
    """Format numbers with six digits, or as many more as distinguish them; whole numbers without decimals."""
    values = numbers.tolist()
    for digits in range(6, 18):
        texts = [f"{v:.0f}" if v == int(v) and abs(v) < 1e15 else f"{v:.{digits}g}" for v in values]
        if len(set(texts)) == len(texts):
            break
    return texts


@stored(
    **FITTED,
    edges_=sequence("d", floats("_e")),
    _buckets=sequence("d", part_of(Buckets)),
    n_buckets_=integers("d"),
    _gaps=flags("d"),
    _levels=integers("d"),
    n_output_features_=whole(0),
)
class BucketFeatures(NumericTransformer):
    """Indicators 1[e₀ ≤ x < e₁], 1[e₁ ≤ x < e₂], … of every column: a linear model of them is a step function.

    The buckets are those of the fit; the first and the last are unbounded, so that no value is out of range.

    Parameters
    ----------
    buckets : {"quantiles", "decades", "width"}, array-like or dict, default="quantiles"
        Edges of the buckets. "quantiles": equally many rows in each bucket. "decades": 0, 10, 100, …, and likewise
        below 0 if there are negative numbers. "width": equal distances. Or edges given for all columns, e.g. [0, 10,
        100, 1000] for three buckets, or by column, {"age": [0, 18, 65, 120]}, by name or position; other columns have
        quantiles.
    n_buckets : int, default=10
        Number of buckets for "quantiles" and "width". There are fewer quantiles if many values are equal.
    missing : {"bucket", "zeros", "error"}, default="bucket"
        Treatment of missing values: a separate bucket in columns that had some in the fit (and zeros in others), a row
        of zeros, or an error.
    output : {"sparse", "array", "encoded", "codes"}, default="sparse"
        A CSR matrix; an array; an `Encoded` matrix of codes, which linear models of mercer use without expanding it; or
        an array of these codes, int32, with −1 for zeros.

    Attributes
    ----------
    edges_ : list of ndarray
        Edges of the buckets of each column.
    n_buckets_ : ndarray of shape (`n_features_in_`,)
        Number of buckets of each column, without that of missing values.
    n_output_features_ : int
        Number of features.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Number of buckets and columns.

    Examples
    --------
    >>> from mercer import BucketFeatures
    >>> bought = [[3.0], [40.0], [12.0], [700.0]]
    >>> features = BucketFeatures("decades", output="array").fit(bought)
    >>> features.transform(bought)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    >>> features.get_feature_names_out(["N"]).tolist()
    ['N < 10', 'N in [10, 100)', 'N >= 100']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "buckets": [StrOptions({"quantiles", "decades", "width"}), "array-like", dict],
        "n_buckets": [Interval(Integral, 1, None, closed="left")],
        "missing": [StrOptions({"bucket", "zeros", "error"})],
        "output": [StrOptions({"sparse", "array", "encoded", "codes"})],
    }

    def __init__(
        self, buckets: Any = "quantiles", *, n_buckets: int = 10, missing: str = "bucket", output: str = "sparse"
    ) -> None:
        self.buckets = buckets
        self.n_buckets = n_buckets
        self.missing = missing
        self.output = output

    def _learn(self, X: Array) -> str:
        given = map_by_column("buckets", self.buckets, column_names(self), _check_edges)
        gaps = np.isnan(X)
        columns = [X[~gaps[:, j], j] for j in range(X.shape[1])]
        self.edges_ = [given[j] if j in given else self._edges(x) for j, x in enumerate(columns)]
        self._buckets = [Buckets(edges) for edges in self.edges_]
        self.n_buckets_ = np.array([each.count for each in self._buckets])
        self._gaps = np.asarray(gaps.any(axis=0)) if self.missing == "bucket" else np.zeros(X.shape[1], bool)
        self._levels = self.n_buckets_ + self._gaps
        self.n_output_features_ = X.shape[1] if self.output == "codes" else int(self._levels.sum())
        return f"{int(self._levels.sum()):,} buckets of {X.shape[1]:,} columns"

    def _edges(self, x: Array) -> Array:
        if isinstance(self.buckets, str) and self.buckets == "decades":
            return decades(x)
        if isinstance(self.buckets, str) and self.buckets == "width":
            return equal_widths(x, self.n_buckets)
        return quantiles(x, self.n_buckets)

    def _rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._rows(X, reset=reset)
        if self.missing == "error" and (first := find_first(X, np.isnan)) is not None:
            raise NonFiniteError(
                f"Input X contains NaN. Column {column_names(self)[first[1]]!r} has a missing value in row {first[0]}; "
                "give missing='bucket' or missing='zeros', or impute it."
            )
        return X

    def _mapped(self, X: Array) -> Any:
        codes = np.empty(X.shape, np.int32, order="F")
        for j, each in enumerate(self._buckets):
            codes[:, j] = each.codes(X[:, j])
            if self._gaps[j]:
                codes[codes[:, j] < 0, j] = each.count
        if self.output == "codes":
            return codes
        if self.output == "encoded":
            parts = [CodePart(codes[:, j], int(levels)) for j, levels in enumerate(self._levels)]
            return Encoded.of(parts, names=self.get_feature_names_out().tolist())
        return self._expand(codes, X.dtype)

    def _expand(self, codes: Array, dtype: Any) -> Any:
        """Return the columns of 0 and 1 of the codes."""
        ends = np.cumsum(self._levels)
        begins, shape = ends - self._levels, (len(codes), int(ends[-1]))
        known, columns = codes >= 0, (codes + begins)
        indptr = np.append(0, np.cumsum(known.sum(axis=1)))
        # data frames cannot hold sparse matrices
        if self.output == "sparse" and _get_output_config("transform", self)["dense"] == "default":
            X: Any = sp.csr_matrix((np.ones(indptr[-1], dtype), columns[known], indptr), shape=shape)
            X.has_canonical_format = True
            return X
        size = float(shape[0]) * shape[1] * np.dtype(dtype).itemsize
        what = f"{shape[0]:,} rows of {shape[1]:,} buckets"
        check_memory(size, what, "give output='sparse' or output='encoded'")
        features = np.zeros(shape, dtype)
        features[np.nonzero(known)[0], columns[known]] = 1
        return features

    def _names(self, columns: list[str]) -> list[str]:
        if self.output == "codes":
            return columns
        names = []
        for name, each, gaps in zip(columns, self._buckets, self._gaps, strict=True):
            names += each.names(name) + ([f"{name} missing"] if gaps else [])
        return names


def _check_edges(edges: Any, column: str) -> Array:
    if (vector := parse_increasing(edges)) is None:
        raise BinsError(
            f"the edges of buckets for {column} must be two or more increasing numbers, such as [0, 10, 100, 1000] "
            "for three buckets."
        )
    return vector
