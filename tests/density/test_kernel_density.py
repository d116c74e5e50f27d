"""KernelDensity: scikit-learn's numbers, those of SciPy and statsmodels, and what none of them has."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import neighbors
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError
from statsmodels.nonparametric.kernel_density import KDEMultivariate

from mercer import KernelDensity
from mercer._errors import BandwidthError, DataError, KernelError, NoClosedFormError, NonFiniteError, SupportError
from mercer.density import Adaptive, Bandwidth, Epanechnikov, Exponential, Gaussian, smoothing_kernel_from
from tests.density._rows import rows

Array = np.ndarray
THEIRS = ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]
OURS = [*THEIRS, "uniform", "triangular", "biweight", "triweight"]

# scikit-learn's numbers.


@pytest.mark.parametrize("kernel", THEIRS)
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("bandwidth", [0.7, "scott", "silverman"])
@pytest.mark.parametrize("weighted", [False, True])
def test_log_densities_agree_with_scikit_learn(kernel: str, d: int, bandwidth: Any, weighted: bool) -> None:
    X, Q = rows(d=d), rows(20, d, seed=1)
    weight = np.random.default_rng(2).uniform(size=len(X)) if weighted else None
    ours = KernelDensity(kernel=kernel, bandwidth=bandwidth).fit(X, sample_weight=weight)
    theirs = neighbors.KernelDensity(kernel=kernel, bandwidth=bandwidth).fit(X, sample_weight=weight)
    # with an even number of columns theirs lacks a term of the normaliser: it divides by 2π · 2/π in two
    wrong = np.log(2 / np.pi / (2 / np.pi - 4 / np.pi**2)) if kernel == "cosine" and d == 2 else 0.0
    np.testing.assert_allclose(ours.score_samples(Q), theirs.score_samples(Q) + wrong, rtol=1e-10, atol=1e-10)
    assert ours.bandwidth_ == pytest.approx(theirs.bandwidth_, rel=1e-14)
    assert isinstance(ours.bandwidth_, float)
    assert ours.score(X) == pytest.approx(theirs.score(X) + wrong * len(X), rel=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "tophat"])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_agree_with_scikit_learn(kernel: str, weighted: bool) -> None:
    X, weight = rows(), np.arange(40.0) if weighted else None
    ours = KernelDensity(kernel=kernel, bandwidth=0.3).fit(X, sample_weight=weight)
    theirs = neighbors.KernelDensity(kernel=kernel, bandwidth=0.3).fit(X, sample_weight=weight)
    np.testing.assert_allclose(ours.sample(30, random_state=7), theirs.sample(30, random_state=7), rtol=1e-12)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "haversine", "canberra"])
def test_other_metrics_are_left_to_scikit_learn(metric: str) -> None:
    X, Q = rows(), rows(9, seed=1)
    ours, theirs = (
        module(metric=metric, kernel="linear", bandwidth=2.0).fit(X)
        for module in (KernelDensity, neighbors.KernelDensity)
    )
    np.testing.assert_array_equal(ours.score_samples(Q), theirs.score_samples(Q))
    assert metric in ours.plan_.path
    with pytest.raises(NoClosedFormError, match="Euclidean"):
        ours.quantile(0.5)
    with pytest.raises(NotImplementedError):
        ours.sample()
    with pytest.raises(NoClosedFormError, match="Euclidean"):
        ours.set_params(support=(-9, 9)).fit(X)


def test_options_incompatible_with_other_metrics_are_rejected() -> None:
    with pytest.raises(KernelError, match="triweight"):
        KernelDensity(metric="manhattan", kernel="triweight").fit(rows())
    with pytest.raises(BandwidthError, match="one bandwidth"):
        KernelDensity(metric="manhattan", bandwidth=[0.1, 0.2]).fit(rows())


def test_minkowski_is_euclidean_unless_p_says_otherwise() -> None:
    X = rows()
    euclidean = KernelDensity().fit(X).score_samples(X)
    np.testing.assert_array_equal(KernelDensity(metric="minkowski").fit(X).score_samples(X), euclidean)
    theirs = neighbors.KernelDensity(metric="minkowski", metric_params={"p": 1}).fit(X).score_samples(X)
    ours = KernelDensity(metric="minkowski", metric_params={"p": 1}).fit(X).score_samples(X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


# SciPy's and statsmodels' numbers.


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_densities_agree_with_scipy(d: int, weighted: bool) -> None:
    X, Q, weight = rows(d=d), rows(20, d, seed=1), np.arange(1.0, 41.0) if weighted else None
    kde = stats.gaussian_kde(X.T, weights=weight)
    model = KernelDensity(bandwidth=kde.covariance).fit(X, sample_weight=weight)
    np.testing.assert_allclose(np.exp(model.score_samples(Q)), kde(Q.T), rtol=1e-10)


def test_densities_agree_with_statsmodels() -> None:
    X, Q = rows(), rows(20, seed=1)
    kde = KDEMultivariate(X, "cc", bw=[0.4, 0.8])
    model = KernelDensity(bandwidth=[0.4, 0.8]).fit(X)
    np.testing.assert_allclose(np.exp(model.score_samples(Q)), kde.pdf(Q), rtol=1e-10)
    np.testing.assert_allclose(model.cdf(Q), kde.cdf(Q), rtol=1e-10)


# Bandwidths.


@pytest.mark.parametrize(
    "bandwidth",
    [0.5, [0.5, 0.7], [[0.5, 0.1], [0.1, 0.7]], Bandwidth(0.5, sensitivity=0.5), "scott-scaled", "silverman-scaled"],
)
def test_every_form_of_a_bandwidth_is_accepted(bandwidth: Any) -> None:
    model = KernelDensity(bandwidth=bandwidth).fit(rows())
    assert np.isfinite(model.score_samples(rows(seed=1))).all()
    assert model.sample(3, random_state=0).shape == (3, 2)
    assert model.bandwidth_choice_.value is model.bandwidth_
    again = KernelDensity(bandwidth=model.bandwidth_choice_).fit(rows())
    np.testing.assert_array_equal(again.score_samples(rows()), model.score_samples(rows()))


@pytest.mark.parametrize("rule", ["isj", "plugin", "likelihood-cv", "least-squares-cv", Adaptive()], ids=str)
def test_rules_are_given_by_name_or_as_objects(rule: Any) -> None:
    model = KernelDensity(bandwidth=rule).fit(rows(150, 1))
    assert 0.1 < model.bandwidth_ < 0.9
    assert clone(model).fit(rows(150, 1)).bandwidth_ == model.bandwidth_
    if rule != "isj":
        assert np.isfinite(KernelDensity(bandwidth=rule).fit(rows()).score_samples(rows())).all()


@given(st.floats(-8, 8), st.sampled_from(["scott-scaled", "silverman-scaled"]))
@settings(max_examples=20)
def test_scaling_the_data_by_c_divides_the_density_by_c(exponent: float, rule: str) -> None:
    X, c = rows(), 10**exponent
    once, scaled = KernelDensity(bandwidth=rule).fit(X), KernelDensity(bandwidth=rule).fit(c * X)
    np.testing.assert_allclose(scaled.bandwidth_, c * once.bandwidth_, rtol=1e-9)
    np.testing.assert_allclose(scaled.score_samples(c * X) + 2 * np.log(c), once.score_samples(X), atol=1e-8)


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan])
def test_an_invalid_bandwidth_gives_the_error_of_scikit_learn(bandwidth: float) -> None:
    with pytest.raises(InvalidParameterError, match="'bandwidth' parameter"):
        KernelDensity(bandwidth=bandwidth).fit(rows())


@pytest.mark.parametrize("bandwidth", [[1.0, 0.0], [1.0], [[1.0, 2.0], [2.0, 1.0]], "scot"])
def test_other_invalid_bandwidths_are_rejected(bandwidth: Any) -> None:
    with pytest.raises(BandwidthError):
        KernelDensity(bandwidth=bandwidth).fit(rows())


def test_a_constant_column_and_a_single_point_have_a_density_only_with_a_number() -> None:
    frame = pd.DataFrame({"height": [1.0, 2.0, 3.0], "unit": [5.0, 5.0, 5.0]})
    with pytest.raises(BandwidthError, match="'unit' is constant"):
        KernelDensity(bandwidth="scott-scaled").fit(frame)
    assert np.isfinite(KernelDensity().fit(frame).score_samples(frame)).all()
    with pytest.raises(BandwidthError, match="1 point"):
        KernelDensity(bandwidth="scott-scaled").fit([[1.0]])
    assert KernelDensity().fit([[1.0]]).score_samples([[1.0]]) == pytest.approx(-0.5 * np.log(2 * np.pi))


def test_many_more_columns_than_rows() -> None:
    X = rows(5, 300)
    assert np.isfinite(KernelDensity().fit(X).score_samples(X)).all()
    theirs = neighbors.KernelDensity().fit(X).score_samples(X)
    np.testing.assert_allclose(KernelDensity().fit(X).score_samples(X), theirs, rtol=1e-10)


# Input.


@pytest.mark.parametrize("kernel", [*OURS, Epanechnikov("product")], ids=str)
def test_kernels_are_given_by_name_or_as_objects(kernel: Any) -> None:
    model = KernelDensity(kernel=kernel, bandwidth=1.5).fit(rows())
    drawn = model.sample(200, random_state=1)
    assert np.isfinite(model.score_samples(drawn)).all()
    assert model.kernel_ == smoothing_kernel_from(kernel)


def test_input_of_any_kind_gives_the_same_density() -> None:
    X = rows().astype(np.float32)
    expected = KernelDensity().fit(X.astype(float)).score_samples(X.astype(float))
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    frame = pd.DataFrame(X, columns=["a", "b"])
    for same in (X, frozen, frame, pl.from_pandas(frame), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_allclose(KernelDensity().fit(same).score_samples(same), expected, rtol=1e-12)
    assert KernelDensity().fit(frame).feature_names_in_.tolist() == ["a", "b"]


def test_the_model_does_not_follow_changes_of_x() -> None:
    X = rows()
    model = KernelDensity().fit(X)
    before = model.score_samples(rows())
    X[:] = 0
    np.testing.assert_array_equal(model.score_samples(rows()), before)


def test_nan_and_infinity_are_named() -> None:
    frame = pd.DataFrame(rows(), columns=["a", "b"])
    model = KernelDensity().fit(frame)
    before = model.score_samples(frame)
    for bad, message in (
        (np.nan, r"^Input X contains NaN\..*'b'.*row 3.*integrate"),
        (np.inf, r"^Input X contains infinity.*'b' is inf in row 3"),
    ):
        frame.iloc[3, 1] = bad
        with pytest.raises(NonFiniteError, match=message):
            model.score_samples(frame)
        with pytest.raises(NonFiniteError, match=message):
            model.fit(frame)
    np.testing.assert_array_equal(model.score_samples(pd.DataFrame(rows(), columns=["a", "b"])), before)


@pytest.mark.parametrize("weight", [-np.ones(40), np.zeros(40), np.ones((40, 2)), np.ones(3)])
def test_invalid_weights_are_rejected(weight: Array) -> None:
    with pytest.raises(ValueError):
        KernelDensity().fit(rows(), sample_weight=weight)
    with pytest.raises(ValueError):
        neighbors.KernelDensity().fit(rows(), sample_weight=weight)


def test_rows_of_weight_zero_have_no_effect() -> None:
    X, weight = rows(), np.r_[np.zeros(10), np.full(30, 1e-150)]
    for kernel in OURS:
        found = KernelDensity(kernel=kernel).fit(X, sample_weight=weight).score_samples(X)
        expected = KernelDensity(kernel=kernel).fit(X[10:]).score_samples(X)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", [*map(smoothing_kernel_from, ("gaussian", "exponential")), Exponential("product")])
def test_log_densities_of_unbounded_kernels_are_finite(kernel: Any) -> None:
    model = KernelDensity(bandwidth=1e-3, kernel=kernel).fit(rows())
    far = model.score_samples([[1e3, 0], [1e8, 1e8], [-1e140, 0], [1e300, -1e300], [-1.7e308, 1.7e308]])
    assert np.isfinite(far).all()
    assert (np.diff(far) <= 0).all()


def test_the_log_density_is_minus_infinity_beyond_a_compact_kernel() -> None:
    assert KernelDensity(kernel="epanechnikov").fit(rows()).score_samples([[1e3, 0]]) == -np.inf


def test_data_offset_by_1e8_keep_four_digits() -> None:
    X = rows().round(3)
    near, far = KernelDensity(bandwidth=0.01).fit(X), KernelDensity(bandwidth=0.01).fit(X + 1e8)
    np.testing.assert_allclose(far.score_samples(X + 1e8), near.score_samples(X), rtol=1e-4)


# Bounds.


@pytest.mark.parametrize("boundary", ["reflect", "transform"])
def test_densities_respect_bounds(boundary: str) -> None:
    frame = pd.DataFrame(
        {"share": np.random.default_rng(0).beta(1, 3, 60), "age": np.random.default_rng(1).gamma(2, size=60)}
    )
    model = KernelDensity(bandwidth=0.3, support={"share": (0, 1), "age": (0, None)}, boundary=boundary).fit(frame)
    drawn = model.sample(300, random_state=0)
    assert np.isfinite(model.score_samples(pd.DataFrame(drawn, columns=["share", "age"]))).all()
    outside = pd.DataFrame({"share": [1.1, 0.5], "age": [1.0, -0.1]})
    assert model.score_samples(outside).tolist() == [-np.inf, -np.inf]
    frame.loc[4, "age"] = -2.0
    with pytest.raises(SupportError, match=r"'age' is -2 in row 4"):
        clone(model).fit(frame)


def test_a_bandwidth_is_chosen_in_the_transformed_coordinates() -> None:
    X = np.random.default_rng(0).lognormal(sigma=2, size=(200, 1))
    bounded = KernelDensity(bandwidth="scott-scaled", support=(0, None), boundary="transform").fit(X)
    assert bounded.bandwidth_ == KernelDensity(bandwidth="scott-scaled").fit(np.log(X)).bandwidth_


def test_invalid_bounds_are_rejected() -> None:
    with pytest.raises(SupportError):
        KernelDensity(support=(1, 0)).fit(rows())
    with pytest.raises(InvalidParameterError, match="'boundary' parameter"):
        KernelDensity(boundary="wrap").fit(rows())


# Draws.


def test_samples_are_drawn() -> None:
    model = KernelDensity(kernel="cosine").fit(rows())
    assert model.sample(0).shape == (0, 2)
    same = [model.sample(5, random_state=np.random.default_rng(3)) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    with pytest.raises(DataError, match="n_samples"):
        model.sample(1.5)


# Conventions.


def test_copies_keep_parameters() -> None:
    model = KernelDensity(kernel=Gaussian(), bandwidth=Bandwidth(0.5), support=(-9, 9)).fit(rows())
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(kept.score_samples(rows()), model.score_samples(rows()))
    assert clone(model).get_params()["support"] == (-9, 9)
    assert model.certificate_.holds
    assert "gaussian" in str(model.plan_)


def test_caches_are_not_pickled() -> None:
    model = KernelDensity(bandwidth=Bandwidth(0.5, sensitivity=0.5)).fit(rows(500, 1))
    before = len(pickle.dumps(model))
    expected = model.score_samples(rows(5, 1)), model.quantile(0.3)
    assert len(pickle.dumps(model)) < before + 5000
    kept = pickle.loads(pickle.dumps(model))
    assert (kept.score_samples(rows(5, 1)) == expected[0]).all()
    assert kept.quantile(0.3) == expected[1]


def test_the_plan_states_whether_densities_are_approximate() -> None:
    X = np.abs(rows(d=1))
    assert KernelDensity().fit(X).plan_.exact
    assert not KernelDensity(rtol=1e-3).fit(X).plan_.exact
    assert "Fourier" in KernelDensity(atol=1e-3).fit(X).plan_.path
    for exact in (
        KernelDensity(rtol=1e-3, kernel="cosine"),
        KernelDensity(rtol=1e-3, bandwidth=Bandwidth(0.5, sensitivity=0.5)),
        KernelDensity(atol=1e-3, support=(-1, None), boundary="transform"),
    ):
        assert exact.fit(X).plan_.exact
        assert "Fourier" not in exact.plan_.path


@pytest.mark.parametrize("tolerance", [{"rtol": 1e9}, {"atol": 1e300}, {"rtol": 1e-4}, {"atol": 1e-4}])
def test_tolerances_of_any_size_are_accepted(tolerance: dict[str, float]) -> None:
    X = rows(3000, 1)
    exact = np.exp(KernelDensity(bandwidth=0.2).fit(X).score_samples(X[:500]))
    found = np.exp(KernelDensity(bandwidth=0.2, **tolerance).fit(X).score_samples(X[:500]))
    assert (np.abs(found - exact) <= tolerance.get("rtol", 0) * exact + tolerance.get("atol", 0)).all()


def test_a_failed_fit_leaves_the_old_model() -> None:
    model = KernelDensity(bandwidth="scott-scaled").fit(rows())
    before = model.score_samples(rows())
    with pytest.raises(BandwidthError):
        model.fit(np.ones((4, 3)))
    with pytest.raises(BandwidthError):
        model.set_params(bandwidth=[1.0]).partial_fit(rows())
    np.testing.assert_array_equal(model.score_samples(rows()), before)


@pytest.mark.parametrize("bandwidth", [0.7, "scott-scaled"])
def test_tensors_agree_with_arrays(bandwidth):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, weight, queries = rng.normal(size=(200, 2)), rng.uniform(size=200), rng.normal(size=(40, 2)) * 20
    of_arrays = KernelDensity(bandwidth=bandwidth).fit(X, sample_weight=weight)
    of_tensors = KernelDensity(bandwidth=bandwidth).fit(torch.as_tensor(X), sample_weight=torch.as_tensor(weight))
    expected = of_arrays.score_samples(queries)
    found = of_tensors.score_samples(torch.as_tensor(queries))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(of_tensors.cdf(torch.as_tensor(queries)).numpy(), of_arrays.cdf(queries), rtol=1e-9)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(of_tensors.score_samples(queries), expected, rtol=1e-12)
    np.testing.assert_allclose(of_arrays.score_samples(torch.as_tensor(queries).float()).numpy(), expected, rtol=1e-5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(of_tensors)).bandwidth_, of_arrays.bandwidth_)
    assert of_tensors.plan_.device == "cpu"


@pytest.mark.parametrize("options", [{"support": (0, None)}, {"missing": "integrate"}, {"metric": "manhattan"}])
def test_tensors_are_accepted_where_sums_are_computed_in_main_memory(options):
    torch = pytest.importorskip("torch")
    X = np.abs(np.random.default_rng(0).normal(size=(60, 2)))
    model, queries = KernelDensity(**options).fit(torch.as_tensor(X)), X[:9].copy()
    if "missing" in options:
        queries[0, 0] = np.nan
    found = model.score_samples(torch.as_tensor(queries))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), model.score_samples(queries), rtol=1e-12)


def test_invalid_tensors_are_rejected():
    torch = pytest.importorskip("torch")
    model = KernelDensity().fit(torch.zeros(4, 2))
    with pytest.raises(ValueError, match="3 features, but KernelDensity is expecting 2"):
        model.score_samples(torch.zeros(4, 3))
    with pytest.raises(NonFiniteError, match="Column 'x1' is nan in row 2"):
        model.score_samples(torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, float("nan")]]))
    with pytest.raises(NonFiniteError):
        model.fit(torch.full((4, 2), float("inf")))
    assert model.n_features_in_ == 2
