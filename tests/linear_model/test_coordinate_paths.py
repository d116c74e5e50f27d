"""lasso_path and enet_path return the results of scikit-learn."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from mercer._errors import DataError, NonFiniteError, PenaltyError
from mercer.linear_model import enet_path, lasso_path
from tests.base._layouts import read_only
from tests.linear_model._regressions import draw

TIGHT = {"tol": 1e-11, "max_iter": 100_000}


@pytest.mark.parametrize("shape", [(40, 5), (15, 30)], ids=str)
@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("wrap", [np.ascontiguousarray, np.asfortranarray, read_only, sparse.csr_array])
@pytest.mark.parametrize("name", ["lasso_path", "enet_path"])
def test_coefficients_and_gaps_agree_with_scikit_learn(
    shape: tuple[int, int], positive: bool, wrap: Any, name: str
) -> None:
    X, y = draw(*shape)
    ours, theirs = {"lasso_path": lasso_path, "enet_path": enet_path}[name], getattr(linear_model, name)
    options = {"alphas": 7, "eps": 0.05, "positive": positive, "return_n_iter": True, **TIGHT}
    found, expected = ours(wrap(X), y, **options), theirs(X, y, **options)
    assert len(found) == len(expected) == 4
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-4, atol=1e-6)
    assert (found[2] >= 0).all()
    assert (found[2] <= 1e-11 * np.mean(y**2)).all()
    assert [type(count) for count in found[3]] == [int] * 7


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_dense_matrix_is_not_copied(order: Any) -> None:
    X, y = draw(20_000, 50)
    X = np.asarray(X, order=order)
    lasso_path(X, y, alphas=3)  # compiles
    tracemalloc.start()
    lasso_path(X, y, alphas=3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 2


def test_several_targets_are_fitted_together_as_in_scikit_learn() -> None:
    X, y = draw(40, 5, targets=2)
    for found, expected in zip(enet_path(X, y, alphas=4), linear_model.enet_path(X, y, alphas=4), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_start_at_the_optimum_takes_no_step() -> None:
    X, y = draw(40, 60)
    _, coefs, _ = lasso_path(X, y, alphas=[0.5], tol=1e-9)
    _, _, _, (sweeps,) = lasso_path(X, y, alphas=[0.5], coef_init=coefs[:, 0], return_n_iter=True)
    assert sweeps == 0


def test_a_gram_matrix_and_weights() -> None:
    X, y = draw(40, 5)
    expected = enet_path(X, y, alphas=5, **TIGHT)[1]
    np.testing.assert_allclose(
        enet_path(X, y, alphas=5, precompute=X.T @ X, Xy=X.T @ y, **TIGHT)[1], expected, rtol=1e-6
    )
    weight = np.repeat([1.0, 0.0], 20)
    weighted = enet_path(X, y, alphas=[0.1], sample_weight=weight, **TIGHT)[1]
    np.testing.assert_allclose(weighted, enet_path(X[:20], y[:20], alphas=[0.2], **TIGHT)[1], rtol=1e-8)


def test_single_precision_is_kept() -> None:
    X, y = draw(40, 5)
    assert lasso_path(X.astype(np.float32), y, alphas=3)[1].dtype == np.float32


def test_verbose_prints_each_penalty(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = draw(20, 3)
    lasso_path(X, y, alphas=3, verbose=1)
    lasso_path(X, y, alphas=3, verbose=2)
    printed = capsys.readouterr()
    assert printed.err == "..."
    assert printed.out.splitlines()[0] == "Path: 000 out of 003"


def test_one_warning_for_the_whole_path() -> None:
    X, y = draw(40, 60)
    with pytest.warns(ConvergenceWarning, match=r"(?s)Objective did not converge.*worst of \d+ of 5") as caught:
        lasso_path(X, y, alphas=5, max_iter=1, tol=1e-12)
    assert len(caught) == 1


def test_invalid_arguments_are_rejected() -> None:
    X, y = draw(20, 3)
    with pytest.raises(DataError, match=r"Unexpected parameters in params: \['normalize'\]"):
        lasso_path(X, y, normalize=True)
    with pytest.raises(PenaltyError, match="one is -1"):
        lasso_path(X, y, alphas=[1.0, -1.0])
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        lasso_path(X, y[:5])
    with pytest.raises(DataError, match="either random or cyclic"):
        lasso_path(X, y, selection="steepest")
    with pytest.raises(ValueError, match="'eps' parameter of lasso_path"):
        lasso_path(X, y, eps=-1.0)
    X[2, 1] = np.inf
    with pytest.raises(NonFiniteError, match="Column 'x1' is inf in row 2"):
        lasso_path(X, y)
