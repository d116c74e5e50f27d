"""The lasso with its penalty chosen by cross-validation: scikit-learn's choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context, linear_model
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from mercer._errors import DataError, FitInterrupted, NonFiniteError, PenaltyError
from mercer.linear_model import LassoCV
from mercer.linear_model import _lasso as lasso
from mercer.optim.lasso import LassoPath
from tests._ctrl_c import interrupt
from tests.base._layouts import read_only
from tests.linear_model._regressions import assert_same_attributes, draw

TIGHT = {"tol": 1e-10, "max_iter": 100_000}


def assert_same(ours: Any, theirs: Any) -> None:
    names = ("alphas_", "alpha_", "mse_path_", "coef_", "intercept_")
    assert_same_attributes(ours, theirs, names, rtol=1e-5, atol=1e-7)
    assert ours.certificate_.holds
    assert hasattr(ours, "l1_ratio_") == hasattr(theirs, "l1_ratio_")


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"positive": True},
        {"alphas": [0.1, 1.0, 0.3]},
        {"alphas": [0.3]},
        {"cv": ShuffleSplit(3, random_state=0), "eps": 0.1},
    ],
    ids=str,
)
@pytest.mark.parametrize("wrap", [np.asarray, read_only, sparse.csr_array])
def test_paths_and_choices_agree_with_scikit_learn(weighted: bool, options: dict[str, Any], wrap: Any) -> None:
    X, y = draw(40, 5)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    options = {"alphas": 10, **options, **TIGHT}
    assert_same(LassoCV(**options).fit(wrap(X), y, weight), linear_model.LassoCV(**options).fit(X, y, weight))


def test_repeated_rows_of_a_fold_count_repeatedly() -> None:
    X, y = draw(30, 4)
    rng = np.random.default_rng(0)
    splits = [(rng.integers(0, 20, 25), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    options = {"cv": splits, "alphas": 8, **TIGHT}
    assert_same(LassoCV(**options).fit(X, y), linear_model.LassoCV(**options).fit(X, y))


def test_groups_are_passed_on() -> None:
    X, y = draw(30, 4)
    groups = np.repeat(np.arange(6), 5)
    with config_context(enable_metadata_routing=True):
        ours, theirs = (
            kind(cv=GroupKFold(3), alphas=8, **TIGHT).fit(X, y, groups=groups)
            for kind in (LassoCV, linear_model.LassoCV)
        )
    assert_same(ours, theirs)
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        LassoCV(cv=GroupKFold(3)).fit(X, y, groups=groups)


def test_far_from_zero() -> None:
    X, y = draw(40, 5)
    plain, far = LassoCV(alphas=10).fit(X, y), LassoCV(alphas=10).fit(X + 1e8, y)
    np.testing.assert_allclose(far.alpha_, plain.alpha_, rtol=1e-6)
    np.testing.assert_allclose(far.coef_, plain.coef_, rtol=1e-5, atol=1e-6)


def test_single_precision_is_kept() -> None:
    X, y = draw(40, 5)
    assert LassoCV(alphas=5).fit(X.astype(np.float32), y).coef_.dtype == np.float32


def test_invalid_arguments_are_rejected() -> None:
    X, y = draw(20, 3, targets=2)
    with pytest.raises(DataError, match="For multi-task outputs, use MultiTaskLassoCV"):
        LassoCV().fit(X, y)
    with pytest.raises(DataError, match="leaves out all have the weight zero"):
        LassoCV(alphas=3).fit(X, y[:, 0], np.repeat([0, 1], [4, 16]))
    with pytest.raises(DataError, match="a fold has no rows"):
        LassoCV(alphas=3, cv=[(range(10), range(10, 20))]).fit(X, y[:, 0], np.repeat([0, 1], [10, 10]))
    X[3, 1] = np.nan
    with pytest.raises(NonFiniteError, match="Column 'x1' has a missing value in row 3"):
        LassoCV().fit(X, y[:, 0])


def test_an_interruption_during_the_folds_leaves_the_old_model(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw(20, 3)
    model = LassoCV(alphas=3).fit(X, y)
    before = model.coef_
    monkeypatch.setattr(LassoPath, "solve_along", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y + 1)
    assert model.coef_ is before


def test_an_interruption_in_the_last_fit_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw(20, 3)
    errors = lasso.mean_squared_errors

    def and_then(*arguments: Any, **options: Any) -> Any:
        found = errors(*arguments, **options)
        monkeypatch.setattr(LassoPath, "solve_along", interrupt)
        return found

    monkeypatch.setattr(lasso, "mean_squared_errors", and_then)
    model = LassoCV(alphas=3)
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.alpha_ in model.alphas_
    assert not model.certificate_.holds


@pytest.mark.parametrize("verbose", [False, True])
def test_a_bar_shows_how_many_paths_are_done_if_verbose(verbose: bool, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    LassoCV(alphas=4, cv=3, verbose=verbose).fit(X, X[:, 0])
    shown = capsys.readouterr().out
    assert ("LassoCV: paths" in shown and "100%" in shown) if verbose else not shown


def test_wide_folds_agree_with_scikit_learn() -> None:
    """Few rows and many columns of small whole numbers, all of which come into use at once."""
    rng = np.random.default_rng(3)
    X, y = 1.0 * rng.poisson(2.0, size=(18, 26)), rng.normal(size=18)
    ours = LassoCV(alphas=5, cv=3).fit(X, y)
    theirs = linear_model.LassoCV(alphas=5, cv=3, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-3)


def test_a_constant_column_with_an_enormous_response() -> None:
    """The penalty that keeps such a column out is as strong as can be, and not stronger for a larger response."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(8, 7.0), rng.normal(size=8)])
    model = LassoCV(alphas=5, cv=3).fit(X, 1e150 * rng.normal(size=8))
    assert model.coef_[0] == 0.0
    assert np.isfinite(model.mse_path_).all()


def test_an_empty_grid_is_rejected() -> None:
    with pytest.raises(PenaltyError, match="alphas is empty; give at least one"):
        LassoCV(alphas=[]).fit(np.eye(9), np.arange(9.0))


@pytest.mark.filterwarnings("ignore:Objective did not converge")
def test_paths_of_extremely_weighted_folds_are_optimal() -> None:
    """scikit-learn's LassoCV stops 3 % away, and its Lasso with tol=1e-16 does not: see docs/decisions/0005."""
    rng = np.random.default_rng(370)
    rng.integers(1, 5)
    X, y, weight = rng.normal(size=(8, 2)), rng.normal(size=8), 10.0 ** rng.uniform(-6, 6, size=8)
    model = LassoCV(alphas=5, cv=3, tol=1e-10).fit(X, y, sample_weight=weight)
    for fold, (rows, left_out) in enumerate(KFold(3).split(X)):
        for place, alpha in enumerate(model.alphas_):
            theirs = linear_model.Lasso(alpha, tol=1e-16, max_iter=3_000_000)
            error = y[left_out] - theirs.fit(X[rows], y[rows], sample_weight=weight[rows]).predict(X[left_out])
            wanted = np.average(np.square(error), weights=weight[left_out])
            assert model.mse_path_[place, fold] == pytest.approx(wanted, rel=1e-6)
