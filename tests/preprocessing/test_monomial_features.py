"""MonomialFeatures: scikit-learn's numbers and names, the polynomial kernel's map, and errors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils._param_validation import InvalidParameterError

from mercer import KernelRidge, MonomialFeatures, Ridge
from mercer._errors import DataError, NonFiniteError, TooLargeError
from mercer.kernels import Polynomial

Array = np.ndarray


def rows(n: int = 40, d: int = 4, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


INPUTS: dict[str, Any] = {
    "dense": rows(),
    "F order": np.asfortranarray(rows()),
    "strided": rows(d=8)[::2, ::2],
    "integers": (10 * rows()).astype(int),
    "one row": rows(1),
    "one column": rows(d=1),
    "sparse": sp.random(60, 5, 0.3, format="csr", random_state=0),
    "CSC": sp.random_array((60, 5), density=0.3, format="csc", rng=np.random.default_rng(0)),
    "lists": rows(3).tolist(),
    "pandas": pd.DataFrame(rows(), columns=list("abcd")),
    "1e8": rows() + 1e8,
    "1e90": rows() * 1e90,
    "1e-90": rows() * 1e-90,
}


@pytest.mark.parametrize("X", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("interaction_only", [False, True])
def test_features_and_names_agree_with_scikit_learn(X: Any, degree: int, interaction_only: bool) -> None:
    ours, theirs = (
        made(degree, interaction_only=interaction_only).fit(X) for made in (MonomialFeatures, PolynomialFeatures)
    )
    mine, others = ours.transform(X), theirs.transform(X)
    assert sp.issparse(mine) == sp.issparse(others)
    if sp.issparse(mine):
        assert mine.format == "csr"
        mine, others = mine.toarray(), others.toarray()
    assert mine.flags.c_contiguous
    np.testing.assert_allclose(mine, others, rtol=1e-14)
    np.testing.assert_array_equal(ours.powers(), theirs.powers_)
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    assert ours.n_output_features_ == theirs.n_output_features_ == ours.count(ours.n_features_in_)


def test_counts_of_the_lecture() -> None:
    """Ten of degree 3 in three columns, 314,457,495 of degree 8 in forty, and 377,348,994 up to it."""
    assert MonomialFeatures(3, exactly=True).count(3) == 10
    assert MonomialFeatures(8, exactly=True).count(40) == 314_457_495
    assert MonomialFeatures(8).count(40) == 377_348_994
    assert MonomialFeatures(8).fit(np.ones((3, 40))).n_output_features_ == 377_348_994


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_scaled_features_are_the_map_of_the_polynomial_kernel(degree: int, exactly: bool) -> None:
    X, Z = rows(), rows(7, seed=1)
    features = MonomialFeatures(degree, exactly=exactly, scaled=True, constant=2.0).fit(X)
    kernel = Polynomial(degree=degree, constant=0.0 if exactly else 2.0)
    K = kernel(X, Z)
    np.testing.assert_allclose(features.transform(X) @ features.transform(Z).T, K, atol=1e-12 * np.abs(K).max())
    np.testing.assert_allclose(features.transform(X), kernel.feature_map(4)(X), rtol=1e-14)


def test_ridge_on_scaled_features_is_kernel_ridge() -> None:
    X, y = rows(), rows(d=1, seed=3)[:, 0]
    explicit = make_pipeline(MonomialFeatures(3, scaled=True), Ridge(alpha=0.5, fit_intercept=False)).fit(X, y)
    implicit = KernelRidge(alpha=0.5, kernel=Polynomial(degree=3)).fit(X, y)
    np.testing.assert_allclose(explicit.predict(X), implicit.predict(X), atol=1e-9)


def test_single_precision_and_missing_values_are_kept() -> None:
    X = rows().astype(np.float32)
    X[3, 1] = np.nan
    features = MonomialFeatures(3).fit_transform(X)
    assert features.dtype == np.float32
    powers = MonomialFeatures(3).fit(X).powers()
    np.testing.assert_array_equal(np.isnan(features[3]), powers[:, 1] > 0)
    assert np.isfinite(np.delete(features, 3, axis=0)).all()
    stored = sp.csr_array(np.nan_to_num(X, nan=7.0))
    assert MonomialFeatures(2, scaled=True).fit_transform(stored).dtype == np.float32


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_and_their_names(frame: Any) -> None:
    X = frame({"height": [60.0, 70.0], "weight": [52, 71]})
    features = MonomialFeatures(2, include_bias=False).fit(X)
    assert features.get_feature_names_out().tolist() == [
        "height", "weight", "height^2", "height weight", "weight^2",
    ]  # fmt: skip
    np.testing.assert_array_equal(features.transform(X)[0], [60, 52, 3600, 3120, 2704])
    out = features.set_output(transform="polars").transform(X)
    assert out.columns[3] == "height weight"


def test_missing_in_frames() -> None:
    X = pl.DataFrame({"a": [1.0, None], "b": [2, 3]})
    np.testing.assert_array_equal(MonomialFeatures(2, exactly=True).fit_transform(X)[1], [np.nan, np.nan, 9.0])


@pytest.mark.parametrize("X", [rows(), sp.csr_array(rows())], ids=["dense", "sparse"])
def test_read_only_pickled_and_cloned(X: Any) -> None:
    values = X.data if sp.issparse(X) else X
    values.flags.writeable = False
    features = MonomialFeatures(2, scaled=True).fit(X)
    again = pickle.loads(pickle.dumps(features)).transform(X)
    assert abs(again - features.transform(X)).max() == 0
    assert abs(clone(features).fit_transform(X) - again).max() == 0
    values.flags.writeable = True


def test_features_beyond_memory_are_rejected_before_they_are_computed() -> None:
    features = MonomialFeatures(8).fit(np.ones((3, 40)))
    with pytest.raises(TooLargeError, match=r"377,348,994 monomials.*KernelRidge\(kernel=Polynomial\(degree=8\)\)"):
        features.transform(np.ones((10_000, 40)))
    with pytest.raises(TooLargeError, match="a table of 377,348,994 monomials"):
        features.powers()
    with pytest.raises(TooLargeError, match="a list of 377,348,994 names"):
        features.get_feature_names_out()
    assert "MonomialFeatures" in features._repr_html_()  # which reads every attribute
    with pytest.raises(TooLargeError, match="constant=0"):
        MonomialFeatures(8, exactly=True).fit_transform(np.ones((10_000, 40)))


def test_contradictory_options_are_rejected() -> None:
    X = rows()
    with pytest.raises(DataError, match="interaction_only"):
        MonomialFeatures(2, scaled=True, interaction_only=True).fit(X)
    with pytest.raises(DataError, match="include_bias"):
        MonomialFeatures(2, scaled=True, include_bias=False).fit(X)
    with pytest.raises(DataError, match="no monomials of degree 5 in 4 columns"):
        MonomialFeatures(5, exactly=True, interaction_only=True).fit(X)
    with pytest.raises(InvalidParameterError, match="degree"):
        MonomialFeatures(-1).fit(X)
    with pytest.raises(InvalidParameterError, match="degree"):
        MonomialFeatures(2.5).count(3)
    with pytest.raises(NonFiniteError, match="'x1' is inf in row 2"):
        MonomialFeatures().fit(np.where(np.arange(12).reshape(3, 4) == 9, np.inf, 1.0))
    with pytest.raises(ValueError, match="expecting 4 features"):
        MonomialFeatures().fit(X).transform(X[:, :2])


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_products_that_are_too_large_are_named(wrap: Any) -> None:
    X = wrap(np.array([[1.0, 2.0], [3.0, 1e200], [np.nan, 1.0]]))
    with pytest.raises(NonFiniteError, match=r"product 'x1 x1' of row 1 is beyond float64: numbers are up to 1e\+200"):
        MonomialFeatures(2).fit(X)
    assert MonomialFeatures(1).fit_transform(X).shape == (3, 3)


def test_a_fit_rejects_products_as_transform_does() -> None:
    X = np.ones((50_000, 20), np.float32)
    X[40_000, 3], X[40_001, 4] = 1e30, -1e30
    said = "The product 'x3 x3' of row 40000 is beyond float32"
    features = MonomialFeatures(2).fit(X[:100])
    with pytest.raises(NonFiniteError, match=said):
        features.transform(X)
    with pytest.raises(NonFiniteError, match=said):
        features.fit(X)
    assert features.transform(X[:2]).shape == (2, 231)
    MonomialFeatures(2, interaction_only=True).fit(X)  # no row has two of the large numbers


def test_a_failed_fit_leaves_the_old_transformer() -> None:
    features = MonomialFeatures(2).fit(rows())
    with pytest.raises(NonFiniteError):
        features.fit(np.full((2, 3), np.inf))
    assert features.n_features_in_ == 4
    assert "15 monomials of 4 columns" in str(features.plan_)
