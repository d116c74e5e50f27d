"""Ridge regression with a penalty chosen by cross-validation: scikit-learn's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import linear_model

from mercer._errors import DataError, NonFiniteError, PenaltyError
from mercer.linear_model import RidgeCV
from tests.linear_model._regressions import Array, assert_same_attributes, draw, draw_wide

ALPHAS = [1e-2, 1.0, 30.0]


def assert_same(ours: Any, theirs: Any, rtol: float = 1e-8) -> None:
    names = ("alpha_", "best_score_", "coef_", "intercept_", "cv_results_")
    assert_same_attributes(ours, theirs, [name for name in names if hasattr(theirs, name)], rtol=rtol, atol=1e-9)
    assert hasattr(ours, "cv_results_") == hasattr(theirs, "cv_results_")
    assert ours.certificate_.holds


@pytest.mark.parametrize("shape", [(40, 5), (7, 20)], ids=str)
@pytest.mark.parametrize("targets", [None, 1, 3])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"store_cv_results": True},
        {"alpha_per_target": True},
        {"scoring": "neg_mean_absolute_error", "store_cv_results": True},
        {"scoring": "neg_mean_squared_error", "alpha_per_target": True},
        {"gcv_mode": "svd"},
    ],
    ids=str,
)
def test_choices_agree_with_scikit_learn(
    shape: tuple[int, int], targets: int | None, weighted: bool, options: dict[str, Any]
) -> None:
    if targets is None and {"scoring", "alpha_per_target"} <= options.keys():
        pytest.skip("scikit-learn fails with an IndexError")
    X, y = draw(*shape, targets)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    ours, theirs = (kind(ALPHAS, **options).fit(X, y, weight) for kind in (RidgeCV, linear_model.RidgeCV))
    assert_same(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [True, False])
def test_other_splits_are_accepted(wrap: Callable[[Array], Any], weighted: bool) -> None:
    X, y = draw(40, 5)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    ours = RidgeCV(ALPHAS, cv=4).fit(wrap(X), y, weight)
    assert_same(ours, linear_model.RidgeCV(ALPHAS, cv=4).fit(X, y, weight))
    assert ours.plan_.path == "normal equations by Cholesky"


def test_one_penalty_or_a_scalar() -> None:
    X, y = draw(40, 5)
    for alphas in (2.0, [2.0], np.array(2.0)):
        assert RidgeCV(alphas).fit(X, y).alpha_ == 2.0


def test_alpha_per_target_is_accepted_for_one_target_with_any_score() -> None:
    X, y = draw(40, 5)
    options = {"scoring": "neg_mean_squared_error", "alpha_per_target": True}
    assert_same(RidgeCV(ALPHAS, **options).fit(X, y), RidgeCV(ALPHAS).fit(X, y))


def test_single_precision_is_kept() -> None:
    X, y = draw(40, 5)
    model = RidgeCV(store_cv_results=True).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == model.cv_results_.dtype == np.float32


def test_wide_sparse_data_by_conjugate_gradients() -> None:
    X, y, padded = draw_wide(300, 700)
    dense, wide = RidgeCV(ALPHAS).fit(X.toarray(), y), RidgeCV(ALPHAS).fit(padded, y)
    assert wide.plan_.path == "conjugate gradients"
    np.testing.assert_allclose(wide.coef_[:700], dense.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(wide.best_score_, dense.best_score_, rtol=1e-8)


def test_invalid_arguments_are_rejected() -> None:
    X, y = draw(20, 3)
    with pytest.raises(ValueError, match=r"alphas\[1\] == -1"):
        RidgeCV([1, -1]).fit(X, y)
    with pytest.raises(DataError, match="store_cv_results=True are incompatible"):
        RidgeCV(cv=3, store_cv_results=True).fit(X, y)
    with pytest.raises(DataError, match="minimum of 2"):
        RidgeCV().fit(X[:1], y[:1])
    X[3, 1] = np.inf
    with pytest.raises(NonFiniteError, match=r"Column 'x1' is inf in row 3"):
        RidgeCV().fit(X, y)


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = draw(30, 3)
    model = RidgeCV().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="alphas"):
        model.set_params(alphas=[-1.0, 1.0]).fit(X, y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before if name != "alphas")


def test_a_fit_with_other_splits_removes_attributes_of_the_previous_one() -> None:
    X, y = draw(30, 2)
    model = RidgeCV(store_cv_results=True).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    model.set_params(cv=3, store_cv_results=False).fit(X, y)
    assert not hasattr(model, "cv_results_")
    assert not hasattr(model, "feature_names_in_")


def test_a_row_of_leverage_one_has_no_leave_one_out_error() -> None:
    """1 − h is 0 up to rounding for a row of enormous weight: that alpha has no score, and the fit goes on."""
    rng = np.random.default_rng(1)
    X = np.trunc(rng.normal(size=(39, 1))[rng.integers(0, 13, size=39)])
    model = RidgeCV().fit(X, rng.normal(size=39), sample_weight=1e150 * np.random.default_rng(3).random(39))
    assert np.isfinite(model.coef_).all()
    assert not np.isnan(model.best_score_)


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("shape", [(30, 3), (10, 20)], ids=str)
def test_enormous_rows_of_weight_zero_do_not_affect_the_penalty(shape: tuple[int, int], store: bool) -> None:
    rng = np.random.default_rng(0)
    X, weight = rng.normal(1, 1, size=shape), np.ones(shape[0])
    y, weight[4] = 0.1 * X[:, 0] + rng.normal(size=shape[0]), 0.0
    model = RidgeCV([1e-3, 0.1, 1.0, 30.0], store_cv_results=store)
    usual = model.fit(X, y, weight).best_score_
    for number in (1e200, np.finfo(float).max, -np.finfo(float).max):
        X[4] = number
        X[4, 0] = -number
        model.fit(X, y, weight)
        assert model.alpha_ > 1e-3
        np.testing.assert_allclose(model.best_score_, usual, rtol=1e-9)


def test_an_empty_grid_is_rejected() -> None:
    with pytest.raises(PenaltyError, match="alphas is empty; give at least one"):
        RidgeCV(alphas=[]).fit(np.eye(3), np.arange(3.0))
