"""A column of 0 and 1 for every bucket that a number may lie in (lecture 1)."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config

from mercer._errors import BinsError, NonFiniteError
from mercer._memory import refuse_beyond_memory
from mercer._stored import flags, floats, integers, part_of, sequence, stored, whole
from mercer._typing import Array
from mercer.designs.encoded import CodePart, Encoded
from mercer.features.buckets import Buckets, decades, equal_widths, quantiles
from mercer.models.base import column_names, first_where
from mercer.models.fitted_fields import FITTED
from mercer.models.numeric._columns import by_column, increasing
from mercer.models.numeric._rows import NumericTransformer


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
    """1[e₀ ≤ x < e₁], 1[e₁ ≤ x < e₂], … of every column: a linear model of them is any step function.

    Buckets are those of the fit, and the first and the last reach to infinity: no value is out of range.

    Parameters
    ----------
    buckets : {"quantiles", "decades", "width"}, array-like or dict, default="quantiles"
        Where they begin. "quantiles": with as many rows in each. "decades": at 0, 10, 100, …, and likewise below 0 if
        there are negative numbers. "width": at equal distances. Or at edges given for all columns, e.g. [0, 10, 100,
        1000] for three buckets, or by column, {"age": [0, 18, 65, 120]}, by name or position; columns not named have
        quantiles.
    n_buckets : int, default=10
        How many, of quantiles or equal widths. Where many values are equal there are fewer quantiles.
    missing : {"bucket", "zeros", "error"}, default="bucket"
        What becomes of missing values: a bucket of their own in columns that had some in the fit (and zeros in others),
        a row of zeros, or an error.
    output : {"sparse", "array", "encoded", "codes"}, default="sparse"
        A CSR matrix; an array; codes that linear models of mercer read as columns of 0 and 1 without writing them
        out; or an array of these codes, int32, with −1 for zeros.

    Attributes
    ----------
    edges_ : list of ndarray
        Edges of the buckets of each column.
    n_buckets_ : ndarray of shape (`n_features_in_`,)
        Number of buckets of each column, without the one of missing values.
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
        given = by_column("buckets", self.buckets, column_names(self), _checked_edges)
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
        if self.missing == "error" and (found := first_where(X, np.isnan)) is not None:
            raise NonFiniteError(
                f"Input X contains NaN. Column {column_names(self)[found[1]]!r} has a missing value in row {found[0]}; "
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
        return self._written(codes, X.dtype)

    def _written(self, codes: Array, dtype: Any) -> Any:
        ends = np.cumsum(self._levels)
        begins, shape = ends - self._levels, (len(codes), int(ends[-1]))
        known, columns = codes >= 0, (codes + begins)
        indptr = np.append(0, np.cumsum(known.sum(axis=1)))
        # a frame has no room for sparse matrices
        if self.output == "sparse" and _get_output_config("transform", self)["dense"] == "default":
            made: Any = sp.csr_matrix((np.ones(indptr[-1], dtype), columns[known], indptr), shape=shape)
            made.has_canonical_format = True
            return made
        size = float(shape[0]) * shape[1] * np.dtype(dtype).itemsize
        what = f"{shape[0]:,} rows of {shape[1]:,} buckets"
        refuse_beyond_memory(size, what, "give output='sparse' or output='encoded'")
        features = np.zeros(shape, dtype)
        features[np.nonzero(known)[0], columns[known]] = 1
        return features

    def _names(self, columns: list[str]) -> list[str]:
        if self.output == "codes":
            return columns
        made = []
        for name, each, gaps in zip(columns, self._buckets, self._gaps, strict=True):
            made += each.names(name) + ([f"{name} missing"] if gaps else [])
        return made


def _checked_edges(edges: Any, column: str) -> Array:
    if (found := increasing(edges)) is None:
        raise BinsError(
            f"the edges of buckets for {column} have to be two or more increasing numbers, such as [0, 10, 100, 1000] "
            "for three buckets."
        )
    return found
