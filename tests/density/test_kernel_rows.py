"""The rows that a kernel density is made of: more of them, those of another, and those with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import neighbors

from mercer import KernelDensity
from mercer._errors import BandwidthError, DataError, MergeError, NoClosedFormError
from mercer.density import Bandwidth, Epanechnikov
from tests.density._rows import rows

# More rows.


@pytest.mark.parametrize("bandwidth", [0.5, "scott-scaled", Bandwidth(0.4, sensitivity=0.5)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_merging_and_partial_fits_agree_with_one_fit(bandwidth: Any, weighted: bool) -> None:
    X, weight = rows(), np.arange(1.0, 41.0) if weighted else np.ones(40)
    options = {"bandwidth": bandwidth, "kernel": "biweight"}
    first, second = slice(0, 15), slice(15, 40)
    whole = KernelDensity(**options).fit(X, sample_weight=weight).score_samples(X)
    merged = KernelDensity(**options).fit(X[first], sample_weight=weight[first])
    merged.merge(KernelDensity(**options).fit(X[second], sample_weight=weight[second]))
    pieces = KernelDensity(**options).partial_fit(X[first], sample_weight=weight[first])
    pieces.partial_fit(X[second], sample_weight=weight[second])
    np.testing.assert_allclose(merged.score_samples(X), whole, rtol=1e-12)
    np.testing.assert_allclose(pieces.score_samples(X), whole, rtol=1e-12)


def test_pieces_with_and_without_weights_are_combined() -> None:
    X = rows()
    whole = KernelDensity().fit(X, sample_weight=np.r_[np.ones(20), np.full(20, 2.0)])
    pieces = KernelDensity().fit(X[:20]).partial_fit(X[20:], sample_weight=np.full(20, 2.0))
    np.testing.assert_allclose(pieces.score_samples(X), whole.score_samples(X), rtol=1e-12)


def test_models_with_different_parameters_do_not_merge() -> None:
    model = KernelDensity().fit(rows())
    for other, message in (
        (KernelDensity(bandwidth=2.0).fit(rows()), "bandwidth: 1.0 and 2.0"),
        (KernelDensity(bandwidth=[1.0, 1.0]).fit(rows()), "bandwidth"),
        (KernelDensity(kernel="cosine").fit(rows()), "kernel"),
        (KernelDensity().fit(rows(d=3)), "columns"),
        (neighbors.KernelDensity().fit(rows()), "both have to be models of mercer"),
    ):
        with pytest.raises(MergeError, match=message):
            model.merge(other)
    assert len(model.density_.centres) == 40


@pytest.mark.parametrize(
    "options",
    [
        {"support": [np.array([-9, 9]), None]},
        {"support": {"x0": (-9, 9)}},
        {"bandwidth": np.eye(2)},
        {"bandwidth": Bandwidth([1.0, 2.0])},
        {"kernel": Epanechnikov("product")},
        {"metric": "minkowski", "metric_params": {"p": 2}},
    ],
    ids=str,
)
def test_models_with_equal_parameters_merge(options: dict[str, Any]) -> None:
    model = KernelDensity(**options).fit(rows()).merge(KernelDensity(**options).fit(rows(seed=1)))
    assert len(model.density_.centres) == 80


def test_further_rows_must_have_the_same_columns() -> None:
    frame = pd.DataFrame(rows(), columns=["a", "b"])
    model = KernelDensity().fit(frame)
    for other in (frame.rename(columns={"b": "c"}), frame[["b", "a"]], frame[["a"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.partial_fit(other)
    assert len(model.partial_fit(frame).density_.centres) == 80


# Missing values.


@pytest.mark.parametrize("bandwidth", [0.6, [0.4, 0.8, 0.5], np.eye(3) * 0.3 + 0.1], ids=["number", "axes", "matrix"])
def test_a_missing_value_of_a_query_is_integrated_out(bandwidth: Any) -> None:
    X = rows(d=3)
    model = KernelDensity(bandwidth=bandwidth, missing="integrate").fit(X)
    Q = np.array([[0.1, np.nan, 0.3], [np.nan, np.nan, np.nan], [0.1, 0.2, 0.3], [np.nan, 0.5, np.nan]])
    found = model.score_samples(Q)
    y, step = np.linspace(-12, 12, 4001, retstep=True)
    line = np.column_stack([np.full_like(y, 0.1), y, np.full_like(y, 0.3)])
    assert np.exp(found[0]) == pytest.approx(np.exp(model.score_samples(line)).sum() * step, rel=1e-8)
    assert found[1] == 0
    h = np.sqrt(0.4) if np.ndim(bandwidth) == 2 else np.broadcast_to(bandwidth, 3)[1]
    assert found[3] == pytest.approx(KernelDensity(bandwidth=float(h)).fit(X[:, [1]]).score_samples([[0.5]])[0])


def test_a_training_row_contributes_to_the_marginals_of_its_observed_columns() -> None:
    X = rows(d=2)
    X[:10, 1] = np.nan
    X[10:15, 0] = np.nan
    model = KernelDensity(bandwidth=[0.5, 0.7], missing="integrate").fit(X)
    Q = np.array([[0.2, 0.4], [0.2, np.nan], [np.nan, 0.4]])
    first = KernelDensity(bandwidth=0.5).fit(X[~np.isnan(X[:, 0])][:, :1])
    expected = [
        KernelDensity(bandwidth=[0.5, 0.7]).fit(X[15:]).score_samples(Q[:1])[0],
        first.score_samples([[0.2]])[0],
        KernelDensity(bandwidth=0.7).fit(X[10:, 1:]).score_samples([[0.4]])[0],
    ]
    np.testing.assert_allclose(model.score_samples(Q), expected, rtol=1e-12)
    left_out = model.leave_one_out_log_density()
    others = np.delete(np.flatnonzero(~np.isnan(X[:, 0])), 0)
    assert left_out[0] == pytest.approx(KernelDensity(bandwidth=0.5).fit(X[others][:, :1]).score_samples(X[:1, :1])[0])
    assert model.cdf(Q)[1] == pytest.approx(first.cdf([[0.2]])[0])


def test_missing_values_that_cannot_be_integrated_out_are_rejected() -> None:
    X = rows()
    model = KernelDensity(kernel="epanechnikov", missing="integrate").fit(X)
    with pytest.raises(NoClosedFormError, match="product"):
        model.score_samples([[np.nan, 0.0]])
    X[0, 0] = np.nan
    with pytest.raises(BandwidthError, match="complete rows"):
        KernelDensity(bandwidth=Bandwidth(1.0, sensitivity=0.5), missing="integrate").fit(X)
    with pytest.raises(DataError, match="every row"):
        KernelDensity(missing="integrate").fit([[np.nan, 1.0], [1.0, np.nan]])
    weight = np.ones(40)
    X[1:30, 1], weight[30:] = np.nan, 0.0
    with pytest.raises(DataError, match="of positive weight"):
        KernelDensity(missing="integrate").fit(X, sample_weight=weight)
