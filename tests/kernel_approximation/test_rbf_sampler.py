"""RBFSampler: scikit-learn's numbers and conventions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import kernel_approximation
from sklearn.base import clone
from sklearn.pipeline import make_union
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

from mercer import RBFSampler
from mercer._errors import ColumnMismatchError, DataError, NonFiniteError, TooLargeError
from tests.kernel_approximation._kernel_features import normal_rows as rows

INPUTS: dict[str, Any] = {
    "dense": rows(),
    "F order": np.asfortranarray(rows()),
    "strided": rows(d=8)[::2, ::2],
    "integers": (10 * rows()).astype(int),
    "one row": rows(1),
    "one column": rows(d=1),
    "constant columns": np.column_stack([rows(), np.ones((60, 2))]),
    "nothing varies": np.ones((5, 3)),
    "sparse": sp.random(60, 9, 0.3, format="csr", random_state=0),
    "CSC": sp.random_array((60, 9), density=0.3, format="csc", rng=np.random.default_rng(0)),
    "lists": rows(3).tolist(),
    "frame": pd.DataFrame(rows(), columns=list("abcd")),
    "many columns": rows(20, 300),
}


@pytest.mark.parametrize("X", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("gamma", [1.0, 0.0, "scale"])
@pytest.mark.parametrize("M", [1, 100])
def test_features_agree_with_scikit_learn(X: Any, gamma: Any, M: int) -> None:
    ours, theirs = (
        made(gamma=gamma, n_components=M, random_state=0).fit(X)
        for made in (RBFSampler, kernel_approximation.RBFSampler)
    )
    np.testing.assert_allclose(ours.random_weights_, theirs.random_weights_, rtol=1e-14)
    np.testing.assert_array_equal(ours.random_offset_, theirs.random_offset_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=0, atol=1e-11)


@pytest.mark.parametrize("fitted", [np.float32, np.float64])
@pytest.mark.parametrize("given", [np.float32, np.float64])
def test_dtypes_agree_with_scikit_learn(fitted: Any, given: Any) -> None:
    X = rows()
    ours, theirs = (
        made(random_state=0).fit(X.astype(fitted)).transform(X.astype(given))
        for made in (RBFSampler, kernel_approximation.RBFSampler)
    )
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, atol=1e-5 if np.float32 in (fitted, given) else 1e-12)


def test_large_angles_have_all_attainable_digits() -> None:
    """For x of 1e8 the product wᵀx has a rounding of 1e-8 in any implementation."""
    X = rows() + 1e8
    ours, theirs = (made(random_state=0).fit(X).transform(X) for made in (RBFSampler, kernel_approximation.RBFSampler))
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_read_only_rows_are_accepted() -> None:
    X = rows()
    X.flags.writeable = False
    assert RBFSampler(random_state=0).fit_transform(X).flags.writeable


def test_the_same_seed_gives_the_same_map() -> None:
    X, sampler = rows(), RBFSampler(n_components=7, random_state=3)
    first = sampler.fit_transform(X)
    np.testing.assert_array_equal(clone(sampler).fit_transform(X), first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sampler)).transform(X), first)


def test_features_are_combined_with_other_features() -> None:
    """Lecture 5: the features are appended to others."""
    X = pd.DataFrame(rows(), columns=list("abcd"))
    union = make_union(StandardScaler(), RBFSampler(n_components=3, random_state=0)).set_output(transform="pandas")
    out = union.fit_transform(X)
    assert list(out.columns)[-3:] == [f"rbfsampler__rbfsampler{i}" for i in range(3)]
    assert out.shape == (60, 7)


def test_frames_of_polars_in_and_out() -> None:
    X = pl.DataFrame(rows(), schema=list("abcd"))
    out = RBFSampler(n_components=3, random_state=0).set_output(transform="polars").fit_transform(X)
    assert out.columns == ["rbfsampler0", "rbfsampler1", "rbfsampler2"]


def test_invalid_input_is_rejected() -> None:
    X = rows()
    sampler = RBFSampler(random_state=0).fit(X)
    before = sampler.transform(X)
    holed = X.copy()
    holed[3, 1] = np.nan
    for method in (sampler.fit, sampler.transform):
        with pytest.raises(NonFiniteError, match=r"Input X contains NaN\. Column 'x1' .* row 3"):
            method(holed)
    with pytest.raises(NonFiniteError, match="infinity"):
        sampler.transform(np.full((2, 4), np.inf))
    with pytest.raises(ValueError, match="3 features"):
        sampler.transform(X[:, :3])
    with pytest.raises(InvalidParameterError, match="n_components"):
        RBFSampler(n_components=0).fit(X)
    np.testing.assert_array_equal(sampler.transform(X), before)  # a failed fit leaves the model that was there


def test_features_that_do_not_fit_into_memory_are_rejected() -> None:
    X = sp.csr_matrix((200_000_000, 1))
    sampler = RBFSampler(n_components=1_000_000, random_state=0).fit(X[:3])
    with pytest.raises(TooLargeError, match="200,000,000 rows of 1,000,000 features"):
        sampler.transform(X)


@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-9), ("float32", 1e-5)])
@pytest.mark.parametrize("gamma", [0.5, "scale"])
def test_tensors(dtype: str, error: float, gamma: Any) -> None:
    torch = pytest.importorskip("torch")
    X = rows().astype(dtype)
    T = torch.as_tensor(X)
    ours, fitted = (RBFSampler(gamma=gamma, random_state=0).fit(data) for data in (X, T))
    assert isinstance(fitted.random_weights_, np.ndarray)
    assert fitted.random_weights_.dtype == X.dtype
    for sampler in (ours, fitted):
        found = sampler.transform(T)
        assert found.dtype == T.dtype
        np.testing.assert_allclose(found.numpy(), ours.transform(X), atol=error)
        np.testing.assert_allclose(sampler.transform(X), ours.transform(X), atol=error)
    assert "cpu" in str(fitted.plan_)
    holed = T.clone()
    holed[3, 1] = float("nan")
    with pytest.raises(NonFiniteError, match=r"'x1' .* row 3"):
        fitted.transform(holed)
    with pytest.raises(ColumnMismatchError):
        fitted.transform(T[:, :2])


def test_the_variance_of_small_integers_does_not_overflow() -> None:
    """Squares of 8 bits overflow: the variance was negative, and γ no real number."""
    X = np.random.default_rng(0).integers(0, 250, size=(20, 3)).astype(np.uint8)
    expected = RBFSampler(gamma="scale", random_state=0).fit(X.astype(float)).random_weights_
    sampled = RBFSampler(gamma="scale", random_state=0).fit(sp.csr_array(X)).random_weights_
    np.testing.assert_allclose(sampled, expected, rtol=1e-12)


def test_a_variance_that_overflows_is_rejected() -> None:
    with pytest.raises(DataError, match=r"^The variance of X is too large for float64"):
        RBFSampler(gamma="scale").fit([[1e300], [-1e300], [0.0]])


@pytest.mark.parametrize("unit", [1e-20, 1e-25, 1e-40, 1e25])
@pytest.mark.parametrize("form", ["array", "sparse", "tensor"])
def test_a_variance_beyond_single_precision(unit: float, form: str) -> None:
    """Squares of 1e-20 vanish in float32: the variance was 0, or had no inverse. Frequencies of 1e40 are float64."""
    X = (unit * rows(d=2)).astype(np.float32)
    expected = RBFSampler(gamma="scale", random_state=0).fit_transform(X.astype(float))
    given: Any = X
    if form == "tensor":
        given = pytest.importorskip("torch").as_tensor(X)
    elif form == "sparse":
        given = sp.csr_array(X)
    sampler = RBFSampler(gamma="scale", random_state=0).fit(given)
    assert sampler.random_weights_.dtype == (np.float64 if unit == 1e-40 else np.float32)
    np.testing.assert_allclose(np.asarray(sampler.transform(given)), expected, atol=1e-5)


def test_a_variance_without_an_inverse_is_rejected() -> None:
    with pytest.raises(DataError, match=r"^The variance of X is too small"):
        RBFSampler(gamma="scale").fit([[1e-155], [-1e-155], [0.0]])
