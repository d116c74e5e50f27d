"""BucketFeatures: scikit-learn's buckets where the meaning is the same, the lecture's decades, and missing values."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils._param_validation import InvalidParameterError

from mercer import BucketFeatures, LinearRegression, Ridge
from mercer._errors import BinsError, ColumnMismatchError, NonFiniteError
from mercer.matrices import Encoded


def rows(n: int = 200, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).exponential(size=(n, d)) * [1.0, 100.0, 1e8][:d]


@pytest.mark.parametrize(("ours", "theirs"), [("quantiles", "quantile"), ("width", "uniform")])
@pytest.mark.parametrize("count", [2, 5, 10])
def test_buckets_agree_with_scikit_learn(ours: str, theirs: str, count: int) -> None:
    X, new = rows(), 2 * rows(seed=1) - 1
    mine = BucketFeatures(ours, n_buckets=count).fit(X)
    other = KBinsDiscretizer(count, strategy=theirs, encode="onehot").fit(X)
    for Z in (X, new):
        assert abs(mine.transform(Z) - other.transform(Z)).max() == 0
    for found, expected in zip(mine.edges_, other.bin_edges_, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    codes = BucketFeatures(ours, n_buckets=count, output="codes").fit(X).transform(new)
    ordinal = KBinsDiscretizer(count, strategy=theirs, encode="ordinal").fit(X).transform(new)
    np.testing.assert_array_equal(codes, ordinal)
    assert codes.dtype == np.int32


def test_all_outputs_agree() -> None:
    X = rows()
    X[3, 0] = X[4, 2] = np.nan
    made = {kind: BucketFeatures(output=kind).fit_transform(X) for kind in ("sparse", "array", "encoded")}
    assert sp.issparse(made["sparse"])
    assert made["sparse"].has_canonical_format
    assert isinstance(made["encoded"], Encoded)
    np.testing.assert_array_equal(made["sparse"].toarray(), made["array"])
    np.testing.assert_array_equal(made["encoded"].toarray(), made["array"])
    assert (made["array"].sum(axis=1) == 3).all()
    assert list(made["encoded"].names) == BucketFeatures().fit(X).get_feature_names_out().tolist()


def test_a_linear_model_reads_the_codes() -> None:
    X, y = rows(), rows(seed=2)[:, 0]
    fits = [Ridge(alpha=0.1).fit(BucketFeatures(output=kind).fit_transform(X), y) for kind in ("array", "encoded")]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-10)


def test_one_column_of_buckets_gives_the_mean_of_each() -> None:
    x, y = rows(d=1), rows(seed=3)[:, 0]
    features = BucketFeatures("quantiles", n_buckets=4).fit(x)
    codes = BucketFeatures("quantiles", n_buckets=4, output="codes").fit_transform(x)[:, 0]
    model = LinearRegression(fit_intercept=False).fit(features.transform(x), y)
    np.testing.assert_allclose(model.coef_, [y[codes == k].mean() for k in range(4)], rtol=1e-10)


def test_edges_given_for_all_or_by_column() -> None:
    X = pd.DataFrame({"age": [5.0, 20.0, 44.0, 130.0], "N": [3.0, 10.0, 99.0, 1e6]})
    features = BucketFeatures({"age": [0, 18, 65, 100], "N": [0, 10, 100, 1000]}, output="array").fit(X)
    assert features.get_feature_names_out().tolist() == [
        "age < 18", "age in [18, 65)", "age >= 65", "N < 10", "N in [10, 100)", "N >= 100",
    ]  # fmt: skip
    codes = [[0, 0], [1, 1], [1, 1], [2, 2]]
    expected = np.array([np.append(np.eye(3)[a], np.eye(3)[b]) for a, b in codes])
    np.testing.assert_array_equal(features.transform(X), expected)
    np.testing.assert_array_equal(BucketFeatures([-np.inf, 18, np.inf]).fit(X).n_buckets_, [2, 2])
    mixed = BucketFeatures({1: [0, 10, 100]}, n_buckets=2).fit(X)
    assert mixed.get_feature_names_out().tolist() == ["age < 32", "age >= 32", "N < 10", "N >= 10"]


def test_decades() -> None:
    X = pd.DataFrame({"N": [0.0, 7.0, 12.0, 450.0, 9.0]})
    features = BucketFeatures("decades").set_output(transform="pandas").fit(X)
    assert features.transform(X).columns.tolist() == ["N < 10", "N in [10, 100)", "N >= 100"]
    assert features.transform(pd.DataFrame({"N": [-4.0, 1e12]})).to_numpy().tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("output", ["sparse", "array"])
def test_missing_values(output: str) -> None:
    X = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0]])
    own = BucketFeatures("width", n_buckets=2, output=output).fit(X)
    assert own.get_feature_names_out().tolist() == ["x0 < 2", "x0 >= 2", "x0 missing", "x1 < 6", "x1 >= 6"]
    found = own.transform([[np.nan, np.nan]])  # the second had none in the fit
    assert (found.toarray() if output == "sparse" else found).tolist() == [[0, 0, 1, 0, 0]]
    zeros = BucketFeatures("width", n_buckets=2, missing="zeros", output=output).fit_transform(X)
    assert (zeros.toarray() if output == "sparse" else zeros).tolist()[1] == [0, 0, 0, 1]
    with pytest.raises(NonFiniteError, match="'x0' has a missing value in row 1"):
        BucketFeatures(missing="error").fit(X)


@pytest.mark.parametrize("buckets", ["quantiles", "width", "decades"])
def test_columns_that_do_not_vary_have_one_bucket(buckets: str) -> None:
    X = np.column_stack([np.full(5, np.nan), np.full(5, 3.0)])
    features = BucketFeatures(buckets, output="array").fit(X)
    assert features.n_buckets_.tolist() == [1, 1]
    assert features.transform(X).tolist() == [[0, 1, 1]] * 5
    assert BucketFeatures(buckets).fit_transform([[2.0]]).toarray().tolist() == [[1.0]]


@pytest.mark.parametrize("buckets", ["quantiles", "width", "decades"])
@pytest.mark.parametrize("scale", [1e-150, 1e150, 1.7e308])
def test_extreme_scales(buckets: str, scale: float) -> None:
    X = np.linspace(-1, 1, 21)[:, None] * scale
    features = BucketFeatures(buckets, n_buckets=5, output="codes").fit(X)
    codes = features.transform(X)[:, 0]
    assert (np.diff(codes) >= 0).all()
    assert codes[-1] == features.n_buckets_[0] - 1


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_are_accepted(frame: Any) -> None:
    X = frame({"age": [10.0, 25.0, 60.0]})
    features = BucketFeatures([0, 20, 30, 90]).fit(X)
    assert features.get_feature_names_out()[1] == "age in [20, 30)"
    assert features.transform(X).toarray().tolist() == np.eye(3).tolist()
    assert features.set_output(transform="polars").transform(X).columns[1] == "age in [20, 30)"


def test_single_precision_read_only_pickle() -> None:
    X = rows().astype(np.float32)
    X.flags.writeable = False
    features = BucketFeatures().fit(X)
    found = features.transform(X)
    assert found.dtype == np.float32
    assert abs(pickle.loads(pickle.dumps(features)).transform(X) - found).max() == 0


def test_invalid_edges_are_rejected() -> None:
    X = rows()
    for edges in ([1.0], [0, 0, 1], [2, 1], [0, np.nan, 1], ["a", "b"], [[0, 1], [2, 3]]):
        with pytest.raises(BinsError, match="every column must be two or more increasing"):
            BucketFeatures(edges).fit(X)
    with pytest.raises(ColumnMismatchError, match=r"'weight'.*no such column"):
        BucketFeatures({"weight": [0, 1]}).fit(X)
    with pytest.raises(InvalidParameterError, match="buckets"):
        BucketFeatures("deciles").fit(X)
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
        BucketFeatures().fit(sp.csr_array(X))


def test_the_output_may_change_after_the_fit() -> None:
    x = np.array([[1.0], [20.0], [300.0]])
    features = BucketFeatures("decades", output="codes").fit(x)
    assert features.transform(x)[:, 0].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(features.set_params(output="sparse").transform(x).toarray(), np.eye(3))
    np.testing.assert_array_equal(features.set_params(output="array").transform(x), np.eye(3))
